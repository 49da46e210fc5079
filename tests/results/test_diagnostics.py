"""Sections on probabilities, channels and embeddings: what they draw and when they stay away."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omni_bench.modules.projection import project
from omni_bench.results import diagnostics, figures
from omni_bench.results.diagnostic_sections import diagnostic_sections
from omni_bench.results.run_files import read_run
from tests.records import finished

CH_NAMES = ["Fp1", "Fp2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2", "T7", "T8"]
SFREQ = 200.0


def alpha_at(channel: str) -> np.ndarray:
    """Two seconds of noise with 10 Hz at one channel."""
    window = np.random.default_rng(0).normal(size=(len(CH_NAMES), 400))
    window[CH_NAMES.index(channel)] += 20 * np.sin(2 * np.pi * 10 * np.arange(400) / SFREQ)
    return window.astype(np.float32)


def run_in(folder: Path, scores: pd.DataFrame | None = None, ch_names: list[str] | None = None) -> Path:
    (folder / "result.json").write_text(json.dumps(finished("t", "m", 0.7)))
    (folder / "config.yaml").write_text("task: {classes: [left, right]}")
    if scores is not None:
        scores.to_parquet(folder / "scores.parquet")
    if ch_names:
        windows = {"window_0": alpha_at("O1"), "window_1": alpha_at("C4")}
        np.savez(folder / "examples.npz", sfreq=SFREQ, ch_names=np.array(ch_names), **windows)
    return folder


def test_band_power_stands_out_where_it_is() -> None:
    table = diagnostics.band_powers(alpha_at("O1"), SFREQ, CH_NAMES)
    assert table["alpha"].idxmax() == "O1"
    assert table["alpha"].max() > 10
    np.testing.assert_allclose(table.mean(), 0, atol=1e-4)
    silent = alpha_at("O1")
    silent[0] = 0
    assert diagnostics.band_powers(silent, SFREQ, CH_NAMES).loc["Fp1"].isna().all()


def test_electrodes_are_known_in_any_spelling() -> None:
    places = diagnostics.electrode_positions(["FP1", "EEG O2-REF", "X7", "t8"])
    assert set(places) == {"FP1", "EEG O2-REF", "t8"}
    assert places["FP1"][1] > 0 > places["EEG O2-REF"][1]  # front and back
    assert places["FP1"][0] < 0 < places["t8"][0]  # left and right


def test_sections_write_figures_data_and_words(tmp_path: Path) -> None:
    scores = pd.DataFrame(
        {
            "person": ["a", "b", "c", "d"],
            "label": pd.array([0, 1, 1, 0], dtype="Int64"),
            "prob_left": [0.9, 0.3, 0.8, 0.7],
            "prob_right": [0.1, 0.7, 0.2, 0.3],
        }
    )
    folder = run_in(tmp_path, scores, CH_NAMES)
    x = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    table = project(x, seed=0).assign(label=np.arange(30) % 2)
    table.to_csv(folder / "projection.csv", index=False)
    calibration, scalp, embeddings = diagnostic_sections(read_run(folder))
    assert [section.title for section in (calibration, scalp, embeddings)] == ["Calibration", "Scalp", "Embeddings"]
    bins = pd.read_csv(folder / "figures" / "calibration.csv")
    # most probable class and whether it is right: 0.9 yes, 0.7 yes, 0.8 no, 0.7 yes
    assert bins["n"].tolist() == [2, 1, 1]
    assert bins["observed"].tolist() == [1, 0, 1]
    assert "alpha strongest at O1" in scalp.pictures[0].alt
    assert "alpha strongest at C4" in scalp.pictures[0].alt
    assert len(pd.read_csv(folder / "figures" / "scalp_maps.csv")) == 2 * len(CH_NAMES)
    assert "15 left, 15 right" in embeddings.pictures[0].alt
    assert (folder / "figures" / "embeddings.png").is_file()


@pytest.mark.parametrize(
    "scores",
    [
        pd.DataFrame({"person": ["a"], "target": [1.0], "predicted": [1.0]}),
        pd.DataFrame({"person": ["a"], "label": [1], "score": [3.0]}),
        pd.DataFrame({"label": [1], "score": [0.3]}),
    ],
)
def test_no_calibration_of_what_is_no_probability(tmp_path: Path, scores: pd.DataFrame) -> None:
    assert diagnostic_sections(read_run(run_in(tmp_path, scores))) == []


def test_few_known_electrodes_make_no_map(tmp_path: Path) -> None:
    (scalp,) = diagnostic_sections(read_run(run_in(tmp_path, ch_names=[f"X{i}" for i in range(len(CH_NAMES))])))
    assert not scalp.pictures
    assert "Fewer than 8 electrodes" in scalp.absent


def test_projection_separates_what_is_apart_and_repeats() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 6)).astype(np.float32)
    x[20:] += 20
    table = project(x, seed=0)
    positive = (table["PCA_1"] > 0).tolist()
    assert positive in ([True] * 20 + [False] * 20, [False] * 20 + [True] * 20)
    pd.testing.assert_frame_equal(table, project(x, seed=0))
    assert project(x[:2], seed=0).empty
    assert project(x[:15], seed=0).columns.tolist() == ["PCA_1", "PCA_2"]


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize(("n", "n_named"), [(5, 5), (24, 24), (40, 14), (160, 16)])
def test_many_classes_leave_room_for_the_points(n: int, n_named: int) -> None:
    classes = [f"{8 + i / 5:g} Hz" for i in range(n)]
    label = np.arange(3 * n) % n
    table = pd.DataFrame({"label": label, "PCA_1": label, "PCA_2": np.arange(3 * n)})
    figure = diagnostics.projection(table, ["PCA"], classes)
    figures.png(figure)  # lays out, and warns where nothing is left for the axes
    panel = figure.axes[0]
    assert panel.get_position().width > 0.5
    if n <= 24:
        assert [text.get_text() for text in panel.get_legend().get_texts()] == classes
        assert [line.get_xdata().tolist() for line in panel.lines] == [[i] * 3 for i in range(n)]
    else:
        (points,) = panel.collections
        np.testing.assert_array_equal(points.get_array(), label)
        np.testing.assert_array_equal(points.get_offsets(), table[["PCA_1", "PCA_2"]])
        named = [text.get_text() for text in figure.axes[1].get_yticklabels()]
        assert named == classes[:: -(-n // 16)]
        assert len(named) == n_named


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize(("n", "n_texts", "n_named"), [(3, 9, 3), (24, 576, 24), (40, 0, 20), (160, 0, 23)])
def test_confusion_of_many_classes_is_shades_and_some_names(n: int, n_texts: int, n_named: int) -> None:
    counts = pd.DataFrame(3 * np.eye(n, dtype=int) + 1, index=[f"class {i}" for i in range(n)])
    figure = figures.confusion(counts.set_axis(counts.index, axis=1))
    figures.png(figure)
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.images[0].get_array(), (3 * np.eye(n) + 1) / (n + 3))
    assert len(axes.texts) == n_texts
    assert [text.get_text() for text in axes.get_xticklabels()] == counts.index[:: -(-n // 24)].tolist()
    assert len(axes.get_xticks()) == n_named
    assert figure.get_figwidth() < 13


@pytest.mark.slow
def test_umap_keeps_clusters_apart_and_repeats(tmp_path: Path) -> None:
    pytest.importorskip("umap", reason="umap-learn is not installed: pip install 'omni_bench[embeddings]'")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 6)).astype(np.float32)
    x[30:] += 20
    table = project(x, seed=0)
    points = table[["UMAP_1", "UMAP_2"]].to_numpy()
    assert np.isfinite(points).all()
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    same = np.arange(60)[:, None] // 30 == np.arange(60) // 30
    np.fill_diagonal(distance, np.inf)
    assert same[np.arange(60), distance.argmin(axis=1)].all()
    assert distance[~same].min() > np.median(distance[same & np.isfinite(distance)])
    pd.testing.assert_frame_equal(table, project(x, seed=0))
    assert not np.allclose(points, project(x, seed=1)[["UMAP_1", "UMAP_2"]])
    figure = diagnostics.projection(table.assign(label=np.arange(60) // 30), ["PCA", "UMAP"], ["left", "right"])
    assert [axes.get_xlabel() for axes in figure.axes] == ["PCA 1", "UMAP 1"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["PCA 2", "UMAP 2"]
    folder = run_in(tmp_path)
    table.assign(label=np.arange(60) // 30).to_csv(folder / "projection.csv", index=False)
    (section,) = diagnostic_sections(read_run(folder))
    assert "by PCA and UMAP: 30 left, 30 right" in section.pictures[0].alt
