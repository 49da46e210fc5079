"""Adapters of braindecode's foundation models: official weights by their official names, input, refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from golden_eeg import Golden, assert_gradients

from omni_bench.errors import BenchError
from omni_bench.models.braindecode_nets import BENDR_CHANNELS, BIPOLAR, Bendr, Biot, CBraMod, Labram
from omni_bench.models.electrodes import standard_positions
from omni_bench.models.foundation import FoundationModel
from omni_bench.models.reve import Reve
from omni_bench.models.weights import load_starting_weights
from tests.weights import formula_weight

NOT_DRAWN = ("biot.index", "biot.positional_encoding.pe")
"""Entries of official files that no formula gives."""
NO_COUNTERPART = {
    "labram": {"head.weight", "head.bias"},
    "biot": {"classifier.clshead.1.weight", "classifier.clshead.1.bias"},
    "cbramod": set(),
    "bendr": {
        "classifier.1.weight",
        "classifier.1.bias",
        "contextualizer.mask_replacement",
        "contextualizer.norm.weight",
        "contextualizer.norm.bias",
    },
    "reve": set(),
}


def with_official_weights(net: FoundationModel, stored: Golden, folder: Path, prefix: str = "") -> FoundationModel:
    """Fill by the formula through a file under the official names, as a user would."""
    state = {
        prefix + name: torch.from_numpy(formula_weight(name, shape))
        for name, shape in stored.spec["state_dict"]
        if name not in NOT_DRAWN
    }
    file = folder / "official.pth"
    torch.save({"model": state}, file)
    model = type(net).__name__.lower()
    report = load_starting_weights(net, {"name": model, "weights": str(file), "min_matched": 0.9})
    assert {name for name in report["missing"] if not name.endswith(".pe")} == {"head.bias", "head.weight"}
    assert report["mismatched"] == []
    ends = {name.rpartition("backbone.")[2].removeprefix("encoder.c") for name in report["unexpected"]}
    assert len(ends) == len(NO_COUNTERPART[model])
    return net.eval()


@pytest.mark.parametrize("case", ["backbone_6ch_3patches", "wrapper_19ch_800", "wrapper_unknown_channel_400"])
@torch.no_grad()
def test_labram(golden: Path, tmp_path: Path, case: str) -> None:
    stored = Golden(golden / "eeg" / "labram")
    x = stored.input(case)
    if x.ndim == 4:
        x = 100 * x.flatten(2)
    net = Labram(x.shape[1], 2, x.shape[2], 200, stored.cases[case]["channels"], compat="reference")
    with_official_weights(net, stored, tmp_path, prefix="student.")
    stored.assert_close(case, "feature", net.embed(x), 1e-5)
    stored.assert_close(case, "feature_f64", net.double().embed(x.double()), 1e-6)


@torch.no_grad()
def test_labram_normalises_the_mean_by_default(golden: Path, tmp_path: Path) -> None:
    stored = Golden(golden / "eeg" / "labram")
    x = 20 * torch.randn(2, 3, 400, generator=torch.Generator().manual_seed(0))
    names = ["C3", "Cz", "O1"]
    ours, theirs = (
        with_official_weights(Labram(3, 1, 400, 200, names, compat=c), stored, tmp_path) for c in (None, "reference")
    )
    backbone = ours.backbone
    ids = torch.tensor([0, 40, 42, 81])  # rows of the official table: 1 + place in its list of names
    assert torch.equal(ours.input_chans, ids)
    backbone.fc_norm = torch.nn.Identity()
    mean = backbone.forward_features(x / 100, ids, return_patch_tokens=True).mean(1)
    norm = theirs.backbone.fc_norm
    backbone.fc_norm = norm
    torch.testing.assert_close(ours.embed(x), norm(mean))
    assert (ours.embed(x) - theirs.embed(x)).abs().max() > 0.01


def test_labram_stretches_the_table_of_times() -> None:
    table = torch.arange(16.0)[None, :, None].expand(1, 16, 200)
    for seconds in (3, 16, 31):
        net = Labram(2, 1, 200 * seconds, 200, ["C3", "Cz"])
        own = net.own_names({"time_embed": table})["backbone.temporal_embedding"]
        assert own.shape == net.backbone.temporal_embedding.shape
        expected = np.arange(seconds) if seconds <= 16 else np.clip(np.arange(31) * 16 / 31 - 0.5 + 8 / 31, 0, 15)
        np.testing.assert_allclose(own[0, :seconds, 7], expected, atol=1e-5)


@pytest.mark.parametrize("case", ["wrapper_21ch_1000", "wrapper_missing_len730"])
@torch.no_grad()
def test_biot(golden: Path, tmp_path: Path, case: str) -> None:
    stored = Golden(golden / "eeg" / "biot")
    x = stored.input(case)
    net = Biot(x.shape[1], 2, x.shape[2], 200, stored.cases[case]["channels"])
    stored.assert_close(case, "feature", with_official_weights(net, stored, tmp_path).embed(x), 1e-5)


@torch.no_grad()
def test_biot_backbone(golden: Path, tmp_path: Path) -> None:
    stored, case = Golden(golden / "eeg" / "biot"), "backbone_4ch_730"
    net = with_official_weights(Biot(18, 2, 730, 200, BIPOLAR), stored, tmp_path)
    stored.assert_close(case, "feature", net.pool(stored.input(case)), 1e-5)


def test_biot_derives_pairs() -> None:
    x = torch.randn(1, 3, 400, generator=torch.Generator().manual_seed(0))
    net = Biot(3, 1, 400, 200, ["EEG T3-REF", "F7", "Oz"])
    prepared = net.prepare(x)
    pair = x[0, 1] - x[0, 0]
    torch.testing.assert_close(prepared[0, BIPOLAR.index("F7-T7")], pair / (pair.abs().quantile(0.95) + 1e-6))
    assert (prepared[0, BIPOLAR.index("C3-A2")] == 0).all()


@pytest.mark.parametrize("case", ["backbone_5ch_4patches", "wrapper_6ch_250Hz_500", "wrapper_unknown_400"])
@torch.no_grad()
def test_cbramod(golden: Path, tmp_path: Path, case: str) -> None:
    stored = Golden(golden / "eeg" / "cbramod")
    x, facts = stored.input(case), stored.cases[case]
    compat = "reference" if "channels" in facts else None
    if x.ndim == 4:
        x = 100 * x.flatten(2)
    net = CBraMod(x.shape[1], 2, x.shape[2], facts["sfreq"], facts.get("channels"), compat=compat)
    embedding = with_official_weights(net, stored, tmp_path).embed(x)
    if compat:
        stored.assert_close(case, "feature", embedding, 1e-5)
    else:
        stored.assert_close(case, "tokens", embedding.unflatten(1, (5, 4, 200)), 1e-5)
        mean = CBraMod(5, 2, 800, 200, pooling="mean")
        mean.load_state_dict({k: v for k, v in net.state_dict().items() if "head" not in k}, strict=False)
        torch.testing.assert_close(mean.eval().embed(x), embedding.unflatten(1, (20, 200)).mean(1))


@pytest.mark.slow
@torch.no_grad()
def test_bendr_without_the_final_norm(golden: Path, tmp_path: Path) -> None:
    stored, case = Golden(golden / "eeg" / "bendr"), "backbone_20ch_1000"
    net = with_official_weights(Bendr(19, 2, 1000, 256, BENDR_CHANNELS), stored, tmp_path)
    stored.assert_close(case, "feature_f64", net.double().pool(stored.input(case).double()), 1e-6)


def test_bendr_scales_channels_together() -> None:
    x = torch.tensor([[[1.0, 2, 3], [5, 0, 4], [9, 9, 9]]]).repeat(1, 1, 40)
    prepared = Bendr(3, 1, 120, 256, ["T3", "O2", "ECG"]).prepare(x)
    places = [BENDR_CHANNELS.index("T7"), BENDR_CHANNELS.index("O2")]
    torch.testing.assert_close(prepared[0, places, :3], torch.tensor([[-0.6, -0.2, 0.2], [1, -1, 0.6]]))
    assert (prepared[0, 19] == 1).all()
    assert (prepared[0, [i for i in range(19) if i not in places]] == 0).all()


@pytest.mark.parametrize("case", ["backbone_4ch_740", "backbone_9ch_500"])
@torch.no_grad()
def test_reve(golden: Path, tmp_path: Path, case: str) -> None:
    stored = Golden(golden / "eeg" / "reve")
    x = stored.input(case)
    net = with_official_weights(Reve(x.shape[1], 2, x.shape[2], 200, BENDR_CHANNELS[: x.shape[1]]), stored, tmp_path)
    net.positions = torch.from_numpy(stored.arrays[f"{case}/pos"][0])
    stored.assert_close(case, "feature", net.pool(x), 1e-5)


def test_reve_takes_template_positions_or_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = Reve(3, 1, 400, 200, ["EEG C3-REF", "nowhere", "Oz"])
    assert net.kept == [0, 2]
    expected = np.stack([standard_positions()[name] for name in ("C3", "OZ")])
    np.testing.assert_allclose(net.positions, expected, rtol=1e-6)
    (tmp_path / "reve_positions.json").write_text(json.dumps({"Oz": [1, 2, 3]}))
    monkeypatch.setenv("REVE_POSITIONS_PATH", str(tmp_path))
    net = Reve(3, 1, 400, 200, ["EEG C3-REF", "nowhere", "Oz"])
    assert net.kept == [2]
    assert net.positions.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("network", [Labram, Biot, CBraMod])
def test_gradients(network: type[FoundationModel]) -> None:
    x = 20 * torch.randn(2, 19, 400, generator=torch.Generator().manual_seed(0))
    assert_gradients(network(19, 2, 400, 200, BENDR_CHANNELS), x)


@pytest.mark.slow
@pytest.mark.parametrize(("network", "sfreq"), [(Bendr, 256), (Reve, 200)])
def test_gradients_of_large_ones(network: type[FoundationModel], sfreq: int) -> None:
    x = 20 * torch.randn(2, 19, 400, generator=torch.Generator().manual_seed(0))
    assert_gradients(network(19, 2, 400, sfreq, BENDR_CHANNELS), x)


@pytest.mark.parametrize("network", [Labram, Biot, CBraMod])
def test_braindecodes_own_names_fit_too(network: type[FoundationModel], tmp_path: Path) -> None:
    first, second = (network(19, 2, 400, 200, BENDR_CHANNELS) for _ in range(2))
    file = tmp_path / "own.pth"
    torch.save(first.backbone.state_dict(), file)
    report = load_starting_weights(second, {"name": "x", "weights": str(file)})
    assert report["missing"] == ["head.bias", "head.weight"]
    for name, value in first.backbone.state_dict().items():
        assert torch.equal(second.backbone.state_dict()[name], value)


@pytest.mark.parametrize(
    ("network", "n_times", "sfreq", "names", "message"),
    [
        (Labram, 400, 256, ["C3"], "sfreq=256 Hz, the model takes 200 Hz"),
        (Labram, 410, 200, ["C3"], "multiples of 200"),
        (Labram, 400, 200, ["X"], "none of X"),
        (Labram, 400, 200, None, "ch_names is None"),
        (Biot, 100, 200, ["C3", "P3"], "200 to 20000 samples"),
        (Biot, 400, 200, ["C3", "O2"], "no pair"),
        (CBraMod, 410, 200, ["C3"], "multiples of 200"),
        (Bendr, 400, 200, ["C3"], "the model takes 256 Hz"),
        (Bendr, 50, 256, ["C3"], "at least 96 samples"),
        (Bendr, 400, 256, ["X"], "none of the channels"),
        (Reve, 100, 200, ["C3"], "at least one second"),
        (Reve, 400, 256, ["C3"], "the model takes 200 Hz"),
    ],
)
def test_refuses(
    network: type[FoundationModel], n_times: int, sfreq: float, names: list[str] | None, message: str
) -> None:
    with pytest.raises(BenchError, match=message):
        network(len(names or "2"), 2, n_times, sfreq, names)
