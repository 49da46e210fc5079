"""Whole runs of every intracranial task, model and experiment, in a form that takes seconds."""

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from omni_bench import api
from omni_bench.cards import experiments
from omni_bench.datasets import demo_ieeg
from omni_bench.errors import BenchError
from omni_bench.inference.publish import publish
from omni_bench.inference.trained import open_trained
from omni_bench.locate import card_root
from omni_bench.results.comparison import compare, published_table
from omni_bench.study import study
from tests.small import ESTIMATORS, EVENT_MODELS, SEGMENT_MODELS, small

pytestmark = pytest.mark.slow

REDUCED = ["trainer.max_epochs=1", "trainer.eval_batch_size=8", "trainer.progress=false", "n_boot=20", "seed=0"]
SECONDS = {"task.window_s": 20, "task.stride_s": 20, "task.windows_per_unit": 1}


def demo_in(folder: Path, n_patients: int) -> list[str]:
    """Overrides for a new demo cohort, with few labelled events, in its own folders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_ieeg, "ANNOTATED_PER_DETECTOR", 8)
        demo_ieeg.write_demo_ieeg(folder / "demo", n_patients)
    paths = {"dataset.root": "demo", "paths.cache": "cache", "paths.output_dir": "outputs"}
    return [*(f"{key}={folder / name}" for key, name in paths.items()), *REDUCED]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A cohort with enough patients for every task."""
    return demo_in(tmp_path_factory.mktemp("experiments"), 18)


