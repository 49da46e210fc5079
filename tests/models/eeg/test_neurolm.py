import pytest
import torch
from golden_eeg import Golden, assert_gradients, filled, listed, shapes

from omni_bench.errors import BenchError
from omni_bench.models.neurolm import VOCABULARY, NeuroLm, NeuroLmNetwork, PatchEmbed, stairs
from tests.weights import formula_weight

BACKBONE = "backbone_5ch_4s_3pad"
WRAPPERS = ["wrapper_full_gpt_10ch_1000", "wrapper_full_gpt_unknown_len730", "wrapper_tokenizer_probe_len730"]


@pytest.fixture(scope="module")
def stored(golden):
    return Golden(golden / "eeg" / "neurolm")


def wrapped(stored: Golden, case: str) -> NeuroLm:
    """The wrapper of a case; its weights are never touched, so they stay without memory."""
    settings = stored.cases[case]
    _, n_chans, n_times = settings["input"]["shape"]
    make = {"compat": "reference", "variant": settings["variant"]}
    return NeuroLm(n_chans, 2, n_times, settings["sfreq"], settings["channels"], **make)


@pytest.fixture
def no_weights(monkeypatch):
    """Builds the 255 M parameters without memory: what goes before the network is all that a test looks at."""

    def on_meta() -> NeuroLmNetwork:
        with torch.device("meta"):
            return NeuroLmNetwork()

    monkeypatch.setattr("omni_bench.models.neurolm.NeuroLmNetwork", on_meta)


def test_state_dict_is_the_official_one(stored):
    with torch.device("meta"):
        network = NeuroLmNetwork()
    assert shapes(network) == listed(stored.spec["state_dict"])
    assert sum(p.numel() for p in network.parameters()) == stored.spec["parameters"]


def test_vocabulary(stored):
    assert stored.spec["channel_vocabulary"] == VOCABULARY


@torch.no_grad()
def test_patch_embedding(stored):
    network = PatchEmbed().eval()
    for name, parameter in network.named_parameters():
        parameter.copy_(torch.from_numpy(formula_weight(f"tokenizer.patch_embed.{name}", parameter.shape)))
    x = stored.input(BACKBONE)
    stored.assert_close(BACKBONE, "patch_embedding", network(x), 1e-4)
    stored.assert_close(BACKBONE, "patch_embedding", network.double()(x.double()), 1e-5)


@pytest.mark.usefixtures("no_weights")
@pytest.mark.parametrize("case", WRAPPERS)
def test_reference_tokens(stored, case):
    model = wrapped(stored, case)
    stored.assert_close(case, "backbone_input", model.prepare(stored.input(case)), 1e-6)
    expected = stored.cases[case]
    assert model.channel_ids.tolist() == expected["channel_ids"]
    assert model.time_ids.tolist() == expected["time_ids"]
    assert model.valid.tolist() == [bool(valid) for valid in expected["valid_token"]]


@pytest.mark.usefixtures("no_weights")
def test_default_drops_unknown_channels_and_orders_tokens_by_second():
    x = torch.randn(1, 3, 400, generator=torch.Generator().manual_seed(0))
    model = NeuroLm(3, 2, 400, 200, ["EEG Cz-REF", "ECG", "Fp1"])
    assert model.channel_ids.tolist() == [41, 0, 41, 0]
    assert model.time_ids.tolist() == [0, 0, 1, 1]
    expected = torch.stack([x[0, 0, :200], x[0, 2, :200], x[0, 0, 200:], x[0, 2, 200:]]) / 100
    assert torch.equal(model.prepare(x)[0], expected)
    assert stairs(model.time_ids).tolist() == [[True, True, False, False]] * 2 + [[True] * 4] * 2


@pytest.mark.usefixtures("no_weights")
@pytest.mark.parametrize(
    ("n_times", "sfreq", "names", "options", "message"),
    [
        (400, 256, ["C3"], {}, "sfreq=256 Hz, the model takes 200 Hz"),
        (730, 200, ["C3"], {}, "n_times=730, the model takes multiples of 200 samples up to 12800"),
        (13000, 200, ["C3"], {}, "n_times=13000, the model takes multiples of 200 samples up to 12800"),
        (400, 200, ["X1", "X2"], {}, "none of X1, X2"),
        (400, 200, ["C3"], {"variant": "vq"}, "variant='vq', expected one of full_gpt, tokenizer_probe"),
    ],
)
def test_refuses(n_times, sfreq, names, options, message):
    with pytest.raises(BenchError, match=message):
        NeuroLm(len(names), 2, n_times, sfreq, names, **options)


