"""The channels that a model or task needs from the channels that a recording has, as a matrix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from omni_bench.errors import BenchError
from omni_bench.explain import near
from omni_bench.signal.electrode_names import BIOSEMI, electrode_names, same_place

Matrix = NDArray[np.float64]
Positions = dict[str, NDArray[np.float64]]

RADIUS_M = 0.095
"""Of the sphere that all positions lie on: MNE's default head."""
SAME_SITE_M = 0.03
"""A channel this close stands for an electrode of another system; EGI's T7 lies 2.6 cm from that of the 10-05 template."""
MIN_MATCHED = 0.5
"""Fraction of the wanted channels that a recording must have."""


@dataclass(frozen=True)
class ChannelReport:
    """What `channel_matrix` did.

    Attributes
    ----------
    names
        Of the matrix's rows.
    absent
        Wanted channels that none is named like: left out, zero or made from others, as the policy says.
    unused
        Channels that are in no row.
    matched
        Fraction of the wanted channels that were there; for ``nearest`` and ``spline`` one within 3 cm counts.
    """

    names: tuple[str, ...]
    absent: tuple[str, ...]
    unused: tuple[str, ...]
    matched: float


def channel_matrix(ch_names: Sequence[str], targets: Sequence[str], policy: str) -> tuple[Matrix, ChannelReport]:
    """Weights that make the wanted channels from those at hand.

    A channel of the wanted name is taken as it is, under every policy. Names are compared as `electrode_names` and
    `same_place` spell them.

    Parameters
    ----------
    ch_names
        Channels at hand, as the file spells them.
    targets
        Channels that are wanted, pairs such as ``F7-T7`` under ``bipolar``.
    policy
        ``exact``: all must be there. ``intersection``: others are left out. ``zero``: others are zero. ``nearest``: others are
        the closest channel. ``spline``: others are MNE's spherical spline of all channels whose position is known (Perrin
        et al. 1989). ``bipolar``: pairs are differences; those without both electrodes are zero.

    Returns
    -------
    Matrix (n_targets, n_chans), fewer rows under ``intersection``; and what was done.

    Raises
    ------
    BenchError
        An unknown policy, one name twice, a wanted channel without a known position (``nearest``, ``spline``), or fewer than
        half of the wanted channels (``exact``: not all).
    """
    if policy not in POLICIES:
        raise BenchError(f"channel_policy={policy}: unknown{near(policy, POLICIES)}, known: {', '.join(POLICIES)}")
    here, wanted = ([same_place(name) for name in electrode_names(names)] for names in (ch_names, targets))
    twice = [name for names in (here, wanted) for name in names if names.count(name) > 1]
    if twice:
        raise BenchError(f"channel {twice[0]} stands twice among those recorded or wanted: keep one")
    matrix = (np.array(wanted)[:, None] == np.array(here)).astype(float)
    if policy == "bipolar":
        for row in np.flatnonzero(~matrix.any(axis=1)):
            plus, _, minus = wanted[row].partition("-")
            if plus in here and minus in here:
                matrix[row, here.index(plus)], matrix[row, here.index(minus)] = 1, -1
    missing = ~matrix.any(axis=1)
    absent = tuple(name for name, lacks in zip(targets, missing, strict=True) if lacks)
    if policy in FILLERS and absent:
        filled, close = FILLERS[policy](here, wanted, missing)
        matrix[missing] = filled
        matched = 1 - np.mean(missing) + close.sum() / len(targets)
    else:
        matched = 1 - np.mean(missing)
    if matched < (1 if policy == "exact" else MIN_MATCHED):
        raise BenchError(
            f"has {matched:.0%} of the {len(targets)} wanted channels (not {', '.join(absent[:6])}), expected "
            f"{'all' if policy == 'exact' else f'{MIN_MATCHED:.0%}'} for channel_policy={policy}: "
            "shorten task.preprocessing.channels, or choose another task.preprocessing.channel_policy"
        )
    names = tuple(targets)
    if policy == "intersection":
        names, matrix = tuple(name for name in targets if name not in absent), matrix[~missing]
    unused = tuple(name for name, used in zip(ch_names, matrix.any(axis=0), strict=True) if not used)
    return matrix, ChannelReport(names, absent, unused, float(matched))


