"""The commands beside the run itself, as a user starts them."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest


def command(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"omni_bench.{name}", *arguments], capture_output=True, text=True, check=False
    )


def places(demo_root: Path, tmp_path: Path) -> list[str]:
    return [f"dataset.root={demo_root}", f"paths.cache={tmp_path}/cache", f"paths.output_dir={tmp_path}/out"]


def test_prepare_stores_and_verifies(demo_root: Path, tmp_path: Path) -> None:
    done = command("prepare", *places(demo_root, tmp_path), "verify=true")
    assert done.returncode == 0, done.stderr
    assert "8 patients" in done.stdout
    stores = list((tmp_path / "cache" / "store" / "demo_ieeg").glob("*.h5"))
    assert stores
    damaged = stores[0]
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    again = command("prepare", *places(demo_root, tmp_path), "verify=true")
    assert again.returncode == 2
    assert damaged.name in again.stderr


def test_cohort_report_counts_the_demo(demo_root: Path, tmp_path: Path) -> None:
    done = command("report", "cohort", *places(demo_root, tmp_path))
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "out" / "demo_ieeg" / "cohort.csv", dtype={"table": str})
    subjects = table[(table["table"] == "1") & (table["quantity"] == "subjects") & (table["split"] == "all")]
    ours = subjects.set_index("source")["ours"]
    participants = pd.read_csv(demo_root / "participants.tsv", sep="\t")
    assert ours["all"] == len(participants)
    assert ours.drop("all").to_dict() == participants["dataset"].value_counts().to_dict()


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("report", ["cohrt"], "report=cohrt: no such report; did you mean 'cohort'?"),
        ("report", [], "no report named: say `cohort`"),
        ("predict", ["checkpoint=x", "recording=x", "on_error=5"], "on_error=5: unknown; known: raise, skip"),
        ("predict", ["checkpoint=x", "recording=x", "n_boot=many"], "n_boot=many: must be a number"),
        ("detect", ["recording=nothing.edf"], "nothing.edf: no such recording"),
        ("detect", ["detect.rule=unoin", "recording=x"], "unoin"),
    ],
)
def test_one_clear_line(name: str, arguments: list[str], message: str, tmp_path: Path) -> None:
    done = command(name, *arguments, f"paths.output_dir={tmp_path}")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = command("prepare", "dataset=demo_eeg", "task=demo_hands", f"paths.cache={tmp_path}/file/cache")
    assert done.returncode == 2
    assert f"{tmp_path}/file/cache" in done.stderr
    assert "not a directory: name another place" in done.stderr
    assert "Traceback" not in done.stderr


def test_sync_says_what_was_not_uploaded(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "result.json").write_text("{")
    done = command("wandb_sync", f"results={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "0 of 1 runs are on W&B" in done.stdout
    assert f"not completed, not uploaded: {tmp_path / 'run'}" in done.stdout
