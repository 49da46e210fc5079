"""Which datasets a model has met, against the empty cells of OmniEEG-Bench's Table 5."""

import pytest
import yaml

from omni_bench.locate import card_root
from omni_bench.results.overlap import pretraining_overlap
from omni_bench.results.published import published_scores

CARDS = {"NeuroGPT": "neurogpt", "HFO": "scalp_hfo", "HBN EEG": "hbn", "PEARL-Neuro": "pearl"}
"""Names that are not their card's but for case and dashes."""
ONLY_OURS = {
    ("biot", "tuab"),  # training parts in the six-dataset checkpoint
    ("biot", "tuev"),
    ("labram", "bcic_iv_1"),  # the paper empties BCIC-IV-2a instead
    ("neurolm", "bcic_iv_1"),
    ("labram", "physionet_mi"),  # Motor Movement/Imagery of its own Table 3
    ("neurolm", "physionet_mi"),
}
ONLY_PUBLISHED = {
    ("labram", "bcic_iv_2a"),
    ("neurolm", "bcic_iv_2a"),
    ("neurolm", "modma"),  # in no table
    ("eegmamba", "physionet_mi"),  # its corpus is PhysioNet 2018, of sleep
}


def facts_of(model: str) -> dict[str, object]:
    return yaml.safe_load((card_root() / "conf" / "model" / f"{model}.yaml").read_text())["facts"]


def card(name: str) -> str:
    return CARDS.get(name, name.lower().replace("-", "_").replace(" eeg", "").replace("musiceeg", "music_eeg"))


def test_cards_against_the_published_mask() -> None:
    scores, _ = published_scores(5)
    empty = {(card(m), card(d)) for d, row in scores.isna().iterrows() for m, is_empty in row.items() if is_empty}
    datasets = {file.stem for file in (card_root() / "conf" / "dataset").glob("*.yaml")}
    assert {dataset for _, dataset in empty} <= datasets
    ours = {(card(m), d) for m in scores for d in datasets if pretraining_overlap(facts_of(card(m)), d)}
    assert ours - empty == ONLY_OURS
    assert empty - ours == ONLY_PUBLISHED


@pytest.mark.parametrize(
    ("pretraining", "dataset", "expected"),
    [
        (["TUEG"], "tuab", True),
        (["TUEG"], "siena", False),
        (["BCIC-IV-1"], "bcic_iv_1", True),
        (["TUEG", "others"], "siena", None),
        (None, "siena", None),
    ],
)
def test_what_is_unknown_is_no_answer(pretraining: list[str] | None, dataset: str, expected: bool | None) -> None:
    assert pretraining_overlap({"pretraining": pretraining}, dataset) is expected
