import pytest
import torch
from golden_eeg import Golden, assert_gradients, filled, listed, shapes

from omni_bench.errors import BenchError
from omni_bench.models.femba import PAIRS, Femba, FembaNetwork

TEN_TWENTY = "Fp1 Fp2 F7 F3 Fz F4 F8 T3 C3 Cz C4 T4 T5 P3 Pz P4 T6 O1 O2 A1 A2"
ELECTRODES = TEN_TWENTY.split()
WRAPPERS = ["wrapper_21ch_1280", "wrapper_14ch_unknown_len1003"]


@pytest.fixture(scope="module")
def stored(golden):
    return Golden(golden / "eeg" / "femba")


@pytest.fixture(scope="module")
def network():
    return filled(FembaNetwork(num_blocks=4))


def test_state_dict_is_the_official_one(stored, network):
    assert shapes(network) == listed(stored.spec["state_dict"])
    assert sum(p.numel() for p in network.parameters()) == stored.spec["parameters"]


def test_parameters_of_other_sizes(network):
    """Counts of the official class: (2 blocks, 35) with its head, (4, 35) without."""
    assert sum(p.numel() for p in FembaNetwork(num_blocks=2).parameters()) == 8_332_185
    head = sum(p.numel() for p in network.classifier.parameters())
    assert sum(p.numel() for p in network.parameters()) - head == 15_558_235


@pytest.mark.parametrize("case", ["backbone_22ch_1280", "backbone_22ch_500"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-5)])
@torch.no_grad()
def test_backbone(stored, network, case, dtype, tolerance):
    network.to(dtype)
    x = stored.input(case).to(dtype)
    tokens = network.encode(x)
    stored.assert_close(case, "patch_embedding", network.patch_embed(x), tolerance)
    stored.assert_close(case, "tokens_f64", tokens, tolerance)
    stored.assert_close(case, "feature_f64", tokens.mean(1), tolerance)
    if case == "backbone_22ch_1280":
        stored.assert_close(case, "logits_f64", network(x), tolerance)


@pytest.mark.parametrize("case", WRAPPERS)
@torch.no_grad()
def test_reference_reproduces_the_benchmark(stored, case):
    x = stored.input(case)
    model = Femba(x.shape[1], 2, x.shape[2], 200, stored.cases[case]["channels"], compat="reference")
    filled(model.backbone)
    stored.assert_close(case, "spatial_matrix", model.matrix, 1e-6)
    stored.assert_close(case, "backbone_input", model.prepare(x), 1e-5)
    stored.assert_close(case, "feature_f64", model.embed(x), 1e-4)
    stored.assert_close(case, "feature_f64", model.double().embed(x.double()), 1e-5)


def test_default_scales_bipolar_channels_from_the_lower_quartile():
    x = 30 * torch.randn(2, 21, 64, generator=torch.Generator().manual_seed(0))
    prepared = Femba(21, 2, 64, 256, ELECTRODES, num_blocks=1).prepare(x)
    for row, (anode, cathode) in {0: (0, 2), 9: (8, 9), 21: (11, 20)}.items():  # FP1-F7, C3-CZ, T4-A2
        pair = x[:, anode] - x[:, cathode]
        low, high = (pair.quantile(q, dim=-1, keepdim=True) for q in (0.25, 0.75))
        torch.testing.assert_close(prepared[:, row], (pair - low) / (high - low), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("ch_names", [None, [name.lower() for name in PAIRS]])
def test_bipolar_channels_are_taken_as_they_are(ch_names):
    assert torch.equal(Femba(22, 2, 64, 256, ch_names, num_blocks=1).matrix, torch.eye(22))


def test_absent_electrode_comes_from_its_true_neighbours():
    """Without Cz, C3-CZ still leans on the electrodes around the vertex, unlike with the benchmark's shifted table."""
    names = [name for name in ELECTRODES if name not in ("Cz", "Fz", "Pz")] + ["FCz", "CPz", "C1", "C2"]
    row = Femba(len(names), 2, 64, 256, names, num_blocks=1).matrix[PAIRS.index("C3-CZ")]
    strongest = {names[i] for i in row.topk(4, largest=False).indices}
    assert strongest == {"FCz", "CPz", "C1", "C2"}
    assert row[names.index("C3")] > 0.9


def test_gradients():
    x = 30 * torch.randn(2, 21, 320, generator=torch.Generator().manual_seed(0))
    assert_gradients(Femba(21, 2, 320, 256, ELECTRODES, num_blocks=2), x)


def test_runs_under_autocast():
    x = 30 * torch.randn(1, 21, 320, generator=torch.Generator().manual_seed(0))
    model = Femba(21, 3, 320, 256, ELECTRODES, num_blocks=2).eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = model.embed(x)
    assert (low - model.embed(x)).abs().max() < 0.1


@pytest.mark.parametrize(
    ("n_times", "sfreq", "names", "message"),
    [
        (1280, 200, ELECTRODES, "sfreq=200 Hz, the model takes 256 Hz"),
        (15, 256, ELECTRODES, "at least 16 samples"),
        (1280, 256, ["Cz"], "1 of 1 channels have a 10-05 name"),
        (1280, 256, None, "ch_names is None"),
    ],
)
def test_refuses(n_times, sfreq, names, message):
    with pytest.raises(BenchError, match=message):
        Femba(len(names or "21"), 2, n_times, sfreq, names)
