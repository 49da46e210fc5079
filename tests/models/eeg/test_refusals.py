"""Windows that a model cannot take are refused in one line before anything trains."""

import pytest

from omni_bench.errors import BenchError
from omni_bench.models.build import build

TOO_SHORT = {
    "bendr": 95,
    "biot": 199,
    "brainomni": None,  # pads with zeros
    "cbramod": 199,
    "eegmamba": 199,
    "femba": 15,
    "labram": 199,
    "neurogpt": 499,
    "neurolm": 199,
    "reve": 199,
}
RATES = {"bendr": 256, "brainomni": 256, "femba": 256, "neurogpt": 250}
WHOLE_SECONDS = ["cbramod", "eegmamba", "labram", "neurolm"]
ANY_NAMES = ["cbramod"]


def refusal(name: str, n_times: int, sfreq: float, ch_names: list[str] | None = None, n_chans: int = 2) -> str:
    with pytest.raises(BenchError) as caught:
        build(name, n_chans, 1, n_times, sfreq, ch_names or ["C3", "C4"])
    (line,) = str(caught.value).splitlines()
    return line.lower().replace("-", "")


@pytest.mark.parametrize("name", TOO_SHORT)
def test_a_wrong_rate(name: str) -> None:
    line = refusal(name, 1000, 160)
    assert line.startswith(f"{name}: sfreq=160 hz")
    assert f"resample to {RATES.get(name, 200)} hz" in line


@pytest.mark.parametrize("name", [name for name, n_times in TOO_SHORT.items() if n_times])
def test_a_short_window(name: str) -> None:
    n_times = TOO_SHORT[name]
    line = refusal(name, n_times, RATES.get(name, 200), ["F7", "T7"])
    assert f"n_times={n_times}" in line
    assert "window" in line or "use longer ones" in line


@pytest.mark.parametrize("name", WHOLE_SECONDS)
def test_a_part_of_a_second(name: str) -> None:
    assert "n_times=500, the model takes multiples of 200 samples" in refusal(name, 500, 200)


@pytest.mark.parametrize("name", [name for name in TOO_SHORT if name not in ANY_NAMES])
def test_unknown_names(name: str) -> None:
    line = refusal(name, 1000, RATES.get(name, 200), ["X1", "X2"])
    assert "x1" in line or "10-05" in line or "1005" in line or "channels is one of" in line


@pytest.mark.parametrize("name", [name for name in TOO_SHORT if name not in ANY_NAMES])
def test_a_name_for_every_channel(name: str) -> None:
    assert "2 ch_names for n_chans=3" in refusal(name, 1000, RATES.get(name, 200), ["C3", "C4"], n_chans=3)
