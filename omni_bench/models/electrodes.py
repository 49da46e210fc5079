"""Electrode names and positions for the EEG models that need a place for every channel."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from omni_bench.signal.electrode_names import electrode_name

Position = NDArray[np.float64]

_SAME_PLACE = {"T3": "T7", "T4": "T8", "T5": "P7", "T6": "P8"}
# the two anterior temporal electrodes lie closest to these names of the 10-05 system
_ANTERIOR_TEMPORAL = {"T1": "FT9", "T2": "FT10"}
# recovered from the stored channel matrices: in the benchmark's table T1 and T2 are one point
_BENCHMARK_T1_T2 = (0.0622931, 0.0237228, 0.0556300)
BENCHMARK_UNKNOWN = (0.0, 0.0, 1.0)


@lru_cache(maxsize=1)
def _template() -> tuple[dict[str, Position], NDArray[np.float64]]:
    """10-05 positions on the Colin 27 head by name, and the fiducials (left, nasion, right); metres."""
    from mne.channels import get_builtin_montages, make_standard_montage

    # MNE 1.13 renamed standard_1005 and 1.14 drops the old name
    name = "colin27_1005" if "colin27_1005" in get_builtin_montages() else "standard_1005"
    positions = make_standard_montage(name).get_positions()
    return positions["ch_pos"], np.stack([positions[key] for key in ("lpa", "nasion", "rpa")])


@lru_cache(maxsize=1)
def standard_positions() -> dict[str, Position]:
    """Position in metres of every 10-05 electrode by upper-case name; T1 and T2 sit at FT9 and FT10."""
    table = {name.upper(): position for name, position in _template()[0].items()}
    return table | {name: table[place] for name, place in _ANTERIOR_TEMPORAL.items()}


@lru_cache(maxsize=1)
def benchmark_positions() -> dict[str, Position]:
    """The benchmark's table, fault included: every name carries the position of the name three places before it.

    Its file counts the three fiducials as electrodes. Older and newer names of one place share the first one's entry.
    """
    positions, fiducials = _template()
    shifted = np.vstack([fiducials, *positions.values()])
    table = {name.upper(): point for name, point in zip(positions, shifted, strict=False)}
    for alias, name in {**_SAME_PLACE, "A1": "M1", "A2": "M2"}.items():
        table[alias] = table[name]
    return table | dict.fromkeys(("T1", "T2"), np.array(_BENCHMARK_T1_T2))


def nearest_by_benchmark(ch_names: Sequence[str], vocabulary: Sequence[str]) -> list[int | None]:
    """Index in ``vocabulary`` of each channel, or of the electrode next to it in the benchmark's shifted table.

    None where the table has no such name.
    """
    table = benchmark_positions()
    placed = [name for name in vocabulary if name in table]
    points = np.stack([table[name] for name in placed])
    found: list[int | None] = []
    for name in map(electrode_name, ch_names):
        if name in vocabulary:
            found.append(vocabulary.index(name))
        elif name in table:
            nearest = int(np.linalg.norm(points - table[name], axis=1).argmin())
            found.append(vocabulary.index(placed[nearest]))
        else:
            found.append(None)
    return found


def interpolation_matrix(
    needed: Sequence[str],
    ch_names: Sequence[str],
    positions: Mapping[str, Position],
    unknown: tuple[float, float, float] | None = None,
) -> NDArray[np.float64]:
    """Weights that make the `needed` electrodes from the channels at hand.

    An electrode that shares its place (within 0.1 mm) with one or more channels is their mean; any other is the mean of
    all channels weighted by inverse distance.

    Parameters
    ----------
    needed
        Names that `positions` holds.
    ch_names
        Names as `electrode_name` gives them.
    positions
        Coordinates in metres by name.
    unknown
        Coordinate of channels that `positions` lacks; None leaves such channels out.

    Returns
    -------
    (n_needed, n_chans), rows sum to 1
    """
    placed = np.array([name in positions or unknown is not None for name in ch_names])
    places = np.array([positions.get(name, np.array(unknown or (0, 0, 0))) for name in ch_names])
    distance = np.linalg.norm(np.stack([positions[name] for name in needed])[:, None] - places, axis=-1)
    here = (distance < 1e-4) & placed
    weights = np.where(here.any(1, keepdims=True), here, placed / (distance + 1e-6))
    return weights / weights.sum(1, keepdims=True)
