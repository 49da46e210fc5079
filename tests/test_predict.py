"""Recordings without labels: tables, page, and one clear line for what cannot be scored."""

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from scipy import stats

from omni_bench import api
from omni_bench.data.cohort import Cohort
from omni_bench.errors import BenchError
from omni_bench.evaluation.thresholds import Threshold
from omni_bench.inference.channel_scores import Scale, channel_scores, mean_intervals
from omni_bench.inference.scoring import Scored
from omni_bench.inference.trained import open_trained
from omni_bench.predict import predict
from omni_bench.steps import open_cohort
from tests.browser import opened
from tests.trained_runs import CHANNEL_RUN, EVENT_RUN, SCALP_RUN, settings, write_recording, write_run

NAMES = ["LA1", "LA2", "LA3", "RB1"]
BURSTS = {"LA1": [3.0, 5.0, 7.5], "RB1": [4.0]}
TEN_TWENTY = ["Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "T7", "C3", "Cz"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("channel"), *CHANNEL_RUN, cut=0.5)


def table(folder: Path, subject: str, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / subject / f"{subject}_{name}.tsv", sep="\t")


def test_channels_are_scored_by_the_means_of_their_windows(run: Path, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "p1.edf", NAMES)
    (page,) = predict(settings(run, recording, tmp_path / "out", "resected=[LA1,LA3]", "dataset.line_freq=50"))
    windows, channels = (table(tmp_path / "out", "p1", name) for name in ("windows", "channels"))
    assert windows.groupby("channel")["onset"].agg(list).to_dict() == {name: [1.0, 5.0, 9.0] for name in NAMES}
    means = windows.groupby("channel")["prob_pathological"].mean()
    assert channels.set_index("channel")["score"].to_dict() == pytest.approx(means.to_dict(), abs=1e-6)
    assert channels["score"].is_monotonic_decreasing
    assert (channels["predicted"] == np.where(channels["score"] >= 0.5, "pathological", "normal")).all()
    assert channels["score"].between(channels["ci_low"], channels["ci_high"]).all()
    ratio = means[["LA1", "LA3"]].sum() / means.sum()
    assert f">{ratio:.3f}<" in page.read_text()
    sidecar = json.loads((tmp_path / "out" / "p1" / "p1_channels.json").read_text())
    assert set(channels.columns) <= sidecar.keys()
    assert all(sidecar[name]["Description"] for name in channels.columns)
    assert sidecar["Recordings"][0] | {"sha256": ""} == {
        "recording": "p1", "file": "p1.edf", "sha256": "", "sfreq": 1000.0, "duration": 14.0, "line_freq": 50.0
    }  # fmt: skip


def test_page_shows_the_table_and_asks_for_nothing(run: Path, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "p1.edf", NAMES)
    (page,) = predict(settings(run, recording, tmp_path / "out"))
    channels = table(tmp_path / "out", "p1", "channels")
    with opened(page) as (shown, requests):
        rows = shown.locator("table.listing >> nth=-1").locator("tbody tr").all_inner_texts()
        figures = shown.locator("figure div[role=img]")
        labels = [figures.nth(i).get_attribute("aria-label") for i in range(figures.count())]
        text = shown.inner_text("main")
    assert [row.split("\t")[1] for row in rows] == channels["channel"].tolist()
    assert [row.split("\t")[2] for row in rows] == [f"{score:.3f}" for score in channels["score"]]
    assert requests == [page.as_uri()]
    assert len(labels) == 3
    assert all(labels)
    for mark in ("research use only", "random start weights", "synthetic data", "Embedded demo cohort"):
        assert mark.lower() in text.lower()
    for name in ("channels", "over_time", "electrodes"):
        assert {f.suffix for f in (page.parent / "figures").glob(f"{name}.*")} == {".png", ".csv"}


@pytest.mark.slow
def test_predicts_what_the_pipeline_predicts(run: Path, demo_root: Path, tmp_path: Path) -> None:
    places = (f"dataset.root={demo_root}", f"paths.cache={tmp_path}/cache", f"paths.output_dir={tmp_path}/outputs")
    overrides = [*CHANNEL_RUN, *places, f"checkpoint={run}", "n_boot=10", "trainer.progress=false"]
    api.run(overrides)
    cfg = api.compose_config(overrides)
    known = pd.read_parquet(tmp_path / "outputs" / cfg.run_name / "predictions.parquet")
    recording = sorted(known["unit_id"].str.partition("/")[0].unique())[0]
    file = next(demo_root.rglob(f"{recording}_ieeg.edf"))
    facts = open_cohort(cfg).recordings.set_index("recording").loc[recording]
    predict(settings(run, file, tmp_path / "out", f"dataset.line_freq={facts['line_freq']:g}"))
    ours = table(tmp_path / "out", recording.partition("_")[0], "windows")
    ours["sample_id"] = ours["recording"] + "/" + ours["channel"] + "@" + ours["onset"].map("{:.3f}".format)
    both = ours.merge(known, on="sample_id", suffixes=("", "_known"))
    assert len(both) == len(ours) == (known["unit_id"].str.partition("/")[0] == recording).sum()
    assert both["prob_pathological"].to_numpy() == pytest.approx(both["prob_pathological_known"].to_numpy(), abs=1e-6)


def test_without_resamples_the_page_promises_no_interval(run: Path, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "p1.edf", NAMES)
    promise = "95 % percentile interval"
    (page,) = predict(settings(run, recording, tmp_path / "with"))
    assert promise in page.read_text()
    (page,) = predict(settings(run, recording, tmp_path / "without", "n_boot=0"))
    assert promise not in page.read_text()
    assert table(tmp_path / "without", "p1", "channels")["ci_low"].isna().all()


def test_broken_channels_are_named_and_left_out(run: Path, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "p1.edf", NAMES, flat=["LA2"])
    with pytest.raises(BenchError, match="channel LA2: flat"):
        predict(settings(run, recording, tmp_path / "out"))
    (page,) = predict(settings(run, recording, tmp_path / "out", "on_error=skip"))
    broken = table(tmp_path / "out", "p1", "channels").set_index("channel").loc["LA2"]
    assert broken["reason"] == "flat"
    assert broken[["score", "ci_low", "predicted"]].isna().all()
    assert broken["n"] == 0
    assert "LA2" not in set(table(tmp_path / "out", "p1", "windows")["channel"])
    assert page.read_text().count("<td>flat</td>") == 2  # beside its channel, and among what was left out


@pytest.mark.parametrize(
    ("facts", "overrides", "message"),
    [
        ({"sfreq": 500.0}, (), "500 Hz, the task needs 990 Hz or more"),
        ({"seconds": 5}, (), "5 s, shorter than a window of the model: 4 s and 1 s at both ends"),
        ({}, ("dataset.unit=K",), "dataset.unit=K: unknown unit"),
        ({}, ("resected=[LA9]",), "resected: no channel LA9 in the recordings; did you mean 'LA"),
        ({}, ("on_error=skp",), "on_error=skp: unknown; did you mean 'skip'?"),
        ({}, ("windows=events",), "no events.tsv holds for it: say windows=continuous"),
    ],
)
def test_one_clear_line(
    run: Path, tmp_path: Path, facts: dict[str, Any], overrides: tuple[str, ...], message: str
) -> None:
    recording = write_recording(tmp_path / "p1.edf", NAMES, **facts)
    with pytest.raises(BenchError) as error:
        predict(settings(run, recording, tmp_path / "out", *overrides))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "out").rglob("*.html"))


