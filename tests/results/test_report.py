import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from omni_bench.errors import BenchError
from omni_bench.results import figures, report
from omni_bench.results.report import write_report
from omni_bench.results.strips import channel_strips, in_shaft_order

EVIL = "<script>alert($1$)</script>"
SFREQ = 1000.0


class Page(HTMLParser):
    """Tags, references, metrics and text of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []
        self.metrics: dict[str, set[str]] = {}
        self.alts: list[str] = []
        self.text = ""
        self._metric: str | None = None
        self.feed(file.read_text(encoding="utf-8"))
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = {name: value or "" for name, value in attrs}
        self.references += [values[name] for name in ("src", "href", "xlink:href", "action", "data") if name in values]
        self.ids += [values["id"]] if "id" in values else []
        self.alts += [values["aria-label"]] if values.get("role") == "img" else []
        self._metric = values.get("data-metric")

    def handle_data(self, data: str) -> None:
        self.text += data + " "
        if self._metric:
            self.metrics.setdefault(self._metric, set()).add(data)
            self._metric = None


def record(**changes: Any) -> dict[str, Any]:
    fields = {
        "schema": 1,
        "run_id": "seed-0-abc",
        "status": "completed",
        "started": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-01T00:01:00+00:00",
        "dataset": "demo_ieeg",
        "task": "region",
        "task_version": 1,
        "model": "timeconv_cnn",
        "protocol": "official_split",
        "adaptation": "from_scratch",
        "seed": 0,
        "split_seed": 0,
        "compat": None,
        "config_hash": "abc",
        "experiment": None,
        "synthetic": False,
        "reduced": False,
        "metrics": {
            "auc": {"value": 0.81449, "ci_low": 0.7, "ci_high": 0.9, "ci_unit": "person", "n": 12},
            "kappa": {"value": -0.0126, "ci_low": -0.2, "ci_high": 0.2, "ci_unit": "person", "n": 12},
            "outcome_auc": {
                "value": float("nan"),
                "ci_low": float("nan"),
                "ci_high": float("nan"),
                "ci_unit": "person",
                "n": 0,
                "note": "no operated patient",
            },
            "baseline_auc": {"value": 0.4996, "ci_low": 0.4, "ci_high": 0.6, "ci_unit": "person", "n": 12},
        },
        "threshold": {"rule": "youden_val", "value": 0.5},
        "counts": {
            "test": {"patients": 3, "recordings": 3, "units": 12, "per_class": {"normal": 5, "pathological": 4}}
        },
        "excluded": [{"what": "recordings", "reason": "shorter than a window", "n": 2}],
        "weights": {
            "source": "hf://someone/net",
            "pretrained": True,
            "revision": "main",
            "sha256": "0f" * 32,
            "matched": 7,
            "missing": ["head.bias"],
            "unexpected": [],
            "mismatched": [],
        },
        "timing": {"fit_s": 1.5},
        "memory": {"peak_rss_mb": 100.0},
        "device": "cpu",
        "versions": {"python": "3.11.7", "numpy": "2.4.6"},
        "git_revision": "deadbeef",
        "warnings": ["a <b>warning</b>"],
    }
    return fields | changes


def write_run(folder: Path, fields: dict[str, Any], classes: list[str] | None = None, **tables: pd.DataFrame) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "result.json").write_text(json.dumps(fields))
    if classes:
        (folder / "config.yaml").write_text(f"task:\n  title: Regions\n  classes: {json.dumps(classes)}\n")
    for name, table in tables.items():
        table.to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def region_scores(n_patients: int = 3) -> pd.DataFrame:
    channels = ["B1", EVIL, "A10", "A2"]
    table = pd.DataFrame(
        {
            "source": "hup",
            "subject": np.repeat([f"sub-{i:02d}" for i in range(n_patients)], 4),
            "channel": channels * n_patients,
            "soz": pd.array([True, False, False, True] * n_patients, dtype="boolean"),
            "resected": pd.array([True, False, None, True] * n_patients, dtype="boolean"),
            "outcome": pd.array(np.repeat(np.arange(n_patients) % 2 == 0, 4), dtype="boolean"),
            "label": pd.array([1, 0, None, 1] * n_patients, dtype="Int64"),
            "score": [*([0.9, 0.2, 0.4, 0.3] * n_patients)[:-1], np.nan],
        }
    )
    predicted = (table["score"] >= 0.5).astype("Int64").mask(table["score"].isna())
    return table.assign(predicted=predicted, unit_id=table["subject"] + "/" + table["channel"])


def region_patients() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "source": "hup",
            "subject": ["sub-00", "sub-01", "sub-02"],
            "outcome": pd.array([True, False, None], dtype="boolean"),
            "n_channels": 4,
            "n_soz": 2,
            "n_resected": 2,
            "resection_ratio": [0.75, 0.25, np.nan],
            "reason": ["", "", "a channel without a score"],
        }
    )


def full_run(folder: Path) -> Path:
    tables = {"scores": region_scores(), "patients": region_patients()}
    run = write_run(folder, record(), ["normal", "pathological"], **tables)
    steps = pd.DataFrame({"step": [1, 1, 2, 2], "epoch": [0, 0, 1, 1], "metric": ["train/loss", "val/loss"] * 2})
    steps.assign(value=[0.7, 0.8, 0.5, 0.6]).to_csv(run / "metrics.csv", index=False)
    noise = np.random.default_rng(0).normal(0, 20, (2, 2000)).astype(np.float32)
    names = {"name_0": f"rec/{EVIL}@0", "name_1": "rec/A2@0"}
    np.savez_compressed(run / "examples.npz", sfreq=SFREQ, signal_0=noise[0], signal_1=noise[1], **names)
    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = full_run(tmp_path_factory.mktemp("run"))
    assert write_report(run) == run / "report.html"
    return run


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return Page(folder / "report.html")


def test_page_needs_no_network(folder: Path, page: Page) -> None:
    assert all(reference.startswith(("#", "data:image/png;base64,")) for reference in page.references)
    assert not {"link", "script", "iframe", "object"} & set(page.tags)
    html = (folder / "report.html").read_text()
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    assert len(html) < 3e6


def test_every_metric_is_the_records(page: Page) -> None:
    assert page.metrics == {"auc": {"0.814"}, "kappa": {"−0.013"}, "outcome_auc": {"–"}, "baseline_auc": {"0.500"}}
    assert "0.700 to 0.900" in page.text
    assert "no operated patient" in page.text


def test_top_tells_identity_provenance_and_exclusions(page: Page) -> None:
    facts = ["region v1", "timeconv_cnn", "official_split", "shorter than a window", "deadbeef", "0f" * 32, "1 missing"]
    assert [fact for fact in [*facts, "hf://someone/net", "esearch use only"] if fact not in page.text] == []
    assert "benchmark result" not in page.text
    # patients, recordings, units, normal, pathological, and what is left without a label
    assert "test 3 3 12 5 4 3" in page.text


def test_names_are_text(page: Page) -> None:
    assert "script" not in page.tags
    assert EVIL in page.text
    assert "a <b>warning</b>" in page.text
    assert any(EVIL in alt for alt in page.alts)


def test_figures_share_no_element_ids(page: Page) -> None:
    named = [name for name in page.ids if name.startswith(("axes", "figure", "patch", "line2d", "text"))]
    assert named == []


PICTURES = {
    "roc_pr": (8.4, 3.9),
    "confusion": (3.6, 1.8),
    "resection_by_outcome": (6.4, 3.3),
    "channel_strips": None,
    "training_curves": (4.2, 2.6),
    "trace_normal": (9.6, 4.1),
    "trace_pathological": (9.6, 4.1),
}


def test_pictures_lie_beside_the_page(folder: Path, page: Page) -> None:
    assert {file.stem for file in (folder / "figures").iterdir()} == set(PICTURES)
    assert len(page.alts) == page.tags.count("svg") == len(PICTURES)
    assert all(len(alt) > 20 for alt in page.alts)
    for name, inches in PICTURES.items():
        with Image.open(folder / "figures" / f"{name}.png") as image:
            pixels = np.asarray(image.convert("L"))
        assert pixels.std() > 5
        if inches:
            assert pixels.shape == pytest.approx([200 * side for side in reversed(inches)], abs=1)


def test_data_beside_pictures_equal_the_tables(folder: Path) -> None:
    data = {name: pd.read_csv(folder / "figures" / f"{name}.csv") for name in PICTURES}
    strips = data["channel_strips"]
    # A2, A10, B1 along their shafts; a name without a number stands as its own shaft
    assert strips["channel"].tolist()[:4] == [EVIL, "A2", "A10", "B1"]
    assert strips["score"].tolist()[:4] == [0.2, 0.3, 0.4, 0.9]
    assert data["resection_by_outcome"]["resection_ratio"].tolist()[:2] == [0.75, 0.25]
    assert data["training_curves"]["value"].tolist() == [0.7, 0.8, 0.5, 0.6]
    # labelled and scored: positives .9 .3 .9 .3 .9, negatives .2 .2 .2; at 0.5 two of the positives are missed
    assert data["confusion"].set_index("true").to_numpy().tolist() == [[3, 0], [2, 3]]
    with np.load(folder / "examples.npz") as examples:
        np.testing.assert_allclose(data["trace_normal"]["microvolt"], examples["signal_0"], rtol=1e-6)
    assert data["trace_normal"]["time_s"].iloc[-1] == pytest.approx(1.999)


def test_curves_by_hand() -> None:
    scores = pd.DataFrame({"label": pd.array([0, 0, 1, 1, None], dtype="Int64"), "score": [0.1, 0.4, 0.35, 0.8, 0.9]})
    points = figures.curve_points(scores, ["normal", "pathological"])
    roc, pr = (points[points["curve"] == curve] for curve in ("roc", "pr"))
    assert list(zip(roc["x"], roc["y"], strict=True)) == [(0, 0), (0, 0.5), (0.5, 0.5), (0.5, 1), (1, 1)]
    assert (1.0, pytest.approx(2 / 3)) in list(zip(pr["x"], pr["y"], strict=True))
    assert (0.5, 0.5) in list(zip(pr["x"], pr["y"], strict=True))
    assert set(points["class"]) == {"pathological"}


def test_operating_point_is_that_of_the_predictions() -> None:
    figure = figures.roc_pr(region_scores(), ["normal", "pathological"])
    marks = [line for axes in figure.axes for line in axes.lines if line.get_label() == "at the threshold"]
    # sensitivity 3/5 at no false positive; precision 1
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in marks] == [(0, 0.6), (0.6, 1)]


def test_writes_the_same_again(folder: Path) -> None:
    files = [file for file in folder.rglob("*") if file.is_file()]
    before = {file: file.read_bytes() for file in files}
    write_report(folder)
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_marks(tmp_path: Path) -> None:
    weights = {"source": "random", "pretrained": False, "revision": None, "sha256": None, "matched": 0}
    changes: dict[str, Any] = {"synthetic": True, "reduced": True, "weights": weights}
    changes |= {"threshold": {"rule": "inherited", "value": 0.4}}
    text = Page(write_report(write_run(tmp_path / "a", record(**changes)))).text
    assert "Not a benchmark result" in text
    for mark in ("synthetic data", "reduced settings", "random start weights", "fallback threshold"):
        assert mark in text
    text = Page(write_report(write_run(tmp_path / "b", record(weights=weights)))).text
    assert "random start weights" in text
    assert "Not a benchmark result" not in text  # from_scratch means to start at random
    text = Page(write_report(write_run(tmp_path / "c", record(weights=weights, adaptation="linear_probe")))).text
    assert "Not a benchmark result" in text


def test_without_resamples_no_interval_is_promised(folder: Path, tmp_path: Path) -> None:
    promise = "Intervals: 95 % percentile bootstrap, resampling unit: person"
    assert promise in (folder / "report.html").read_text()
    bare = {"auc": {"value": 0.8, "ci_low": float("nan"), "ci_high": float("nan"), "ci_unit": "person", "n": 12}}
    page = write_report(write_run(tmp_path, record(metrics=bare)))
    assert "percentile bootstrap" not in page.read_text()


def test_sections_say_what_is_absent(tmp_path: Path) -> None:
    text = Page(write_report(write_run(tmp_path / "bare", record()))).text
    for why in ("no curves", "No training curves", "No example windows"):
        assert why in text
    assert "Resection and outcome" not in text
    assert "Channels of each patient" not in text


def test_failed_run_shows_its_error(tmp_path: Path) -> None:
    failed = record(status="failed", error="no <room> on disk", metrics={}, threshold=None, counts={}, weights=None)
    text = Page(write_report(write_run(tmp_path / "failed", failed))).text
    assert "no <room> on disk" in text
    assert "no metrics" in text
    assert "Not a benchmark result" in text


def test_patient_without_outcome_or_resection(tmp_path: Path) -> None:
    scores = region_scores(1).assign(soz=pd.NA, resected=pd.NA, outcome=pd.NA, label=pd.NA, predicted=pd.NA)
    scores = scores.astype({"soz": "boolean", "resected": "boolean", "outcome": "boolean", "label": "Int64"})
    patients = region_patients().iloc[:1].assign(outcome=pd.NA, n_soz=0, n_resected=0, resection_ratio=np.nan)
    patients = patients.assign(reason="resection unknown").astype({"outcome": "boolean"})
    run = write_run(
        tmp_path / "one", record(threshold=None), ["normal", "pathological"], scores=scores, patients=patients
    )
    text = Page(write_report(run)).text
    assert "no ROC" in text
    assert "No patient with known outcome and resection" in text
    assert "No channel has a known SOZ label" in text
    # unknown flags are no count of 0
    assert "sub-00 hup unknown 4 – – – resection unknown" in text
    assert {file.stem for file in (run / "figures").iterdir()} == {"channel_strips"}


def test_many_classes(tmp_path: Path) -> None:
    label = [0, 0, 1, 1, 2, 2]
    prob = np.array([[8, 1, 1], [3, 6, 1], [1, 8, 1], [1, 7, 2], [1, 1, 8], [4, 1, 5]]) / 10
    scores = pd.DataFrame(prob, columns=["prob_wake", "prob_n2", "prob_rem"])
    scores = scores.assign(label=pd.array(label, dtype="Int64"), predicted=pd.array(prob.argmax(1), dtype="Int64"))
    run = write_run(tmp_path / "classes", record(threshold=None), ["wake", "n2", "rem"], scores=scores)
    alts = Page(write_report(run)).alts
    assert "each class against the rest, of wake, n2, rem" in alts[0]
    counts = pd.read_csv(run / "figures" / "confusion.csv", index_col="true")
    assert counts.loc["wake"].to_dict() == {"wake": 1, "n2": 1, "rem": 0}
    points = pd.read_csv(run / "figures" / "roc_pr.csv")
    roc = points[(points["curve"] == "roc") & (points["class"] == "wake")]
    # wake scores .8 .3 | .1 .1 .1 .4: after the first hit one false positive comes before the second
    assert (0.25, 1.0) in list(zip(roc["x"], roc["y"], strict=True))


def test_continuous_target(tmp_path: Path) -> None:
    scores = pd.DataFrame({"unit_id": ["a", "b", "c"], "target": [1.0, 2, 3], "predicted": [1.5, 2, 2.5]})
    run = write_run(tmp_path / "regression", record(threshold=None), scores=scores)
    assert "Predicted against target" in Page(write_report(run)).text
    pd.testing.assert_frame_equal(pd.read_csv(run / "figures" / "predicted.csv"), scores)


def test_many_patients_come_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "STRIPS_PER_PAGE", 2)
    n = 2 * report.STRIP_PAGES + 1
    run = write_run(tmp_path / "many", record(), ["normal", "pathological"], scores=region_scores(n))
    page = Page(write_report(run))
    assert f"The first {n - 1} of {n} patients" in page.text
    assert sum("Strips of channel scores" in alt for alt in page.alts) == report.STRIP_PAGES
    tables = [pd.read_csv(file) for file in sorted((run / "figures").glob("channel_strips_*.csv"))]
    assert len(tables) == report.STRIP_PAGES + 1
    assert tables[-1]["subject"].unique().tolist() == [f"sub-{n - 1:02d}"]
    assert pd.concat(tables)["subject"].nunique() == n


def test_strips_mark_by_shape() -> None:
    figure = channel_strips(region_scores(1), threshold=0.5)
    (axes,) = figure.axes
    by_marker = {line.get_marker(): line for line in axes.lines if line.get_linestyle() == "None"}
    # along the shafts: evil (0.2), A2 (SOZ, no score), A10 (0.4), B1 (SOZ, 0.9)
    assert by_marker["D"].get_xdata().tolist() == [1, 3]
    assert by_marker["x"].get_xdata().tolist() == [1]
    assert [round(bar.get_x() + 0.5) for bar in axes.patches] == [1, 3]
    assert [label.get_text() for label in axes.get_xticklabels()] == [EVIL, "A2", "A10", "B1"]
    assert in_shaft_order(region_scores(1))["shaft"].tolist()[1:] == ["A", "A", "B"]


def test_map_shows_a_burst_where_it_is() -> None:
    t = np.arange(4000) / SFREQ
    burst = 30 * np.sin(2 * np.pi * 150 * t) * np.exp(-0.5 * ((t - 2.5) / 0.03) ** 2)
    signal = (np.random.default_rng(1).normal(0, 1, 4000) + burst).astype(np.float32)
    trace, image = figures.trace_and_map(signal, SFREQ, "channel").axes[:2]
    shown = np.asarray(image.images[0].get_array())
    row, column = np.unravel_index(int(shown.argmax()), shown.shape)
    left, right, low, high = image.images[0].get_extent()
    assert left + (column + 0.5) / shown.shape[1] * (right - left) == pytest.approx(2.5, abs=0.05)
    assert high - (row + 0.5) / shown.shape[0] * (high - low) == pytest.approx(150, abs=10)
    # the envelope of the drawn trace is that of the signal
    assert trace.lines[0].get_ydata().max() == signal.max()
    assert trace.lines[0].get_ydata().min() == signal.min()


@pytest.mark.parametrize(("sfreq", "why"), [(20.0, "sampled at 20 Hz"), (1000.0, "not all samples are finite")])
def test_no_map_says_why(sfreq: float, why: str) -> None:
    signal = np.zeros(200, dtype=np.float32)
    signal[50] = np.nan
    image = figures.trace_and_map(signal, sfreq, "channel").axes[1]
    assert why in image.texts[0].get_text()
    assert not image.images


def test_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"no readable result\.json"):
        write_report(tmp_path)
