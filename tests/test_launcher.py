"""Which runs of a sweep train together."""

import json
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from hydra_plugins import omni_bench_launcher
from omni_bench import api

PROBE = ("task=demo_hands", "model=eegnet", "adaptation=linear_probe")


def composed(folder: Path, *overrides: str) -> DictConfig:
    cfg = api.compose_config([*PROBE, f"paths.output_dir={folder}", *overrides])
    hydra = {"sweep": {"subdir": cfg.run_name}}
    return OmegaConf.create({**OmegaConf.to_container(cfg, resolve=True), "hydra": hydra})


def test_probes_of_one_model_form_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [
        composed(tmp_path, "seed=0"),
        composed(tmp_path, "seed=0", "adaptation=zero_shot"),
        composed(tmp_path, "seed=1", "protocol=few_shot"),
        composed(tmp_path, "seed=0", "model=eegconformer"),
        composed(tmp_path, "seed=2", "trainer.precision=bf16-mixed"),
        composed(tmp_path, "seed=2", "callbacks.early_stopping=3"),
        composed(tmp_path, "seed=3"),
        composed(tmp_path, "seed=4", "trainer.devices=2"),
    ]
    groups = [list(group) for group in omni_bench_launcher._groups(dict(enumerate(jobs)))]
    assert groups == [[0, 2, 6], [1], [3], [4], [5], [7]]
    monkeypatch.setattr(omni_bench_launcher, "MOST", 2)
    assert [list(group) for group in omni_bench_launcher._groups(dict(enumerate(jobs)))][:2] == [[0, 2], [6]]
    finished = tmp_path / jobs[2].run_name
    finished.mkdir(parents=True)
    (finished / "result.json").write_text(json.dumps({"status": "completed"}))
    assert [0, 6] in [list(group) for group in omni_bench_launcher._groups(dict(enumerate(jobs)))]