@pytest.fixture(scope="module")
def network():
    return filled(NeuroLmNetwork())


@pytest.mark.slow
@torch.no_grad()
def test_backbone(stored, network):
    case = stored.cases[BACKBONE]
    x = stored.input(BACKBONE)
    channel_ids, time_ids = torch.tensor(case["channel_ids"]), torch.tensor(case["time_ids"])
    valid = torch.arange(x.shape[1]) < x.shape[1] - case["n_padding_tokens_at_end"]
    keys = valid.expand(len(valid), -1)
    second = torch.arange(len(valid)) // len(case["channels"])  # padding stands behind the last second
    masks = {"gpt_tokens_full_mask_f64": keys, "gpt_tokens_stair_mask_f64": keys & stairs(second)}
    for dtype, tolerance in [(torch.float32, 1e-4), (torch.float64, 1e-5)]:
        network.to(dtype)
        tokens = network.tokenizer(x.to(dtype), channel_ids, time_ids, keys)
        stored.assert_close(BACKBONE, "tokenizer_tokens_f64", tokens, tolerance)
        for array, mask in masks.items():
            stored.assert_close(BACKBONE, array, network(x.to(dtype), channel_ids, time_ids, keys, mask), tolerance)


@pytest.mark.slow
@pytest.mark.usefixtures("no_weights")
@pytest.mark.parametrize("case", WRAPPERS)
@torch.no_grad()
def test_reference_reproduces_the_benchmark_and_its_mask(stored, network, case):
    """`feature` is the same wiring with the mask the right way round."""
    model = wrapped(stored, case).eval()
    model.backbone = network.float()
    x = stored.input(case)
    stored.assert_close(case, "feature_benchmark_as_is", model.embed(x), 1e-4)
    keys = model.valid.expand(len(model.valid), -1)
    for dtype, tolerance in [(torch.float32, 1e-4), (torch.float64, 1e-5)]:
        network.to(dtype)
        patches, ids = model.prepare(x.to(dtype)), (model.channel_ids, model.time_ids)
        tokens = network.tokenize(patches, *ids, keys) if model.probe else network(patches, *ids, keys, keys)
        stored.assert_close(case, "feature_f64", tokens[:, model.valid].mean(1), tolerance)


@pytest.mark.slow
@pytest.mark.usefixtures("no_weights")
@torch.no_grad()
def test_default_is_the_stairs_without_unknown_channels(network):
    """Hand-made: the mean over GPT tokens of the known channels, each second blind to later ones."""
    x = 20 * torch.randn(1, 3, 400, generator=torch.Generator().manual_seed(0))
    model = NeuroLm(3, 2, 400, 200, ["C3", "ECG", "Fp1"]).eval()
    model.backbone = network.float()
    alone = NeuroLm(2, 2, 400, 200, ["C3", "Fp1"]).eval()
    alone.backbone = network
    torch.testing.assert_close(model.embed(x), alone.embed(x[:, [0, 2]]))
    ids, times = torch.tensor([39, 0, 39, 0]), torch.tensor([0, 0, 1, 1])
    patches = model.prepare(x)
    into_gpt = network.tokenize(patches, ids, times)
    gpt = network.GPT2["transformer"]
    first = gpt(into_gpt[:, :2], times[:2], None)
    both = gpt(into_gpt, times, torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [1] * 4, [1] * 4], dtype=torch.bool))
    torch.testing.assert_close(both[:, :2], first, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.embed(x), both.mean(1), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("compat", [None, "reference"])
def test_gradients(compat):
    x = 20 * torch.randn(1, 2, 400, generator=torch.Generator().manual_seed(0))
    assert_gradients(NeuroLm(2, 2, 400, 200, ["C3", "Fp1"], compat=compat), x)