@pytest.fixture(scope="module")
def few_patients(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The smallest cohort, for tasks that need no more."""
    return demo_in(tmp_path_factory.mktemp("few"), 8)


def segments() -> list[str]:
    return [f"{key}={value}" for key, value in SECONDS.items()]


def run(overrides: list[str]) -> tuple[dict[str, Any], Path]:
    result = api.run(overrides)
    cfg = api.compose_config(overrides)
    return result, Path(cfg.paths.output_dir) / cfg.run_name


@pytest.mark.parametrize("model", SEGMENT_MODELS | ESTIMATORS)
def test_region_runs_with_every_segment_model(few_patients: list[str], model: str) -> None:
    result, folder = run([*few_patients, *small(model), *segments()])
    predictions = pd.read_parquet(folder / "predictions.parquet")
    assert predictions["prob_pathological"].between(0, 1).all()
    assert predictions["prob_pathological"].std() > 0
    assert len(predictions) == 3 * sum(result["counts"][split]["units"] for split in ("val", "test"))
    scores = pd.read_parquet(folder / "scores.parquet")
    assert result["metrics"]["auc"]["n"] == scores["label"].notna().sum()


@pytest.mark.parametrize("model", EVENT_MODELS)
def test_events_run_with_every_event_model(few_patients: list[str], model: str) -> None:
    result, folder = run([*few_patients, "task=events", *small(model)])
    counts = result["counts"]["test"]
    assert counts["units"] == result["metrics"]["f1_macro"]["n"] == sum(counts["per_class"].values())
    predictions = pd.read_parquet(folder / "predictions.parquet")
    assert set(predictions["split"]) == {"val", "test"}


def test_regions_by_the_events_of_a_finished_run(workplace: list[str]) -> None:
    model = small("timesnet")
    events, trained = run([*workplace, "task=events", *model])
    result, folder = run([*workplace, "task=region", *model])
    assert result["weights"]["sha256"] == api.compose_config([*workplace, "task=region", *model]).checkpoint_sha256
    assert "fit_s" not in result["timing"]
    units, predictions = (pd.read_parquet(folder / f"{name}.parquet") for name in ("units", "predictions"))
    split = pd.read_parquet(trained / "split.parquet")
    assert not set(units.loc[units["split"] == "test", "person"]) & set(split.loc[split["split"] != "test", "person"])
    scores = pd.read_parquet(folder / "scores.parquet").set_index(["subject", "channel"])["score"]
    classes = ["prob_artifact", "prob_non_spkHFO", "prob_spkHFO"]
    spikes = predictions[predictions[classes].to_numpy().argmax(axis=1) == 2]
    counts = units.assign(n=units["unit_id"].map(spikes.groupby("unit_id").size()).fillna(0))
    counts = counts[counts["split"] == "test"].groupby(["subject", "channel"])[["n", "duration"]].sum()
    expected = (60 * counts["n"] / counts["duration"]).reindex(scores.index)
    pd.testing.assert_series_equal(scores, expected, check_names=False, check_dtype=False)
    assert (scores == 0).any()
    with pytest.raises(BenchError, match="no finished runs of seed 1"):
        api.compose_config([*workplace, "task=region", *model, "seed=1"])
    with pytest.raises(BenchError, match="was trained on"):
        api.run([*workplace, "task=region", *model, "protocol=leave_one_dataset_out", f"checkpoint={trained}"])
    assert events["threshold"] is None


def test_labels_belong_to_their_waveforms(workplace: list[str]) -> None:
    auc = run([*workplace, "task=events", *small("handcrafted_logreg")])[0]["metrics"]["auc"]
    assert auc["ci_low"] > 0.5  # labels that stand beside other waveforms give 0.5


@pytest.mark.parametrize("model", ["handcrafted_logreg", "handcrafted_gbm"])
def test_a_yardstick_predicts_again_from_its_run(few_patients: list[str], model: str) -> None:
    overrides = [*few_patients, *small(model), *segments()]
    first, folder = run(overrides)
    second, again = run([*overrides, f"checkpoint={folder}"])
    assert "fit_s" not in second["timing"]
    assert second["metrics"]["auc"] == first["metrics"]["auc"]
    ours, theirs = (pd.read_parquet(f / "predictions.parquet").set_index("sample_id") for f in (folder, again))
    test = theirs.index[theirs["split"] == "test"]
    pd.testing.assert_frame_equal(ours.loc[test], theirs.loc[test])
    with pytest.raises(BenchError, match="an estimator of scikit-learn is no safetensors"):
        publish(open_trained(str(folder)), folder / "exported")


def test_time_reversal_reaches_training(few_patients: list[str]) -> None:
    events = [*few_patients, "task=events", *small("timesnet")]
    (_, plain), (_, reversed_) = run(events), run([*events, "trainer.time_reversal=0.5"])
    ours, theirs = (pd.read_parquet(folder / "predictions.parquet") for folder in (plain, reversed_))
    assert ours["sample_id"].equals(theirs["sample_id"])
    assert (ours["prob_artifact"] - theirs["prob_artifact"]).abs().max() > 1e-4


@pytest.mark.parametrize(
    ("task", "n_classes"), [("anatomy_lobe", 5), ("anatomy_region", 12), ("ictal", 2), ("sleep_awake", 2)]
)
def test_exploratory_tasks_run(workplace: list[str], task: str, n_classes: int) -> None:
    result, folder = run([*workplace, f"task={task}", "model=handcrafted_gbm", *segments()])
    units, scores = (pd.read_parquet(folder / f"{name}.parquet") for name in ("units", "scores"))
    assert units["label"].notna().all()
    assert units["label"].nunique() == n_classes
    assert {"balanced_accuracy", "f1_macro"} <= result["metrics"].keys()
    if n_classes > 2:
        assert set(units["source"]) == {"openieeg"}
        assert scores["unit_id"].is_unique
        test = units[units["split"] == "test"]
        assert len(scores) == len(test[["subject", "channel"]].drop_duplicates())
    else:
        # a window of a recording counts once, whatever its number of channels
        assert not scores.duplicated(["recording", "start"]).any()
        assert result["threshold"]["rule"] == "youden_val"


def test_a_class_without_training_windows_is_one_clear_line(workplace: list[str]) -> None:
    with pytest.raises(BenchError, match="no training window of class ictal"):
        api.run([*workplace, "task=ictal", "model=handcrafted_logreg", *segments(), "+task.cohort.ictal=false"])


STUDIES = ("shap", "permutation", "hearable")
EXPERIMENTS = [name for name in experiments() if name.startswith("omni_ieeg/")]


def runs_of(name: str, changes: dict[str, str]) -> list[list[str]]:
    """One list of overrides for every run of an experiment's sweep; ``changes`` replaces swept values."""
    node = yaml.safe_load((card_root() / "experiments" / f"{name}.yaml").read_text())
    params = node["hydra"]["sweeper"]["params"] | changes
    values = [[(key, value) for value in str(values).split(",")] for key, values in params.items()]
    return [[f"{key}={value}" for key, value in chosen] for chosen in product(*values)]


def beside_published(name: str, overrides: list[str]) -> pd.DataFrame:
    """The printed table with ours beside it: every cell has a value or says why not."""
    cells = compare(name, Path(api.compose_config(overrides).paths.output_dir))
    assert len(cells) == len(published_table(name).rows) * len(published_table(name).metrics)
    assert (cells["ours"].notna() | cells["remark"].ne("")).all()
    return cells.set_index(["row", "metric"])


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.removeprefix("omni_ieeg/") not in STUDIES])
def test_every_experiment_runs_on_the_demo(request: pytest.FixtureRequest, name: str) -> None:
    many = name.removeprefix("omni_ieeg/") in ("anatomy", "ictal", "sleep_awake")
    workplace = request.getfixturevalue("workplace" if many else "few_patients")
    changes = {"omni_ieeg/table11": {"task.window_s": "10,20,30"}}.get(name, {})
    short = ["protocol.split.min_test_s=62"] if name == "omni_ieeg/table11" else []
    for overrides in runs_of(name, changes):
        full = [f"+experiment={name}", "dataset=demo_ieeg", *workplace, "model.weights=random", *overrides, *short]
        cfg = api.compose_config(
            [f"+experiment={name}", *[o for o in overrides if "model" in o or "task" in o], "checkpoint=null"]
        )
        if cfg.task.name != "events" and cfg.model.name not in EVENT_MODELS:
            full += [item for item in segments() if item.split("=")[0] not in {o.split("=")[0] for o in overrides}]
        full += [item for item in small(cfg.model.name) if not item.startswith("model=")]
        if cfg.model.name in EVENT_MODELS and cfg.task.name != "events":
            run([*workplace, "task=events", *small(cfg.model.name)])
        result, _ = run(full)
        assert result["status"] == "completed"
        assert result["metrics"]["f1_macro"]["n"] > 0
    found = beside_published(name, workplace)
    # what the demo is too short for is no row of Table 11
    assert found["ours"].notna().any() == (name != "omni_ieeg/table11")