def test_tree_gives_a_page_per_patient(run: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for subject, task in (("01", "rest"), ("01", "ictal"), ("02", "rest")):
        folder = tree / f"sub-{subject}" / "ieeg"
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"sub-{subject}_task-{task}"
        write_recording(folder / f"{stem}_ieeg.edf", NAMES)
        resected = [f"{name}\tSEEG\t{int(name == 'RB1')}" for name in NAMES]
        (folder / f"{stem}_channels.tsv").write_text("\n".join(["name\ttype\tresected", *resected]) + "\n")
    (tree / "participants.tsv").write_text("participant_id\nsub-01\nsub-02\n")
    pages = predict(settings(run, tree, tmp_path / "out"))
    assert [page.stem for page in pages] == ["sub-01", "sub-02"]
    # the task is of recordings between seizures; one that is named by itself is scored all the same
    assert set(table(tmp_path / "out", "sub-01", "windows")["recording"]) == {"sub-01_task-rest"}
    channels = table(tmp_path / "out", "sub-01", "channels")
    assert channels.set_index("channel")["resected"].to_dict() == {name: name == "RB1" for name in NAMES}
    predict(settings(run, tree / "sub-01" / "ieeg" / "sub-01_task-ictal_ieeg.edf", tmp_path / "alone"))
    assert set(table(tmp_path / "alone", "sub-01", "windows")["recording"]) == {"sub-01_task-ictal"}


def test_patients_of_the_training_are_marked(run: Path, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "p1.edf", NAMES)
    split = pd.DataFrame({"subject": ["p1", "p2"], "split": ["val", "test"]})
    split.to_parquet(run / "split.parquet")
    try:
        (page,) = predict(settings(run, recording, tmp_path / "out"))
        assert open_trained(str(run)).seen == {"p1"}
    finally:
        (run / "split.parquet").unlink()
    assert "trained on this patient" in page.read_text()


def test_hfo_rates_stand_beside_the_scores(run: Path, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "p1.edf", NAMES, bursts=BURSTS)
    predict(settings(run, recording, tmp_path / "out", "hfo=true", "detect.detectors=[ste]"))
    channels = table(tmp_path / "out", "p1", "channels").set_index("channel")
    counts = np.array([len(BURSTS.get(name, ())) for name in NAMES])
    assert channels.loc[NAMES, "hfo_count"].tolist() == counts.tolist()
    assert channels.loc[NAMES, "hfo_rate"].to_numpy() == pytest.approx(counts * 60 / 14)


def test_events_are_found_and_classified(tmp_path: Path) -> None:
    run = write_run(tmp_path, *EVENT_RUN)
    recording = write_recording(tmp_path / "p1.edf", NAMES, seconds=20, bursts=BURSTS | {"LA2": [0.6]})
    predict(settings(run, recording, tmp_path / "out"))
    events, channels = (table(tmp_path / "out", "p1", name) for name in ("events", "channels"))
    assert {name: own.tolist() for name, own in events.groupby("channel")["onset"]} == {
        name: pytest.approx(middles, abs=0.06) for name, middles in BURSTS.items()
    }
    probabilities = events[["prob_artifact", "prob_non_spkHFO", "prob_spkHFO"]]
    assert probabilities.sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-5)
    spikes = events[probabilities.idxmax(axis=1) == "prob_spkHFO"]["channel"].value_counts()
    channels = channels.set_index("channel")
    assert channels["n"].sum() == len(events)
    # a context of 2 s must fit around an event, so its middle lies in the inner 18 s
    expected = spikes.reindex(channels.index, fill_value=0) * 60 / 18
    assert channels["score"].to_numpy() == pytest.approx(expected.to_numpy())


