"""Channels as sound: the sound itself, the counts, and a whole study with a small classifier."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import wavfile

from omni_bench import api
from omni_bench.datasets.demo_ieeg import write_demo_ieeg
from omni_bench.errors import BenchError
from omni_bench.studies.hearable import _metrics, counts, hearable, sound


def test_a_minute_becomes_six_seconds_and_ten_times_the_frequency() -> None:
    t = np.arange(60_000) / 1000
    heard = sound(30 * np.sin(2 * np.pi * 80 * t) + 500, 1000.0, 10)
    assert len(heard) == 6 * 16_000
    assert np.abs(heard).max() == pytest.approx(1)
    spectrum = np.abs(np.fft.rfft(heard))
    assert np.fft.rfftfreq(len(heard), 1 / 16_000)[spectrum.argmax()] == pytest.approx(800, abs=0.2)


def test_a_flat_channel_is_silent() -> None:
    assert not sound(np.full(1000, 7.0), 1000.0, 10).any()


def test_names_are_counted_by_kind_of_channel() -> None:
    table = pd.DataFrame(
        {
            "channel_is": ["soz", "soz", "preserved"],
            "top1": ["helicopter", "helicopter", "hum"],
            "top2": ["hum", "engine", "helicopter"],
        }
    )
    found = counts(table, ["top1", "top2"]).set_index("name")
    assert found.index[0] == "helicopter"
    assert found.loc["helicopter"].to_dict() == {
        "top1_soz": 2, "top1_preserved": 0, "top2_soz": 2, "top2_preserved": 1, "n_soz": 2, "n_preserved": 1, "difference": 1.0,
    }  # fmt: skip
    assert found.loc["hum", ["top1_soz", "top1_preserved", "top2_soz", "top2_preserved"]].tolist() == [0, 1, 1, 1]


def test_a_name_that_was_never_heard_counts_0_and_an_unknown_one_nothing() -> None:
    table = pd.DataFrame({"channel_is": ["soz", "preserved", "preserved"], "top1": ["hum"] * 3})
    found = counts(table, ["top1"])
    sizes = {"n_soz": 1, "n_preserved": 2}
    for name, expected in (("hum", [1, 2]), ("helicopter", [0, 0])):
        metrics = _metrics(found, table, name, ["hum", "helicopter"])
        assert {key: metrics[key].value for key in sizes} == sizes
        assert [metrics[f"top1_{kind}"].value for kind in ("soz", "preserved")] == expected
    unknown = _metrics(found, table, "helicopter", ["hum"])["top1_soz"]
    assert np.isnan(unknown.value)
    assert unknown.note == "the classifier has no class helicopter"


@pytest.mark.slow
def test_the_study_listens_to_every_labelled_window(tmp_path: Path) -> None:
    from transformers import ASTConfig, ASTForAudioClassification

    small = ASTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=4)
    ASTForAudioClassification(small).save_pretrained(tmp_path / "classifier")
    write_demo_ieeg(tmp_path / "demo")
    subject = pd.read_csv(tmp_path / "demo" / "participants.tsv", sep="\t")["participant_id"][0]
    cfg = api.compose_config(
        ["dataset=demo_ieeg", f"dataset.root={tmp_path}/demo", f"paths.cache={tmp_path}/cache", "+experiment=omni_ieeg/hearable",
         "dataset=demo_ieeg", f"task.cohort.subject={subject}"]
    )  # fmt: skip
    found = hearable(cfg, tmp_path / "study", classifier=str(tmp_path / "classifier"), name="LABEL_0", n_wav=1).table
    table = pd.read_csv(tmp_path / "study" / "windows.csv")
    assert found["top1_soz"].sum() + found["top1_preserved"].sum() == len(table)
    assert set(table["top1"]) <= {f"LABEL_{i}" for i in range(4)}
    for kind in table["channel_is"].unique():
        (file,) = (tmp_path / "study" / "wav").glob(f"{kind}-*.wav")
        sfreq, samples = wavfile.read(file)
        assert sfreq == 16_000
        assert np.abs(samples).max() == 32_767


@pytest.mark.slow
def test_an_absent_classifier_is_one_line(tmp_path: Path) -> None:
    from omni_bench.studies.hearable import _classifier

    with pytest.raises(BenchError, match=r"study\.classifier=nobody/nothing: cannot be had"):
        _classifier("nobody/nothing", None, offline=True)
