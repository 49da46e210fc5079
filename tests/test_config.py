"""Composition, its errors, and the hash that names a run."""

import subprocess
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from omni_bench import config
from omni_bench.api import compose_config
from omni_bench.cards import cards, experiments
from omni_bench.errors import BenchError
from omni_bench.locate import card_root


def run_cli(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "omni_bench", *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


def test_demo_reduces_the_papers_settings() -> None:
    cfg = compose_config()
    assert (cfg.dataset.name, cfg.task.window_s, cfg.reduced) == ("demo_ieeg", 10.0, True)
    assert (cfg.trainer.batch_size, cfg.model.optimizer.lr, cfg.model.net.n_freqs) == (16, 3e-4, 224)


def test_real_data_get_the_papers_settings() -> None:
    cfg = compose_config(["dataset=omni_ieeg"])
    assert (cfg.task.window_s, cfg.task.preprocessing.sfreq, cfg.trainer.max_epochs) == (60.0, 1000.0, 10)
    assert not cfg.reduced


def test_command_line_beats_the_reduction() -> None:
    assert compose_config(["task.window_s=60"]).task.window_s == 60


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model=timeconv_cn", "model=timeconv_cn: no such model; did you mean 'timeconv_cnn'?"),
        ("model=logreg", "model=logreg: no such model; did you mean 'handcrafted_logreg'?"),
        ("model=cnn", "model=cnn: no such model; known: ast, band_power"),
        ("task.windw_s=2", "task.windw_s: unknown key; did you mean 'window_s'?"),
        ("modle=timeconv_cnn", "did you mean 'model'?"),
        ("+task.windw_s=2", "did you mean 'window_s'?"),
        ("+sead=1", "did you mean 'seed'?"),
        ("trainer.max_epochs=-1", "trainer.max_epochs=-1: must be a number that is positive"),
        ("trainer.gradient_clip=0", "trainer.gradient_clip=0.0: must be a number that is positive"),
        ("trainer.time_reversal=1.5", "trainer.time_reversal=1.5: must be a number that is between 0 and 1"),
        ("n_boot=-1", "n_boot=-1: must be a number that is zero or more"),
        ("task.preprocessing.low=0", "task.preprocessing.low=0.0: must be a number that is positive"),
        ("task.window_s=long", "task.window_s: Value 'long' of type 'str' could not be converted to Float"),
        (
            "+model.net.n_freq=3",
            "model.net.n_freq: omni_bench.models.timeconv_cnn.TimeConvCNN takes no 'n_freq'; did you mean 'n_freqs'?",
        ),
        (
            "model.net._target_=omni_bench.models.timeconv_cnn.TimeConv",
            "there is no omni_bench.models.timeconv_cnn.TimeConv",
        ),
        ("model.net._target_=brandecode.EEGNet", "package 'brandecode' is not installed"),
        ("+experiment=omni_ieeg/tabel5", "no such experiment"),
        ("experiment=a,b", "one experiment at a time"),
        ("seed", "seed: not of the form key=value: missing EQUAL"),
        ("compat=referense", "compat=referense: unknown; did you mean 'reference'?"),
        ("on_error=ignore", "on_error=ignore: unknown; known: raise, skip"),
        ("trainer.precision=half", "trainer.precision=half: unknown; known: 16-mixed, 16-true, 32-true, 64-true, bf16"),
        ("trainer.accelerator=tpu", "trainer.accelerator=tpu: unknown; did you mean 'gpu'?"),
        ("task.preprocessing={low: 60, high: 20}", "task.preprocessing: low=60 Hz must lie below high=20 Hz"),
        ("checkpoint=no/such/run", "checkpoint=no/such/run: no file no/such/run"),
    ],
)
def test_one_clear_line(override: str, message: str) -> None:
    with pytest.raises(BenchError) as error:
        compose_config([override])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_clear_line_and_exit_code_on_the_command_line(tmp_path: Path) -> None:
    done = run_cli("task.windw_s=2", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "omni_bench: task.windw_s: unknown key; did you mean 'window_s'?\n"
    assert list(tmp_path.iterdir()) == []


def test_unknown_experiment_fails_on_the_command_line(tmp_path: Path) -> None:
    done = run_cli("+experiment=nothing", "--cfg", "job", cwd=tmp_path)
    assert done.returncode == 2
    assert "no such experiment" in done.stderr


def test_composing_and_help_import_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from omni_bench.__main__ import main\n"
        "main()\n"
        "heavy = {'torch', 'lightning', 'mne', 'transformers', 'pandas', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for arguments in (["--help"], ["--cfg", "job", "--resolve"]):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_help_lists_every_card_with_its_line() -> None:
    text = run_cli("--help").stdout
    for group in ("task", "model", "protocol", "dataset"):
        for name, line in cards(group).items():
            assert f"  {name}" in text
            assert line in text
            assert line, f"conf/{group}/{name}.yaml has no first comment line"


def test_hash_is_of_content_not_spelling() -> None:
    def name(*overrides: str) -> str:
        return compose_config(overrides).run_name

    reference = name("model.optimizer.lr=0.003", "seed=1")
    assert name("seed=01", "model.optimizer.lr=3e-3") == reference
    assert name("model.optimizer.lr=0.003", "seed=1", "trainer.num_workers=2", "paths.cache=/elsewhere") == reference
    assert name("model.optimizer.lr=0.004", "seed=1") != reference
    assert name("model.optimizer.lr=0.003", "seed=1", "split_seed=5") != reference


def test_hash_of_the_saved_config_is_the_same(tmp_path: Path) -> None:
    cfg = compose_config(["seed=3"])
    file = tmp_path / "config.yaml"
    file.write_text(OmegaConf.to_yaml(cfg, resolve=True))
    saved = OmegaConf.merge(OmegaConf.structured(config.Config), OmegaConf.load(file))
    assert config.config_hash(saved) == cfg.run_name.rpartition("-")[2]


def test_paths_stay_out_of_the_identity() -> None:
    text = str(config.identity(compose_config(["paths.data=/x1", "paths.cache=/x2", "paths.output_dir=/x3"])))
    assert not any(path in text for path in ("/x1", "/x2", "/x3"))


def test_own_data_enter_the_hash_by_content(tmp_path: Path) -> None:
    (tmp_path / "participants.tsv").write_text("participant_id\nsub-1\n")
    overrides = ["dataset=bids_ieeg", f"paths.data={tmp_path}"]
    before = compose_config(overrides).run_name
    (tmp_path / "participants.tsv").write_text("participant_id\nsub-1\nsub-2\n")
    assert compose_config(overrides).run_name != before


@pytest.mark.parametrize("path", ["a b (1),c", "seed=0-ab", "~/x", "it's", "[x]{y}", "a#b", "ünï"])
def test_awkward_paths_survive_hydras_grammar(path: str) -> None:
    assert compose_config([f"paths.output_dir={path}"]).paths.output_dir == path


def test_the_unit_that_an_error_asks_for_can_be_given() -> None:
    assert compose_config(["dataset.unit=µV"]).dataset.unit == "µV"


@pytest.mark.parametrize("group", ["dataset", "task", "model", "protocol", "adaptation", "trainer", "logger"])
def test_every_card_composes(group: str) -> None:
    for name in cards(group):
        of_events = (card_root() / "conf" / "event_scoring" / f"region_{name}.yaml").is_file()
        compose_config([f"{group}={name}", "paths.data=.", *(["task=events"] if of_events else [])])


@pytest.mark.parametrize("name", sorted(experiments()))
def test_every_experiment_composes(name: str) -> None:
    assert compose_config([f"+experiment={name}"]).experiment == name


def test_event_models_refuse_windows_of_other_tasks() -> None:
    with pytest.raises(BenchError, match="model=pyhfo_omni reads 2 s around an event, task=ictal has windows of 10 s"):
        compose_config(["task=ictal", "model=pyhfo_omni"])


def test_regions_by_events_start_from_the_one_finished_run(tmp_path: Path) -> None:
    overrides = ["task=region", "model=pyhfo_omni", f"paths.output_dir={tmp_path}"]
    with pytest.raises(BenchError, match=r"no finished runs of seed 0 below .*events/pyhfo_omni/official_split"):
        compose_config(overrides)
    runs = [
        tmp_path / f"demo_ieeg/events/pyhfo_omni/official_split/from_scratch/{name}"
        for name in ("seed-0-a", "seed-0-b")
    ]
    for run, status in zip(runs, ("completed", "failed"), strict=True):
        (run / "checkpoints").mkdir(parents=True)
        (run / "checkpoints" / "best.ckpt").write_bytes(b"weights")
        (run / "result.json").write_text(f'{{"status": "{status}"}}')
    cfg = compose_config(overrides)
    assert (cfg.checkpoint, cfg.task.window_s, cfg.task.evaluate.score) == (str(runs[0]), 2.0, "rate")
    assert list(cfg.task.classes) == ["normal", "pathological"]
    assert list(cfg.task.outputs) == ["artifact", "non_spkHFO", "spkHFO"]
    (runs[1] / "result.json").write_text('{"status": "completed"}')
    with pytest.raises(BenchError, match="2 finished runs"):
        compose_config(overrides)
    assert compose_config([*overrides, f"checkpoint={runs[1]}"]).checkpoint == str(runs[1])


@pytest.mark.parametrize("name", ["handcrafted_logreg", "handcrafted_gbm"])
def test_yardsticks_choose_their_adaptation(name: str) -> None:
    assert compose_config([f"model={name}"]).adaptation.name == "classical"
    assert compose_config().adaptation.name == "from_scratch"


def test_cards_lie_beside_the_package() -> None:
    assert (card_root() / "conf" / "config.yaml").is_file()
