"""The wheel holds every card, and runs without the checkout."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_oldest_environment_has_every_library_that_has_a_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(name for extra in project["optional-dependencies"].values() for name in extra)]
    told = subprocess.run(
        [sys.executable, ROOT / "tools" / "oldest.py"], capture_output=True, text=True, check=True
    ).stdout
    assert {"torch==2.13", "braindecode==1.8", "captum==0.9"} <= set(told.split())
    assert len(told.split()) == sum(">=" in name for name in asked)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("the build backend cannot be fetched here: no package index")
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_wheel_equals_the_tree(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tracked = subprocess.run(
        ["git", "ls-files", "omni_bench", "hydra_plugins", "conf", "experiments"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode:
        pytest.skip("not a git checkout: no list of the files that belong to the project")
    names = tracked.stdout.split()
    packages = ("omni_bench/", "hydra_plugins/")
    assert packed == {name if name.startswith(packages) else f"omni_bench/{name}" for name in names}


@pytest.mark.slow
def test_wheel_runs_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    command = [
        sys.executable,
        "-c",
        "import omni_bench.__main__ as m; m.main()",
        "task=demo_hands",
        "model=band_power",
        "hydra/launcher=together",
        "n_boot=10",
        f"paths.cache={tmp_path}/cache",
        f"paths.output_dir={tmp_path}/outputs",
    ]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (result,) = (tmp_path / "outputs").rglob("result.json")
    assert json.loads(result.read_text())["status"] == "completed"
