"""The cards that exist, by name and first line."""

import re
from pathlib import Path

from omni_bench.errors import BenchError
from omni_bench.locate import card_root


def cards(group: str) -> dict[str, str]:
    """Name → first comment line of every card of a group."""
    folder = card_root() / "conf" / group
    return {file.stem: _first_comment(file) for file in sorted(folder.glob("*.yaml"))}


def experiments() -> dict[str, str]:
    """Name → first comment line after the package line of every experiment."""
    folder = card_root() / "experiments"
    return {
        file.relative_to(folder).with_suffix("").as_posix(): _first_comment(file)
        for file in sorted(folder.rglob("*.yaml"))
    }


def scalp_tasks() -> dict[str, str]:
    """Name → dataset of every classification task of the scalp benchmark."""
    found = {}
    for file in sorted((card_root() / "conf" / "task").glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        dataset = re.search(r"override /dataset@_global_\.dataset: (\w+)", text)
        if "base/scalp@" in text and dataset:
            found[file.stem] = dataset[1]
    return found


def present_tasks(data: str) -> str:
    """Scalp tasks whose dataset has a folder below ``data``, as a sweep.

    Raises
    ------
    BenchError
        There is none.
    """
    root = Path(data).expanduser()
    present = [task for task, dataset in scalp_tasks().items() if (root / dataset).is_dir()]
    if not present:
        raise BenchError(
            f"paths.data={data}: no folder of a scalp dataset there: name the folder, or a task with task="
        )
    return ",".join(present)


def foundation_models() -> list[str]:
    """Names of the scalp models that were pretrained."""
    files = sorted((card_root() / "conf" / "model").glob("*.yaml"))
    texts = {file.stem: file.read_text(encoding="utf-8") for file in files}
    return [name for name, text in texts.items() if "family: scalp" in text and "pretraining_datasets:" in text]


def _first_comment(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#") and "@package" not in line:
                return line.lstrip("# ").strip()
    return ""
