import numpy as np
import pytest
import torch
from golden_eeg import Golden, assert_gradients, filled, listed, shapes

from omni_bench.errors import BenchError
from omni_bench.models.brainomni import BrainOmni, BrainOmniNetwork, benchmark_sensors, montage_positions
from omni_bench.models.braintokenizer import BrainTokenizer, cut_windows
from omni_bench.models.electrodes import benchmark_positions

TINY = "backbone_tiny_mixed_sensors_7ch_900"
WRAPPERS = ["wrapper_base_19ch_200Hz_1000", "wrapper_base_6ch_unknown_256Hz_700"]
TOKENIZER = "tokenizer_alone_3ch_1024"
DTYPES = pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-5)])


@pytest.fixture(scope="module")
def stored(golden):
    return Golden(golden / "eeg" / "brainomni")


@pytest.fixture(scope="module")
def tiny():
    return filled(BrainOmniNetwork(256))


@pytest.fixture(scope="module")
def base():
    return filled(BrainOmniNetwork())


def sensors(stored: Golden, case: str) -> tuple[torch.Tensor, torch.Tensor]:
    pos, sensor_type = (torch.from_numpy(stored.arrays[f"{case}/{name}"])[None] for name in ("pos", "sensor_type"))
    return pos, sensor_type.long()


def test_state_dicts_are_the_official_ones(stored, tiny, base):
    official = listed(stored.spec["state_dict"])
    assert shapes(base) == official
    official |= listed(stored.spec["state_dict_tiny_differences"])
    assert shapes(tiny) == {name: s for name, s in official.items() if name not in stored.spec["names_only_in_base"]}
    counts = {"base": base, "tiny": tiny, "tokenizer": tiny.tokenizer}
    counted = {size: sum(p.numel() for p in network.parameters()) for size, network in counts.items()}
    assert counted == stored.spec["parameters"]


@DTYPES
@torch.no_grad()
def test_backbone_on_mixed_sensors(stored, tiny, dtype, tolerance):
    tiny.to(dtype)
    pos, sensor_type = sensors(stored, TINY)
    x, pos = stored.input(TINY).to(dtype), pos.to(dtype)
    tokenizer, windows = tiny.tokenizer, cut_windows(x, 0.25)
    embedded = tokenizer.sensor_embed(pos, sensor_type)
    latent = tokenizer.encoder(windows, embedded)
    quantized, indices = tokenizer.quantizer(latent)
    stored.assert_close(TINY, "sensor_embedding", embedded, 1e-5)
    seanet = tokenizer.encoder.seanet_encoder["model"](windows.reshape(-1, 1, 512))
    stored.assert_close(TINY, "seanet", seanet[:2], 1e-5)
    stored.assert_close(TINY, "latent", latent, 1e-5)
    stored.assert_close(TINY, "quantized", quantized, 1e-5)
    np.testing.assert_array_equal(indices, stored.arrays[f"{TINY}/indices"])
    tokens = tiny(x, pos, sensor_type)
    stored.assert_close(TINY, "tokens_f64", tokens, tolerance)
    stored.assert_close(TINY, "feature_f64", tokens.mean(2), tolerance)


@pytest.mark.parametrize("case", WRAPPERS)
@torch.no_grad()
def test_reference_reproduces_the_benchmark(stored, base, case):
    x, settings = stored.input(case), stored.cases[case]
    model = BrainOmni(x.shape[1], 2, x.shape[2], settings["sfreq"], settings["channels"], compat="reference").eval()
    model.backbone = base.float()
    pos, sensor_type = sensors(stored, case)
    torch.testing.assert_close(model.pos, pos[0], rtol=0, atol=1e-6)
    assert torch.equal(model.sensor_type, sensor_type[0])
    prepared = model.prepare(x)
    stored.assert_close(case, "backbone_input", prepared, 1e-5)
    embedding = model.embed(x)
    assert embedding.shape == (1, model.embed_dim) == (1, 8192)
    stored.assert_close(case, "feature_f64", embedding.view(1, 16, 512), 1e-4)
    _, indices = base.tokenizer.tokenize(prepared, pos, sensor_type, 0.25)
    np.testing.assert_array_equal(indices, stored.arrays[f"{case}/indices"])
    tokens = base.double()(prepared.double(), pos.double(), sensor_type)
    stored.assert_close(case, "tokens_f64", tokens, 1e-5)
    stored.assert_close(case, "feature_f64", tokens.mean(2), 1e-5)