def test_the_study_of_bands_reads_a_finished_run(few_patients: list[str]) -> None:
    overrides = [*few_patients, *small("timeconv_cnn"), *segments()]
    _, trained = run(overrides)
    study_of = ["+experiment=omni_ieeg/shap", "dataset=demo_ieeg", f"checkpoint={trained}", "study.n_windows=3"]
    folder = study(api.compose_config([*study_of, *overrides]))
    windows, bands = (pd.read_csv(folder / f"{name}.csv") for name in ("windows", "bands"))
    split = pd.read_parquet(trained / "split.parquet").set_index("sample_id")["split"]
    assert (split[windows["sample_id"]] == "test").all()
    assert len(windows) == 6
    assert windows["error"].max() <= 0.05
    change = windows["logit"] - windows["baseline"]
    assert ((windows[bands["band"]].sum(axis=1) - change).abs() <= 0.0501 * change.abs()).all()
    assert (folder / "bands.png").read_bytes().startswith(b"\x89PNG")
    rank = beside_published("omni_ieeg/shap", overrides).loc[("10 · 30", "importance_rank")]
    assert rank["ours"] == 1 + bands["band"].tolist().index("low")
    assert rank["published"] == 1
    with pytest.raises(BenchError, match="give checkpoint=DIR"):
        study(api.compose_config([*study_of, *overrides, "checkpoint=null"]))


def test_the_study_of_sources_draws_from_each_of_them(few_patients: list[str]) -> None:
    chosen = ["+experiment=omni_ieeg/permutation", "dataset=demo_ieeg", "study.weights=random", "study.n_windows=4"]
    folder = study(api.compose_config([*chosen, *few_patients, *segments(), "study.n_permutations=19"]))
    windows, result = pd.read_csv(folder / "windows.csv"), pd.read_csv(folder / "result.csv").set_index("permute")
    assert windows["source"].value_counts().to_dict() == dict.fromkeys(("openieeg", "zurich", "hup", "sourcesink"), 4)
    assert result["p"].between(1 / 20, 1).all()
    assert result["homogeneity"].between(0, 1).all()
    found = beside_published("omni_ieeg/permutation", few_patients)
    for way in ("person", "window"):
        assert found.loc[(way, "p"), ["ours", "ci_low", "ci_high"]].tolist() == pytest.approx(
            result.loc[way, ["p", "p_low", "p_high"]].tolist()
        )
        assert found.loc[(way, "n_windows"), "ours"] == 16
    assert found.loc[("window", "p"), "published"] == 0.88
    assert found["remark"].str.contains("synthetic data").all()


def test_the_study_of_sounds_counts_what_a_classifier_hears(few_patients: list[str], tmp_path: Path) -> None:
    from transformers import ASTConfig, ASTForAudioClassification

    names = dict(enumerate(["Speech", "Helicopter", "Music", "Dog", "Rain", "Bell"]))
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    ASTForAudioClassification(ASTConfig(**size, id2label=names)).save_pretrained(tmp_path)
    everybody = ["~task.cohort.subject", f"study.classifier={tmp_path}", "study.n_wav=0"]
    chosen = ["+experiment=omni_ieeg/hearable", "dataset=demo_ieeg", *everybody]
    folder = study(api.compose_config([*chosen, *few_patients, *segments()]))
    windows = pd.read_csv(folder / "windows.csv")
    found = beside_published("omni_ieeg/hearable", few_patients)["ours"]["Helicopter"]
    of_soz = windows[windows["channel_is"] == "soz"]
    assert found.notna().all()
    assert found["n_soz"] == len(of_soz) > 0
    assert found["top1_soz"] == (of_soz["top1"] == "Helicopter").sum()
    assert found["top1_preserved"] + found["top1_soz"] == (windows["top1"] == "Helicopter").sum()