def test_order_of_a_files_channels_does_not_matter(tmp_path: Path) -> None:
    run = write_run(tmp_path, *SCALP_RUN, sfreq=200.0, ch_names=TEN_TWENTY)
    names = {name: i for i, name in enumerate(TEN_TWENTY)}
    one, other = tmp_path / "one" / "p.edf", tmp_path / "other" / "p.edf"
    from tests.data.edf import Signal, random_digits, write_edf

    for path, order in ((one, TEN_TWENTY), (other, TEN_TWENTY[::-1])):
        path.parent.mkdir()
        write_edf(path, [Signal(f"EEG {name}-REF", random_digits(4000, names[name]), 200.0) for name in order])
    for path in (one, other):
        predict(settings(run, path, path.parent / "out", "dataset.line_freq=50"))
    tables = [table(path.parent / "out", "p", "windows") for path in (one, other)]
    assert tables[0]["onset"].tolist() == list(np.arange(0, 20, 2.0))
    assert tables[0]["prob_right_hand"].to_numpy() == pytest.approx(tables[1]["prob_right_hand"].to_numpy(), abs=1e-5)
    assert np.ptp(tables[0]["prob_right_hand"]) > 1e-4


def test_lacking_channels_are_named(tmp_path: Path) -> None:
    run = write_run(tmp_path, *SCALP_RUN, sfreq=200.0, ch_names=TEN_TWENTY)
    recording = write_recording(tmp_path / "p.edf", TEN_TWENTY[1:], sfreq=200.0)
    with pytest.raises(BenchError, match=r"90% of the 10 wanted channels \(not Fp1\)"):
        predict(settings(run, recording, tmp_path / "out"))


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("exploded"),)


