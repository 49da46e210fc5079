"""Who is trained on and who is tested in a run."""

import logging
import warnings
from pathlib import Path

import pandas as pd
from hydra.utils import instantiate
from omegaconf import DictConfig

from omni_bench.data.splits import NotServed, SplitNote, absent_classes, check_leaks
from omni_bench.errors import BenchError
from omni_bench.results.record import Record

log = logging.getLogger(__name__)
NAMES = {"person": "patients", "unit_id": "units"}


def split_of(cfg: DictConfig, units: pd.DataFrame, patients: pd.DataFrame, record: Record | None = None) -> pd.Series:
    """Split of every unit, checked for leaks. With ``checkpoint`` nobody is trained on, so all are test.

    Where the protocol has no meaning for the data its card's fallback splits them. That, what the protocol bent, and
    classes that validation or test lack become warnings of ``record``.

    Raises
    ------
    BenchError
        The data cannot be split so, or the checkpoint was trained on a person of this run's test split.
    """
    protocol, group = cfg.protocol, cfg.protocol.group
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SplitNote)
        try:
            split = instantiate(protocol.split)(units, patients, seed=cfg.split_seed)
        except NotServed as error:
            if protocol.fallback is None:
                raise
            group, fallback = "unit_id", protocol.fallback["_target_"].rpartition(".")[2]
            warnings.warn(f"{error}: split by {fallback} instead", SplitNote, stacklevel=1)
            split = instantiate(protocol.fallback)(units, patients, seed=cfg.split_seed)
    split = split if cfg.checkpoint is None else _split_for_checkpoint(cfg, units, split, group)
    parts = units.assign(split=split)
    check_leaks(parts, group)
    if record:
        record.note(fallback=None if group == protocol.group else fallback)
        for line in [str(w.message) for w in caught if issubclass(w.category, SplitNote)]:
            record.warn(line)
        for line in absent_classes(parts, cfg.task.classes):
            record.warn(line)
    return split


def _split_for_checkpoint(cfg: DictConfig, units: pd.DataFrame, split: pd.Series, group: str) -> pd.Series:
    trained = Path(cfg.checkpoint).expanduser() / "split.parquet"
    if not trained.is_file():
        log.warning("checkpoint=%s: no split.parquet beside it, so who it was trained on is unknown", cfg.checkpoint)
        return split.mask(split == "train", "test")
    known = pd.read_parquet(trained)
    # a unit in no part (NA) tells nothing of its person
    seen = set(known.loc[known["split"].isin(["train", "val"]), group])
    if (split == "train").any():
        split = split.mask(split == "train", "val")
    if not (split == "test").any():
        raise BenchError(f"dataset={cfg.dataset.name}: no test patients for checkpoint={cfg.checkpoint}")
    overlap = sorted(set(units.loc[split == "test", group]) & seen)
    if overlap:
        raise BenchError(
            f"checkpoint={cfg.checkpoint} was trained on {overlap[0]} ({len(overlap)} of the test {NAMES[group]}): not evaluated"
        )
    return split
