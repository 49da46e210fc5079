import pytest
import torch
from golden_eeg import Golden, assert_gradients, filled, listed, shapes

from omni_bench.errors import BenchError
from omni_bench.models.neurogpt import CHANNELS, NeuroGpt, NeuroGptNetwork

CASES = ["backbone_2x4chunks", "wrapper_20ch_200Hz_800", "wrapper_14ch_unknown_128Hz_700"]


@pytest.fixture(scope="module")
def stored(golden):
    return Golden(golden / "eeg" / "neurogpt")


@pytest.fixture(scope="module")
def official():
    return filled(NeuroGptNetwork())


@pytest.fixture(scope="module")
def benchmark(official):
    network = NeuroGptNetwork(benchmark=True).eval()
    network.load_state_dict(official.float().state_dict())
    return network


def as_wrapped(stored: Golden, case: str) -> tuple[NeuroGpt | None, torch.Tensor]:
    """The wrapper of a case, if it has one, and the chunks that enter the network."""
    x = stored.input(case)
    if stored.cases[case]["kind"] == "backbone":
        return None, x
    settings = stored.cases[case]
    model = NeuroGpt(x.shape[1], 2, x.shape[2], settings["sfreq"], settings["channels"], compat="reference").eval()
    return model, model.prepare(x)


def test_state_dict_is_the_official_one(stored, official):
    assert shapes(official) == listed(stored.spec["state_dict"])
    assert sum(p.numel() for p in official.parameters()) == stored.spec["parameters"]


@pytest.mark.parametrize("case", CASES)
@torch.no_grad()
def test_official_network(stored, official, case):
    _, chunks = as_wrapped(stored, case)
    stored.assert_close(case, "official_pooled_f64", official.float()(chunks), 1e-4)
    official.double()
    stored.assert_close(case, "official_pooled_f64", official(chunks.double()), 1e-5)
    if case == "backbone_2x4chunks":
        stored.assert_close(case, "encoder_tokens_f64", official.encoder(chunks.flatten(0, 1).double()), 1e-5)
        stored.assert_close(case, "official_decoder_tokens_f64", official.decode(chunks.double()), 1e-5)


@pytest.mark.parametrize("case", CASES)
@torch.no_grad()
def test_reference_reproduces_the_benchmark(stored, benchmark, case):
    model, chunks = as_wrapped(stored, case)
    if model is not None:
        stored.assert_close(case, "spatial_matrix", model.matrix, 1e-6)
        stored.assert_close(case, "backbone_input", chunks, 1e-5)
        model.backbone = benchmark.float()
        stored.assert_close(case, "feature_f64", model.embed(stored.input(case)), 1e-4)
    stored.assert_close(case, "feature_f64", benchmark.double()(chunks.double()), 1e-5)


@torch.no_grad()
def test_benchmark_with_its_transposition_mended(stored, benchmark):
    """The one matrix that it reads the wrong way round is the whole difference between the stored features."""
    case = "backbone_2x4chunks"
    mended = NeuroGptNetwork(benchmark=True).eval()
    mended.load_state_dict(benchmark.state_dict())
    for block in mended.decoder.transformer.h:
        block.attn.c_proj.weight.copy_(block.attn.c_proj.weight.T.clone())
    stored.assert_close(case, "feature_fixed_c_proj_f64", mended.double()(stored.input(case).double()), 1e-5)


@pytest.fixture(scope="module")
def model():
    return NeuroGpt(22, 2, 1400, 250)


def test_default_chunks_overlap_by_50_samples_and_channels_are_standardised(model):
    x = 7 + 30 * torch.randn(2, 22, 1400, generator=torch.Generator().manual_seed(0))
    chunks = model.prepare(x)
    assert chunks.shape == (2, 3, 22, 500)  # starts 0, 450, 900: the last whole one
    assert torch.equal(chunks[:, 0, :, 450:], chunks[:, 1, :, :50])
    z = (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True)
    torch.testing.assert_close(chunks[:, 2], z[..., 900:1400], rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_default_embedding_is_that_of_the_last_chunk_and_causal(model):
    chunks = torch.randn(1, 3, 22, 500, generator=torch.Generator().manual_seed(0))
    network = model.backbone.eval()
    tokens = network.decode(chunks)
    torch.testing.assert_close(network.decode(chunks[:, :2]), tokens[:, :2], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(network(chunks), torch.tanh(network.decoder.pooler_layer[0](tokens[:, 2])))


def test_gradients(model):
    assert_gradients(model, 30 * torch.randn(2, 22, 1400, generator=torch.Generator().manual_seed(0)))


@pytest.mark.parametrize(
    ("n_times", "sfreq", "names", "message"),
    [
        (1000, 200, CHANNELS, "sfreq=200 Hz, the model takes 250 Hz"),
        (250, 250, CHANNELS, "n_times=250, the model takes 500 to 230450 samples"),
        (500, 250, ["XYZ"], "none of XYZ"),
        (500, 250, None, "ch_names is None"),
    ],
)
def test_refuses(n_times, sfreq, names, message):
    with pytest.raises(BenchError, match=message):
        NeuroGpt(len(names or "21"), 2, n_times, sfreq, names)
