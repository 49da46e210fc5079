"""The numbers behind the leaderboard's curves and its ranks by adaptation, by hand, as their CSV files hold them."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from omni_bench.results.leaderboard import build_leaderboard, write_leaderboard
from tests.records import finished, write_records


def data_of(tmp_path: Path, records: list[dict[str, Any]], figure: str) -> pd.DataFrame:
    """CSV of a figure of the leaderboard that these records make."""
    folder = write_records(tmp_path / "runs", records)
    write_leaderboard(build_leaderboard(folder, seeds=1), tmp_path / "board", seeds=1)
    return pd.read_csv(tmp_path / "board" / "figures" / f"{figure}.csv", index_col=0)


def test_few_shot_curves(tmp_path: Path) -> None:
    """Means over t and u; v has no value of b at 10 %, w no finished run of b."""
    values = {
        "t": {"a": [0.5, 0.6, 0.7], "b": [0.4, 0.6, 0.9]},
        "u": {"a": [0.3, 0.5, 0.6], "b": [0.5, 0.5, 0.8]},
        "v": {"a": [0.9, 0.9, 0.9], "b": [None, 0.9, 0.9]},
        "w": {"a": [0.9, 0.9, 0.9]},
    }
    runs = [
        finished(task, model, value, protocol="few_shot", options={"fraction": level})
        for task, models in values.items()
        for model, scores in models.items()
        for level, value in zip((0.1, 0.5, 1.0), scores, strict=True)
    ]
    runs.append(finished("w", "b", 0.1, protocol="few_shot", options={"fraction": 0.1}, status="failed"))
    table = data_of(tmp_path, runs, "few_shot_linear_probe_curves")
    assert table.index.tolist() == [0.1, 0.5, 1.0]
    assert table["a"].tolist() == pytest.approx([(0.5 + 0.3) / 2, (0.6 + 0.5) / 2, (0.7 + 0.6) / 2])
    assert table["b"].tolist() == pytest.approx([(0.4 + 0.5) / 2, (0.6 + 0.5) / 2, (0.9 + 0.8) / 2])


def test_masking_curves(tmp_path: Path) -> None:
    """Of t alone, since b has met u in pretraining; c was not run at 0.4 and has no point there."""
    values = {"t": {"a": [0.9, 0.8, 0.6], "b": [0.7, 0.7, 0.5], "c": [0.6, 0.5]}, "u": {"a": [0.1] * 3, "b": [0.2] * 3}}
    runs = [
        finished(
            task,
            model,
            value,
            protocol="channel_masking",
            options={"p": level},
            pretraining_overlap=(task, model) == ("u", "b"),
        )
        for task, models in values.items()
        for model, scores in models.items()
        for level, value in zip((0.0, 0.2, 0.4), scores, strict=False)
    ]
    table = data_of(tmp_path, runs, "channel_masking_linear_probe_curves")
    assert table.index.tolist() == [0.0, 0.2, 0.4]
    assert table["a"].tolist() == [0.9, 0.8, 0.6]
    assert table["b"].tolist() == [0.7, 0.7, 0.5]
    assert table["c"].tolist() == pytest.approx([0.6, 0.5, float("nan")], nan_ok=True)


def test_marked_results_have_curves_of_their_own(tmp_path: Path) -> None:
    runs = [
        finished("t", model, value, protocol="few_shot", options={"fraction": level}, reduced=model in "cd")
        for model, scores in {"a": [0.5, 0.6], "b": [0.4, 0.6], "c": [0.7, 0.8], "d": [0.1, 0.9]}.items()
        for level, value in zip((0.1, 0.5), scores, strict=True)
    ]
    assert data_of(tmp_path, runs, "few_shot_linear_probe_curves").to_dict("list") == {"a": [0.5, 0.6], "b": [0.4, 0.6]}
    marked = pd.read_csv(tmp_path / "board" / "figures" / "few_shot_linear_probe_curves_marked.csv", index_col=0)
    assert marked.to_dict("list") == {"c": [0.7, 0.8], "d": [0.1, 0.9]}


def test_a_single_level_is_no_curve(tmp_path: Path) -> None:
    runs = [finished("t", model, 0.7, protocol="few_shot", options={"fraction": 0.1}) for model in "ab"]
    with pytest.raises(FileNotFoundError):
        data_of(tmp_path, runs, "few_shot_linear_probe_curves")


def test_ranks_of_linear_probe_against_fine_tune(tmp_path: Path) -> None:
    """Every cell counts that both adaptations have: t of a, b, c and u of a and c; v and the baseline do not."""
    values = {
        "linear_probe": {"t": [0.9, 0.8, 0.7], "u": [0.6, 0.7, 0.5], "v": [0.9, 0.8, 0.7]},
        "full_finetune": {"t": [0.6, 0.8, 0.7], "u": [0.8, None, 0.9]},
    }
    runs = [
        finished(task, model, value, adaptation=adaptation)
        for adaptation, tasks in values.items()
        for task, scores in tasks.items()
        for model, value in zip("abc", scores, strict=True)
    ]
    runs += [finished(task, "eegnet", 0.95, adaptation="from_scratch") for task in "tuv"]
    table = data_of(tmp_path, runs, "cross_subject_adaptations")
    # t: 1, 2, 3 and 3, 1, 2; u: a before c, which is at chance (0.5), and c before a
    assert table.loc["a"].to_dict() == {"linear_probe": (1 + 1) / 2, "full_finetune": (3 + 2) / 2}
    assert table.loc["b"].to_dict() == {"linear_probe": 2, "full_finetune": 1}
    assert table.loc["c"].to_dict() == {"linear_probe": (3 + 2) / 2, "full_finetune": (2 + 1) / 2}
    assert len(table) == 3
