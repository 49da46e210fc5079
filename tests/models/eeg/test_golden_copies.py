"""The figures kept here are those of the full golden vectors."""

import json

import numpy as np
import pytest
from golden_eeg import Golden, listed


@pytest.mark.parametrize(
    "model",
    [
        "femba",
        "eegmamba",
        "neurogpt",
        "neurolm",
        "brainomni",
        "labram",
        "biot",
        "cbramod",
        "bendr",
        "reve",
    ],
)
def test_compact_copy_equals_full_vectors(golden, shared, model):
    ours = Golden(golden / "eeg" / model)
    folder = shared / "golden" / "eeg" / model
    spec = json.loads((folder / "spec.json").read_text())
    assert listed(ours.spec["state_dict"]) == {name: tuple(shape) for name, shape, _ in spec["state_dict"]}
    steps = {f"{c['id']}/{a}": info.get("row_step", 1) for c in spec["cases"] for a, info in c["arrays"].items()}
    compared = 0
    with np.load(folder / "vectors.npz") as full:
        for key, kept in ours.arrays.items():
            if key.endswith("__at"):
                continue
            name = key.removesuffix("__rows")
            whole = full[name] if name in full else full[key]
            if key.endswith("__rows"):
                at = ours.arrays[f"{name}__at"] // (1 if name in full else steps[name])
                whole = whole.reshape(-1, kept.shape[-1])[at]
            np.testing.assert_array_equal(kept, whole, err_msg=key)
            compared += 1
    assert compared >= len(ours.cases)