def test_no_code_of_a_checkpoint_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = write_run(tmp_path, *CHANNEL_RUN)
    recording = write_recording(tmp_path / "p1.edf", NAMES)
    torch.save({"state_dict": {"net.x": Bomb()}}, run / "checkpoints" / "best.ckpt", pickle_module=pickle)
    with pytest.raises(BenchError, match="no checkpoint of plain tensors"):
        predict(settings(run, recording, tmp_path / "out"))
    assert not Path("exploded").exists()


@pytest.mark.parametrize(
    "target",
    ["os.system", "omni_bench.models.weights.torch.load", "omni_bench.models.weights.Path.unlink",
     "omni_bench.files.write_atomically", "omni_bench.modules.checkpoints.sweep_parts", "omni_bench.models.nothing.Net",
     "sklearn.datasets.fetch_openml", "sklearn.preprocessing.FunctionTransformer"],
)  # fmt: skip
def test_no_code_of_a_configuration_is_run(tmp_path: Path, target: str) -> None:
    run = write_run(tmp_path, *CHANNEL_RUN)
    for node in ("net", "optimizer"):
        config = yaml.safe_load((run / "config.yaml").read_text())
        config["model"][node]["deep"] = [{"_target_": target}]
        (tmp_path / "changed").mkdir(exist_ok=True)
        (run / "config.yaml").write_text(yaml.safe_dump(config))
        with pytest.raises(BenchError, match="is no network, learner or optimizer"):
            open_trained(str(run))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: !!python/object/apply:os.system [true]", "no configuration of a run"),
        ("model: {name: '${oc.env:HOME}'}", "an interpolation"),
        ("[1, 2", "no configuration of a run"),
    ],
)
def test_configurations_from_anywhere_are_data(tmp_path: Path, text: str, message: str) -> None:
    run = write_run(tmp_path, *CHANNEL_RUN)
    (run / "config.yaml").write_text(text)
    with pytest.raises(BenchError, match=message):
        open_trained(str(run))


