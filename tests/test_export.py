"""A run as a folder for others: whole, checked, and without anything of the machine or its patients."""

import hashlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from safetensors.torch import load_file

from omni_bench.errors import BenchError
from omni_bench.inference.publish import publish, without_paths
from omni_bench.inference.trained import EXPORTED, open_trained
from omni_bench.predict import predict
from tests.trained_runs import CHANNEL_RUN, settings, write_recording, write_run

PATIENTS = ("sub-smith", "hupHUP001")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose configuration and record name files and patients."""
    folder = tmp_path_factory.mktemp("export")
    named = f"+task.cohort.subject=[{PATIENTS[0]},{PATIENTS[1]}]"
    run = write_run(folder, *CHANNEL_RUN, named, f"dataset.root={folder}/data", cut=0.4)
    record = json.loads((run / "result.json").read_text())
    record["weights"]["source"] = f"{folder}/start.pt"
    record["excluded"] = [{"what": "recordings", "reason": f"{folder}/{PATIENTS[0]}.edf: truncated", "n": 1}]
    record["warnings"] = [f"{PATIENTS[1]} has no label"]
    record["options"] = {"held_out": PATIENTS[0]}
    (run / "result.json").write_text(json.dumps(record))
    return run


@pytest.fixture(scope="module")
def exported(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("folder") / "model"
    publish(open_trained(str(run)), folder)
    return folder


def test_files_and_their_hashes(exported: Path) -> None:
    assert {file.name for file in exported.iterdir()} == set(EXPORTED)
    lines = (exported / "SHA256SUMS").read_text().splitlines()
    hashes = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert hashes.keys() == set(EXPORTED) - {"SHA256SUMS"}
    for name, digest in hashes.items():
        assert hashlib.sha256((exported / name).read_bytes()).hexdigest() == digest
    assert len({file.stat().st_mode for file in exported.iterdir()}) == 1


def test_nothing_of_the_machine_or_its_patients_is_in_it(exported: Path, run: Path) -> None:
    everything = b"\n".join(file.read_bytes() for file in exported.iterdir())
    for text in (*PATIENTS, str(run.parents[5]), "/tmp", str(Path.home()), str(Path.cwd())):
        assert text.encode() not in everything
    assert json.loads((exported / "result.json").read_text())["weights"]["source"] == "start.pt"
    assert yaml.safe_load((exported / "config.yaml").read_text())["task"]["cohort"] == {
        "ictal": False,
        "min_sfreq": 990,
    }


def test_card_says_what_a_user_must_know(exported: Path) -> None:
    card = (exported / "README.md").read_text()
    assert yaml.safe_load(card.split("---")[1])["license"] == "other"
    for text in (
        "| ROC AUC | 0.750 | 0.500 to 0.875 | 42 |",
        "| Threshold | 0.400, rule youden\\_val |",
        "| train | 3 | 4 | 50 |",
        "4000 samples at 1000 Hz, microvolts",
        "Research use only",
        "**synthetic data**",
        "## Licence",
    ):
        assert text in card.replace("youden_val", "youden\\_val")


def test_export_predicts_as_its_run(exported: Path, run: Path, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "p1.edf", ["LA1", "LA2"])
    for name, checkpoint in (("run", run), ("export", exported)):
        predict(settings(checkpoint, recording, tmp_path / name))
    for table in ("channels", "windows"):
        files = [tmp_path / name / "p1" / f"p1_{table}.tsv" for name in ("run", "export")]
        assert files[0].read_bytes() == files[1].read_bytes()
    channels = pd.read_csv(tmp_path / "export" / "p1" / "p1_channels.tsv", sep="\t")
    assert channels["score"].between(0, 1).all()
    model = json.loads((tmp_path / "export" / "p1" / "p1_channels.json").read_text())["Model"]
    assert model["weights_sha256"] == hashlib.sha256((exported / "model.safetensors").read_bytes()).hexdigest()


def test_export_of_an_export_is_the_same(exported: Path, tmp_path: Path) -> None:
    publish(open_trained(str(exported)), tmp_path / "again")
    first, again = (load_file(folder / "model.safetensors") for folder in (exported, tmp_path / "again"))
    assert first.keys() == again.keys()
    assert all((first[name] == again[name]).all() for name in first)
    assert (exported / "config.yaml").read_bytes() == (tmp_path / "again" / "config.yaml").read_bytes()


@pytest.mark.parametrize("name", ["model.safetensors", "config.yaml", "result.json"])
def test_changed_files_are_refused(exported: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(exported, folder)
    content = bytearray((folder / name).read_bytes())
    place = content.rindex(b"0") if name != "model.safetensors" else len(content) - 9
    content[place] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(BenchError, match=f"{name}: SHA-256 differs"):
        open_trained(str(folder))


def test_a_hub_is_asked_once_and_then_its_cache(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BenchError, match=r"hf://someone/model: not in the local cache .* give its folder") as error:
        open_trained("hf://someone/model")
    assert "\n" not in str(error.value)
    place = tmp_path / "models--someone--model"
    shutil.copytree(exported, place / "snapshots" / "abc")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("abc")
    assert open_trained("hf://someone/model", offline=True).window["n_times"] == 4000


def test_paths_become_names() -> None:
    node = {"a": ["/home/anna/x.pt", "relative/y.pt"], "b": r"C:\data\z.edf", "c": "~/w", "d": 1, "e": "α/β"}
    assert without_paths(node) == {"a": ["x.pt", "relative/y.pt"], "b": "z.edf", "c": "w", "d": 1, "e": "α/β"}
