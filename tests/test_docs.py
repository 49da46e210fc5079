"""The worked examples of the documentation do what it says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from omni_bench.datasets.demo_eeg import write_demo_eeg
from omni_bench.locate import card_root

DOCS = card_root() / "docs"
BLOCK = re.compile(r"```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)```", re.DOTALL)


@pytest.mark.slow
def test_dataset_task_and_model_of_ones_own(tmp_path: Path) -> None:
    page = (DOCS / "adding.md").read_text(encoding="utf-8")
    files = BLOCK.findall(page)
    assert len(files) == 4
    for name, content in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    write_demo_eeg(tmp_path / "my_study", n_persons=5)
    (command,) = re.findall(r"PYTHONPATH=\. python (-m omni_bench --config-dir .*)", page)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{card_root()}"}
    own = ["trainer.max_epochs=2", "trainer.progress=false", "n_boot=10", "paths.output_dir=out", "paths.cache=cache"]
    subprocess.run([sys.executable, *command.split(), *own], cwd=tmp_path, env=environment, check=True)
    (file,) = (tmp_path / "out").rglob("result.json")
    result = json.loads(file.read_text())
    assert (result["status"], result["dataset"], result["model"]) == ("completed", "my_study", "band_net")
    assert set(result["counts"]["test"]["per_class"]) == {"left_hand", "right_hand"}


@pytest.mark.slow
def test_pages_build_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", DOCS, tmp_path]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "index.html").is_file()


def test_every_command_is_listed() -> None:
    listed = set(
        re.findall(r"^\| `omni_bench\.(\w+)`", (DOCS / "commands.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    command = re.compile(r"^(def main\(|main = main_of)", re.MULTILINE)
    modules = {
        file.stem for file in (card_root() / "omni_bench").glob("*.py") if command.search(file.read_text("utf-8"))
    }
    assert listed == modules - {"__main__"}


def test_every_test_that_the_traps_name_exists() -> None:
    page = (DOCS / "known_traps.md").read_text(encoding="utf-8")
    files = list((card_root() / "tests").rglob("test_*.py"))
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    named = re.findall(r"(test_\w+)(\.py)?", page)
    assert {name for name, suffix in named if suffix} <= {file.stem for file in files}
    assert {name for name, suffix in named if not suffix} <= set(re.findall(r"def (test_\w+)\(", code))