@DTYPES
@torch.no_grad()
def test_tokenizer_alone(stored, dtype, tolerance):
    tokenizer = filled(BrainTokenizer()).to(dtype)
    x, (pos, sensor_type) = stored.input(TOKENIZER).to(dtype), sensors(stored, TOKENIZER)
    quantized, indices = tokenizer.tokenize(x, pos.to(dtype), sensor_type)
    stored.assert_close(TOKENIZER, "features", quantized.flatten(2, 3), 1e-5)
    np.testing.assert_array_equal(indices.flatten(2, 3), stored.arrays[f"{TOKENIZER}/indices"])
    stored.assert_close(TOKENIZER, "x_rec_f64", tokenizer(x, pos.to(dtype), sensor_type), tolerance)


@pytest.mark.parametrize(
    ("n_times", "overlap", "n_windows"),
    [(300, 0.25, 1), (512, 0.25, 1), (513, 0.25, 2), (896, 0.25, 2), (897, 0.25, 3), (1500, 0.0, 2), (300, 0.0, 1)],
)
def test_windows(n_times, overlap, n_windows):
    """Stride 384 with the overlap and zeros behind the end; stride 512 without, the rest dropped."""
    x = torch.arange(1.0, n_times + 1)
    windows = cut_windows(x, overlap)
    stride = 384 if overlap else 512
    assert windows.shape == (n_windows, 512)
    for i, window in enumerate(windows):
        kept = x[i * stride : i * stride + 512]
        assert torch.equal(window[: len(kept)], kept)
        assert (window[len(kept) :] == 0).all()


def test_benchmark_positions_of_odd_names():
    """Magnetometers at the origin, midpoints of pairs, raw metres of the shifted table, names that are not found."""
    points, types = benchmark_sensors(["CB1", "FP1-F7", "FTT7h", "EEG C3-REF", "Fp1", "F7"])
    assert types == [1, 0, 0, 0, 0, 0]
    assert (points[[0, 3]] == 0).all()
    np.testing.assert_allclose(points[1], (points[4] + points[5]) / 2)
    np.testing.assert_array_equal(points[2], benchmark_positions()["FTT7H"])


def test_default_positions_are_normalised_over_the_montage():
    kept, points = montage_positions(["EEG C3-REF", "ECG", "C4", "Fz", "O1", "Fp1-F7"])
    assert kept == [0, 2, 3, 4, 5]
    np.testing.assert_allclose(points.mean(0), 0, atol=1e-12)
    assert 3 * np.square(points).sum(1).mean() == pytest.approx(1)
    assert points[0, 0] < 0 < points[1, 0]  # left and right


@pytest.fixture(scope="module")
def model():
    return BrainOmni(4, 2, 700, 256, ["C3", "C4", "ECG", "Fz"], lm_dim=256)


def test_default_is_average_referenced_and_has_one_scale(model):
    x = torch.randn(2, 4, 700, generator=torch.Generator().manual_seed(0)) * torch.tensor([10, 20, 500, 40])[:, None]
    prepared = model.prepare(x)
    eeg = x[:, [0, 1, 3]]
    referenced = eeg - eeg.mean(1, keepdim=True)
    torch.testing.assert_close(prepared, referenced / referenced.std((1, 2), correction=0, keepdim=True))
    ratio = prepared.std(-1) / referenced.std(-1)
    torch.testing.assert_close(ratio, ratio[:, :1].expand_as(ratio))


def test_a_single_channel_keeps_its_reference():
    x = 20 * torch.randn(1, 1, 700, generator=torch.Generator().manual_seed(0))
    assert BrainOmni(1, 2, 700, 256, ["Cz"], lm_dim=256).prepare(x).std() == pytest.approx(1, rel=1e-3)


def test_gradients(model):
    assert_gradients(model, 20 * torch.randn(2, 4, 700, generator=torch.Generator().manual_seed(0)))


def test_a_change_of_precision_leaves_the_stored_rotations_complex():
    network = BrainOmniNetwork(256)
    name = "blocks.3.time_attn.rope_embedding_layer.rotate"
    before = network.state_dict()[name]
    assert before[7, 1].angle() == pytest.approx(7 * 10000 ** (-2 / 128) - 2 * np.pi, rel=1e-5)
    assert torch.equal(network.to(torch.float64).state_dict()[name], before)


def test_eval_mode_has_no_dropout(model):
    x = 20 * torch.randn(1, 4, 700, generator=torch.Generator().manual_seed(0))
    model.eval()
    assert torch.equal(model.embed(x), model.embed(x))


@pytest.mark.parametrize(
    ("sfreq", "names", "message"),
    [
        (200, ["C3"], "sfreq=200 Hz, the model takes 256 Hz"),
        (256, ["X1", "X2"], "none of X1, X2"),
        (256, None, "ch_names is None"),
    ],
)
def test_refuses(sfreq, names, message):
    with pytest.raises(BenchError, match=message):
        BrainOmni(len(names or "21"), 2, 512, sfreq, names)
