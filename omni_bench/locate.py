"""Where the cards lie."""

from pathlib import Path

from omni_bench.errors import BenchError


def card_root() -> Path:
    """Folder that holds `conf/` and `experiments/`: the checkout, or the installed package."""
    package = Path(__file__).parent
    for root in (package, package.parent):
        if (root / "conf" / "config.yaml").is_file():
            return root
    raise BenchError(
        f"no conf/config.yaml in {package} or {package.parent}: the installation is incomplete, install again"
    )
