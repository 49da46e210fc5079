"""Whether a model has met a benchmark dataset in pretraining."""

from collections.abc import Mapping
from typing import Any

WITHIN_TUEG = ("tuab", "tuev", "tuep", "tusl")
"""Datasets whose recordings are part of the TUH EEG Corpus."""


def pretraining_overlap(facts: Mapping[str, Any], dataset: str) -> bool | None:
    """Whether a dataset is one of the corpora that a model card's facts name.

    Parameters
    ----------
    facts
        Of a model card; ``pretraining`` lists corpora, those of the benchmark by the names of their cards.
    dataset
        Name of a dataset card.

    Returns
    -------
    None where the dataset is not among the corpora and these are known in part only (``others``) or not at all.
    """
    met = {_letters(name) for name in facts.get("pretraining") or ["others"]}
    if _letters(dataset) in met or (dataset in WITHIN_TUEG and "tueg" in met):
        return True
    return None if "others" in met else False


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
