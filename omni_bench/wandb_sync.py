"""`python -m omni_bench.wandb_sync`: upload offline W&B runs and finished results that W&B has not seen."""

import subprocess
import sys
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from omni_bench.cli import main_of
from omni_bench.errors import BenchError

USAGE = """
python -m omni_bench.wandb_sync results=outputs                          every run below a folder
python -m omni_bench.wandb_sync results=outputs wandb.entity=our_lab dashboard=true
"""


def wandb_sync(cfg: DictConfig) -> None:
    """Upload what is below ``cfg.results``; a second call finds nothing to do.

    Raises
    ------
    BenchError
        No results, no network, or no W&B account.
    """
    import wandb
    from rich.progress import track

    from omni_bench.modules.wandb_mirror import dashboard, offline_runs, run_id, send_result, uploaded
    from omni_bench.results.record import read_record

    folders = sorted(file.parent for file in Path(cfg.results).expanduser().rglob("result.json"))
    if not folders:
        raise BenchError(f"results={cfg.results}: no result.json below it: name the folder of your runs")
    unfinished = []
    for folder in track(folders, "uploading"):
        record = read_record(folder)
        if (written := offline_runs(folder)) or (folder / "wandb").is_dir():
            for run_folder in written:
                _sync(run_folder, cfg)
        elif record and record["status"] == "completed":
            config = OmegaConf.load(folder / "config.yaml")
            assert isinstance(config, DictConfig)
            tags = [record["task"], record["model"], record["protocol"]]
            try:
                run = wandb.init(
                    project=cfg.wandb.project,
                    entity=cfg.wandb.entity,
                    mode="online",
                    dir=folder,
                    id=run_id(config.run_name),
                    name=config.run_name,
                    group=record["experiment"],
                    tags=tags,
                    config=uploaded(config),
                    resume="allow",
                )
            except Exception as error:
                raise BenchError(
                    f"W&B cannot be reached ({str(error).splitlines()[0]}): wandb login, or try later"
                ) from error
            send_result(run, folder)
            run.finish()
        else:
            unfinished.append(folder)
    print(f"{len(folders) - len(unfinished)} of {len(folders)} runs are on W&B")
    for folder in unfinished:
        print(f"not completed, not uploaded: {folder}")
    if cfg.dashboard:
        if cfg.wandb.entity is None:
            raise BenchError("dashboard=true needs wandb.entity=<your W&B name or team>")
        print(dashboard(cfg.wandb.entity, cfg.wandb.project).save().url)


def _sync(run_folder: Path, cfg: DictConfig) -> None:
    command = [sys.executable, "-m", "wandb", "sync", "--project", cfg.wandb.project, str(run_folder)]
    if cfg.wandb.entity is not None:
        command[4:4] = ["--entity", cfg.wandb.entity]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or "error" in done.stderr.lower():
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise BenchError(f"{run_folder}: not uploaded ({' '.join(last)}): wandb login, or try later")


main = main_of(wandb_sync, "wandb_sync", USAGE)

if __name__ == "__main__":
    main()
