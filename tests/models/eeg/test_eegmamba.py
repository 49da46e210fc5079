import pytest
import torch
from golden_eeg import Golden, assert_gradients, filled, listed, shapes

from omni_bench.errors import BenchError
from omni_bench.models.eegmamba import CHANNELS, EegMamba, EegMambaNetwork

BACKBONE = "backbone_4ch_5patches"


@pytest.fixture(scope="module")
def stored(golden):
    return Golden(golden / "eeg" / "eegmamba")


@pytest.fixture(scope="module")
def network():
    return filled(EegMambaNetwork())


def test_state_dict_is_the_official_one(stored, network):
    assert shapes(network) == listed(stored.spec["state_dict"])
    assert sum(p.numel() for p in network.parameters()) == stored.spec["parameters"]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-3), (torch.float64, 1e-5)])
@torch.no_grad()
def test_backbone(stored, network, dtype, tolerance):
    network.to(dtype)
    x = stored.input(BACKBONE).to(dtype)
    tokens = network(x)
    stored.assert_close(BACKBONE, "patch_embedding", network.patch_embedding(x), 1e-5)
    stored.assert_close(BACKBONE, "tokens_f64", tokens, tolerance)
    stored.assert_close(BACKBONE, "feature_f64", tokens.mean((1, 2)), tolerance)


@pytest.mark.parametrize("case", ["wrapper_19ch_1000", "wrapper_missing_Fz_len1234"])
@torch.no_grad()
def test_reference_reproduces_the_benchmark(stored, case):
    x = stored.input(case)
    model = EegMamba(x.shape[1], 2, x.shape[2], 200, stored.cases[case]["channels"], compat="reference")
    filled(model.backbone)
    stored.assert_close(case, "backbone_input", model.prepare(x), 1e-6)
    stored.assert_close(case, "feature_f64", model.embed(x), 1e-4)
    model.double()
    stored.assert_close(case, "tokens_f64", model.backbone(model.prepare(x.double())), 1e-5)
    stored.assert_close(case, "feature_f64", model.embed(x.double()), 1e-5)


def test_reference_crops_long_trials_in_the_middle():
    x = torch.arange(6101.0).expand(1, 19, -1)
    prepared = EegMamba(19, 2, 6101, 200, compat="reference").prepare(x)
    assert prepared[0, 0, 0, 0] == 50
    assert prepared[0, 18, -1, -1] == 6049


def test_default_divides_by_100_and_puts_channels_in_their_places():
    x = torch.randn(2, 4, 600, generator=torch.Generator().manual_seed(0))
    prepared = EegMamba(4, 2, 600, 200, ["EEG O2-REF", "T7", "ECG", "T3"]).prepare(x)
    assert prepared.shape == (2, 19, 3, 200)
    assert torch.equal(prepared[:, CHANNELS.index("O2")].flatten(1), x[:, 0] / 100)
    assert torch.equal(prepared[:, CHANNELS.index("T3")].flatten(1), x[:, 1] / 100)  # the first of two at one place
    absent = [i for i, name in enumerate(CHANNELS) if name not in ("O2", "T3")]
    assert (prepared[:, absent] == 0).all()


@torch.no_grad()
def test_absent_channels_have_no_part_in_the_mean():
    x = 50 * torch.randn(1, 2, 400, generator=torch.Generator().manual_seed(0))
    model = EegMamba(2, 2, 400, 200, ["C3", "Fp1"])
    tokens = model.backbone.eval()(model.prepare(x))
    expected = (tokens[:, CHANNELS.index("FP1")] + tokens[:, CHANNELS.index("C3")]).mean(1) / 2
    torch.testing.assert_close(model.embed(x), expected)


def test_gradients():
    x = 50 * torch.randn(2, 19, 400, generator=torch.Generator().manual_seed(0))
    assert_gradients(EegMamba(19, 2, 400, 200), x)


@pytest.mark.parametrize(
    ("n_times", "sfreq", "names", "message"),
    [
        (400, 256, ["C3"], "sfreq=256 Hz, the model takes 200 Hz"),
        (1234, 200, ["C3"], "n_times=1234, the model takes multiples of 200 samples"),
        (100, 200, ["C3"], "n_times=100, the model takes multiples of 200 samples"),
        (400, 200, ["X1", "X2"], "none of X1, X2"),
        (400, 200, None, "ch_names is None"),
    ],
)
def test_refuses(n_times, sfreq, names, message):
    with pytest.raises(BenchError, match=message):
        EegMamba(len(names or "21"), 2, n_times, sfreq, names)