def _nearest(here: list[str], wanted: list[str], missing: NDArray[np.bool_]) -> tuple[Matrix, NDArray[np.bool_]]:
    placed, distances = _distances(here, wanted, missing)
    matrix = np.zeros((len(distances), len(here)))
    matrix[np.arange(len(matrix)), placed[distances.argmin(axis=1)]] = 1
    return matrix, distances.min(axis=1) <= SAME_SITE_M


def _spline(here: list[str], wanted: list[str], missing: NDArray[np.bool_]) -> tuple[Matrix, NDArray[np.bool_]]:
    """MNE interpolates the unit vectors of the channels at hand, which gives the weights."""
    import mne

    placed, distances = _distances(here, wanted, missing)
    table = positions(here)
    sources, made = [here[i] for i in placed], [name for name, lacks in zip(wanted, missing, strict=True) if lacks]
    info = mne.create_info([*sources, *made], 1.0, "eeg")
    info.set_montage(
        mne.channels.make_dig_montage({name: table[name] for name in info["ch_names"]}, coord_frame="head")
    )
    info["bads"] = made
    unit = np.eye(len(info["ch_names"]), len(sources))
    unit = mne.EvokedArray(unit, info, verbose="ERROR").interpolate_bads(origin=(0, 0, 0), verbose="ERROR").data
    matrix = np.zeros((len(made), len(here)))
    matrix[:, placed] = unit[len(sources) :]
    return matrix, distances.min(axis=1) <= SAME_SITE_M


FILLERS: dict[str, Callable[[list[str], list[str], NDArray[np.bool_]], tuple[Matrix, NDArray[np.bool_]]]] = {
    "nearest": _nearest,
    "spline": _spline,
}
"""Policy → rows of the absent channels, and which of them have a channel at their site."""
POLICIES = ("exact", "intersection", "zero", "bipolar", *FILLERS)


def _distances(
    here: list[str], wanted: list[str], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Which channels have a position, and how far (m) each of them is from each absent one."""
    table = positions(here)
    absent = [name for name, lacks in zip(wanted, missing, strict=True) if lacks]
    placed = np.flatnonzero([name in table for name in here])
    unplaced = [name for name in absent if name not in table]
    if unplaced or not placed.size:
        what = f"channel {unplaced[0]} has no" if unplaced else "no recorded channel has a"
        raise BenchError(f"{what} known position: choose channel_policy=zero or intersection")
    own = np.array([table[here[i]] for i in placed])
    return placed, np.linalg.norm(np.array([table[name] for name in absent])[:, None] - own, axis=-1)


def positions(names: Sequence[str]) -> Positions:
    """Places on a sphere around zero (m) of every electrode that a recording with these normalised names can speak of.

    Upper case. EGI's nets and BioSemi's large caps come with 10-10 names on the same sphere, other recordings with MNE's
    10-05 template. Templates of different makers agree to about one electrode: EGI's sites lie 7° (median of 18, at most
    16°) from their 10-20 namesakes, BioSemi's 0°.
    """
    numbered = [int(name[1:]) for name in names if name[:1] == "E" and name[1:].isdigit()]
    plugs = {name.removeprefix(BIOSEMI)[0] for name in names if name.startswith(BIOSEMI)}
    if numbered:
        net = next(size for size in (32, 64, 128, 256) if max(numbered) <= size + 1 or size == 256)
        own = _template("GSN-HydroCel-64_1.0" if net == 64 else f"GSN-HydroCel-{net}")
    elif plugs:
        own = {f"{BIOSEMI}{name}": place for name, place in _template(f"biosemi{32 * len(plugs)}").items()}
    else:
        return _template("standard_1005")
    return _template("easycap-M1") | own


@lru_cache(maxsize=8)
def _template(name: str) -> Positions:
    """A montage of MNE, centred as MNE does before it interpolates, on a sphere of `RADIUS_M`."""
    import mne

    # MNE 1.13 renamed standard_1005 and 1.14 drops the old name
    if name == "standard_1005" and "colin27_1005" in mne.channels.get_builtin_montages():
        name = "colin27_1005"
    montage = mne.channels.make_standard_montage(name)
    info = mne.create_info(montage.ch_names, 1.0, "eeg").set_montage(montage)
    _, centre, _ = mne.bem.fit_sphere_to_headshape(info, dig_kinds="eeg", units="m", verbose="ERROR")
    points = np.array([channel["loc"][:3] for channel in info["chs"]]) - centre
    points *= RADIUS_M / np.linalg.norm(points, axis=1, keepdims=True)
    return {name.upper(): point for name, point in zip(montage.ch_names, points, strict=True)}