def test_intervals_of_means() -> None:
    rng = np.random.default_rng(1)
    values = np.column_stack([np.full(200, 0.3), rng.normal(size=200), np.r_[0.7, np.full(199, np.nan)]])
    low, high = mean_intervals(values, 4000, seed=0)
    assert (low[0], high[0]) == pytest.approx((0.3, 0.3))
    known = stats.bootstrap((values[:, 1],), np.mean, n_resamples=4000, method="percentile", rng=0).confidence_interval
    assert (low[1], high[1]) == pytest.approx((known.low, known.high), abs=0.02)
    assert np.isnan([low[2], high[2]]).all()
    # of two windows the mean is 0, ½ or 1 with probabilities ¼, ½, ¼
    assert mean_intervals(np.array([[0.0], [1.0]]), 2000, seed=0).ravel().tolist() == [0.0, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(mean_intervals(values, 0, seed=0)).all()


@pytest.fixture
def scored() -> Scored:
    """Two recordings of one patient; B2 is broken in the second, C1 in both."""
    recordings = pd.DataFrame({"recording": ["r1", "r2"], "subject": "p", "path": ["1", "2"], "sfreq": 1000.0})
    names = pd.DataFrame([(r, c) for r in ("r1", "r2") for c in ("A1", "B2", "C1")], columns=["recording", "channel"])
    channels = names.assign(raw_name=names["channel"], resected=names["channel"] == "A1", good=True)
    broken = (channels["channel"] == "C1") | ((channels["channel"] == "B2") & (channels["recording"] == "r2"))
    channels.loc[broken, "good"] = False
    patients = pd.DataFrame([{"subject": "p", "person": "p", "source": "s"}])
    rows = [
        ("r1", "A1", 0.0, 0.2),
        ("r1", "A1", 4.0, 0.4),
        ("r2", "A1", 0.0, 0.9),
        ("r1", "B2", 0.0, 0.6),
        ("r1", "B2", 4.0, 0.6),
    ]
    windows = pd.DataFrame(rows, columns=["recording", "channel", "start", "prob_bad"])
    windows = windows.assign(prob_good=1 - windows["prob_bad"], duration=4.0)
    excluded = pd.DataFrame(
        [("r1", "C1", "flat"), ("r2", "C1", "flat"), ("r2", "B2", "flat")], columns=["recording", "channel", "reason"]
    )
    cohort = Cohort("c", Path("."), patients, recordings, channels)
    return Scored("channel", cohort, excluded, windows, {"r1": 60.0, "r2": 120.0})


def test_a_patients_recordings_count_together(scored: Scored) -> None:
    found = channel_scores(scored, Scale("prob_bad", "bad", Threshold("youden_val", 0.55)), "p", 50, 0)
    assert found["channel"].tolist() == ["B2", "A1", "C1"]
    assert found["score"].tolist()[:2] == pytest.approx([0.6, 0.5])
    assert found["n"].tolist() == [2, 3, 0]
    assert found["predicted"].tolist()[:2] == ["bad", "good"]
    assert found["reason"].isna().tolist() == [True, True, False]
    assert found["resected"].tolist() == [False, True, False]


def test_without_a_class_to_look_for_the_likeliest_counts(scored: Scored) -> None:
    found = channel_scores(scored, Scale(None, None, None), "p", 50, 0).set_index("channel")
    assert found.loc["B2", ["score", "predicted"]].tolist() == [pytest.approx(0.6), "bad"]
    changed = scored.predictions.assign(prob_bad=0.1, prob_good=0.9)
    found = channel_scores(replace(scored, predictions=changed), Scale(None, None, None), "p", 50, 0)
    assert found["predicted"].tolist()[:2] == ["good", "good"]


def test_rates_are_of_the_time_that_was_looked_at(scored: Scored) -> None:
    events = replace(scored, kind="event", predictions=scored.predictions.assign(onset=0.0, lasts=0.02))
    found = channel_scores(events, Scale("prob_bad", "bad", None), "p", 50, 0).set_index("channel")
    # A1: one event of three is likeliest bad, in the 3 minutes of both recordings; B2: two in the minute of one
    assert found.loc[["A1", "B2"], "score"].tolist() == pytest.approx([1 / 3, 2.0])
    assert found.loc["A1", "ci_high"] == pytest.approx(stats.chi2.ppf(0.975, 4) / 2 / 3)
    assert found.loc["A1", "n"] == 3
