"""Finished runs that were never trained: a network as it starts, saved as a run saves it, and recordings to predict."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from omni_bench import api
from omni_bench.cli import overrides_from, prepare_hydra
from omni_bench.locate import card_root
from omni_bench.results.record import Record
from omni_bench.steps import identity_of, network_of
from tests.data.edf import Signal, random_digits, write_edf

SFREQ = 1000.0
CHANNEL_RUN = ("task=region", "model=eegnet_1ch", "task.window_s=4")
EVENT_RUN = ("task=events", "model=lstm_attention", "model.net.hidden_size=8")
SCALP_RUN = ("task=demo_hands", "model=eegnet", "adaptation=from_scratch")


def write_run(
    folder: Path, *overrides: str, sfreq: float = SFREQ, ch_names: Sequence[str] | None = None, cut: float | None = None
) -> Path:
    """A run's directory as the pipeline leaves it, as far as predicting goes; ``cut`` is its threshold."""
    cfg = api.compose_config([*overrides, f"paths.cache={folder}/cache", f"paths.output_dir={folder}/outputs"])
    n_times = round(cfg.task.window_s * sfreq)
    net, weights = network_of(cfg, len(ch_names or ["one"]), n_times, sfreq, ch_names)
    run = folder / "outputs" / cfg.run_name
    (run / "checkpoints").mkdir(parents=True)
    state = {f"net.{name}": value for name, value in net.state_dict().items()}
    torch.save({"state_dict": state}, run / "checkpoints" / "best.ckpt")
    (run / "config.yaml").write_text(OmegaConf.to_yaml(cfg, resolve=True))
    record = Record(run, **identity_of(cfg))
    counts = {"train": {"patients": 3, "recordings": 4, "units": 50, "per_class": {}}}
    window = {"n_times": n_times, "sfreq": sfreq, "ch_names": list(ch_names) if ch_names else None}
    record.note(weights=weights, counts=counts, window=window, parameters=1234)
    metric = {"value": 0.75, "ci_low": 0.5, "ci_high": 0.875, "ci_unit": "person", "n": 42}
    threshold = None if cut is None else {"rule": "youden_val", "value": cut}
    record.finish("completed", metrics={"auc": metric}, threshold=threshold)
    return run


def settings(run: Path | str, recording: Path, to: Path, *overrides: str) -> DictConfig:
    """What `omni_bench.predict` is given."""
    prepare_hydra()
    given = [f"checkpoint={run}", f"recording={recording}", f"to={to}", f"paths.cache={to}/cache", "n_boot=100"]
    with initialize_config_dir(str(card_root() / "conf"), version_base="1.3"):
        return compose("predict", overrides_from([*given, "trainer.progress=false", *overrides]))


def write_recording(
    path: Path,
    ch_names: Sequence[str],
    seconds: int = 14,
    sfreq: float = SFREQ,
    flat: Sequence[str] = (),
    bursts: Mapping[str, Sequence[float]] | None = None,
    **options: Any,
) -> Path:
    """An EDF file of noise.

    Parameters
    ----------
    flat
        Channels that are constant.
    bursts
        Channel → middles (s) of oscillations of 150 Hz and 100 ms that stand far out of the noise.
    **options
        Of `write_edf`.
    """
    n_times = round(seconds * sfreq)
    digits = {name: random_digits(n_times, i, top=100) for i, name in enumerate(ch_names)}
    digits |= {name: np.zeros(n_times, int) for name in flat}
    length = round(0.1 * sfreq)
    wave = 1500 * np.hanning(length) * np.sin(2 * np.pi * 150 / sfreq * np.arange(length))
    for name, middles in (bursts or {}).items():
        for middle in middles:
            start = round(middle * sfreq) - length // 2
            digits[name][start : start + length] += np.rint(wave).astype(int)
    return write_edf(path, [Signal(name, digits[name], sfreq) for name in ch_names], **options)
