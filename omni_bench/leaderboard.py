"""`python -m omni_bench.leaderboard`: finished runs as tables and one page."""

from pathlib import Path

from omegaconf import DictConfig

from omni_bench.cli import main_of
from omni_bench.errors import BenchError

USAGE = """
python -m omni_bench.leaderboard results=outputs              tables, CSV, Markdown, LaTeX and index.html in outputs/leaderboard
python -m omni_bench.leaderboard results=outputs seeds=1      a cell with one run is complete
python -m omni_bench.leaderboard check=result.json            is a third-party result fit for the board? (file or folder)
"""


def _leaderboard(cfg: DictConfig) -> None:
    if cfg.check is not None:
        from omni_bench.results.submission import check_results

        check_results(Path(cfg.check).expanduser())
        return
    from omni_bench.results.console import print_leaderboard
    from omni_bench.results.leaderboard import build_leaderboard, write_leaderboard

    if not isinstance(cfg.seeds, int) or cfg.seeds < 1:
        raise BenchError(f"seeds={cfg.seeds}: expected a whole number of at least 1")
    board = build_leaderboard(Path(cfg.results).expanduser(), cfg.seeds)
    page = write_leaderboard(board, Path(cfg.to).expanduser(), cfg.seeds)
    print_leaderboard(board, page)


main = main_of(_leaderboard, "leaderboard", USAGE)

if __name__ == "__main__":
    main()
