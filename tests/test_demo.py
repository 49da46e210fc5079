"""What the demo run promises: the effect is found, and nothing is found where there is none."""

from pathlib import Path

import numpy as np
import pytest
import torch

from omni_bench import api
from omni_bench.models import build


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("demo_run")
    return [f"paths.cache={folder}/cache", f"paths.output_dir={folder}/outputs", "trainer.progress=false"]


@pytest.mark.slow
def test_demo_finds_the_effect(places: list[str]) -> None:
    metrics = api.run(places)["metrics"]
    assert metrics["auc"]["ci_low"] > 0.6
    assert metrics["baseline_auc"]["value"] < metrics["auc"]["ci_low"]
    assert metrics["outcome_auc"]["value"] > 0.6


@pytest.mark.slow
def test_shuffled_labels_teach_nothing(places: list[str]) -> None:
    # on 76 test channels the AUC of one deal has a standard deviation of 0.07
    label = "task.samples.label._target_=tests.protocols.shuffled_region_label"
    deals = [api.run([*places, label, f"+task.samples.label.deal={deal}"]) for deal in range(3)]
    assert 0.35 < np.mean([result["metrics"]["auc"]["value"] for result in deals]) < 0.65


@pytest.mark.slow
def test_untrained_network_knows_nothing(places: list[str], tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = build("timeconv_cnn", n_chans=1, n_outputs=1, n_times=10_000, sfreq=1000.0)
    checkpoint = tmp_path / "untrained.ckpt"
    torch.save({"state_dict": {f"net.{name}": value for name, value in net.state_dict().items()}}, checkpoint)
    assert 0.35 < api.run([*places, f"checkpoint={checkpoint}"])["metrics"]["auc"]["value"] < 0.65
