"""Signals of the synthetic intracranial cohort, and the truth about what was planted in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from omni_bench.datasets import synthesis
from omni_bench.datasets.demo_ieeg_roster import Channel, Patient, is_awake, is_ictal
from omni_bench.datasets.synthesis import Signal, stream

DURATION_S = 64.0  # the shortest whole number of records above the 62 s that the 60 s window task asks for

# The class effect is the rate of spike-riding ripples, by SOZ. All else comes from one range for every channel: spikes,
# lone ripples, artefacts. Each riding ripple that a normal channel lacks is made up for by high gamma of the same
# energy and spectrum, only spread out, so that no band's power tells the classes apart: logistic regression on log
# band power, trained on one cohort, has a channel AUC of 0.49 on another. (Lone ripples in its place, with all ripples
# at 4 to 7 times the background, were too hard: TimeConv-CNN, 64 frequencies, windows of 10 s, had a window AUC of 0.51
# after four epochs of 384 windows; now 0.88 after two.)
RIDING_PER_MIN = {1: (40, 46), 0: (0, 4)}
SPIKES_PER_MIN = (46, 58)  # riding ripples' spikes included
LONE_PER_MIN = (4, 10)  # ripples outside spikes
BURSTS_PER_MIN = (56, 64)  # ripples and high gamma together; at least as many as the most of both kinds of ripples
FAST_SHARE = 0.15  # of the ripples, riding or not, are fast ripples
ARTIFACTS_PER_MIN = (8, 14)
MUSCLE_PER_MIN = {"asleep": 1.0, "awake": 6.0}  # bursts per recording, each on a random half of the channels

BACKGROUND_UV = 40.0
EXPONENT = {"asleep": 2.0, "awake": 1.6}  # 1/f slope: flatter when awake
SHARED = 0.35  # part of the background that all channels have in common (reference)
LINE_UV = 4.0

SPIKE_SIZE = (5.0, 8.0)  # peak in units of the background's RMS
RIPPLE_SIZE = (7.0, 11.0)  # peak in units of the background's RMS at 80–250 Hz
ARTIFACT_SIZE = (12.0, 20.0)  # in the same unit
MUSCLE_SIZE = (2.0, 3.0)  # RMS, in the same unit
RIPPLE_HZ, FAST_RIPPLE_HZ = (80.0, 250.0), (250.0, 350.0)
RIPPLE_S, FAST_RIPPLE_S = (0.04, 0.1), (0.02, 0.05)
RIPPLE_BAND = (80.0, 250.0)
GAMMA_S, GAMMA_WAVELETS = 0.3, 12

SLOT_S = 0.32  # one event a slot, so that lone spikes and lone ripples stay apart by more than a spike's width
EDGE_S = 0.5
JITTER_S = 0.03
SEIZURE_ONSET_S, SEIZURE_S = (14.0, 20.0), (34.0, 40.0)


class Event(NamedTuple):
    """A planted event; ``frequency`` (Hz) is NaN for what does not oscillate."""

    onset: float
    duration: float
    channel: str
    kind: str
    frequency: float


class Level(NamedTuple):
    """RMS (µV) of one channel's background, over all frequencies and in the ripple band."""

    total: float
    ripple: float


def synthesise(patient: Patient, recording: str, channels: Sequence[Channel], seed: int) -> tuple[Signal, pd.DataFrame]:
    """Signals (n_channels, n_times; µV) of one recording and its planted events, sorted by onset."""
    rng = stream(seed, patient.subject, recording)
    state = "awake" if is_awake(recording) else "asleep"
    sfreq = patient.kind.sfreq
    n_times = round(DURATION_S * sfreq)
    shared = synthesis.background(rng, n_times, sfreq, 1.0, EXPONENT[state])
    until = float(rng.uniform(*SEIZURE_ONSET_S)) if is_ictal(recording) else DURATION_S

    signals = np.empty((len(channels), n_times))
    events: list[Event] = []
    for row, channel in enumerate(channels):
        if channel.good == 0:
            signals[row] = _bad_channel(rng, str(patient.bad), n_times, sfreq)
            continue
        own = synthesis.background(rng, n_times, sfreq, 1.0, EXPONENT[state] + channel.slope)
        signal = BACKGROUND_UV * channel.gain * (np.sqrt(1 - SHARED**2) * own + SHARED * shared)
        level = Level(float(signal.std()), synthesis.band_rms(signal, sfreq, *RIPPLE_BAND))
        events += _plant(rng, signal, sfreq, channel, level, until)
        if is_ictal(recording):
            events.append(_plant_seizure(rng, signal, sfreq, channel, level, until))
        phase = rng.uniform(0, 2 * np.pi)
        signals[row] = signal + synthesis.line_noise(
            n_times, sfreq, patient.kind.line_freq, LINE_UV * channel.line, phase
        )
    events += _plant_muscle(rng, signals, sfreq, channels, MUSCLE_PER_MIN[state])
    return signals, pd.DataFrame(events, columns=Event._fields).sort_values(["onset", "channel"], ignore_index=True)


def _schedule(rng: np.random.Generator, soz: int) -> list[tuple[float, str]]:
    """Times (s) and kinds of one channel's events over the whole recording."""
    minutes = DURATION_S / 60
    n_spikes, n_bursts, n_lone, n_riding, n_artifacts = (
        round(minutes * int(rng.integers(low, high + 1)))
        for low, high in (SPIKES_PER_MIN, BURSTS_PER_MIN, LONE_PER_MIN, RIDING_PER_MIN[soz], ARTIFACTS_PER_MIN)
    )
    kinds = (
        ["spk_ripple"] * n_riding
        + ["spike"] * (n_spikes - n_riding)
        + ["ripple"] * n_lone
        + ["gamma"] * (n_bursts - n_riding - n_lone)
        + ["artifact"] * n_artifacts
    )
    n_slots = int((DURATION_S - 2 * EDGE_S) / SLOT_S)
    slots = rng.choice(n_slots, len(kinds), replace=False)
    times = EDGE_S + (slots + 0.5) * SLOT_S + rng.uniform(-JITTER_S, JITTER_S, len(kinds))
    return list(zip(times.tolist(), kinds, strict=True))


def _plant(
    rng: np.random.Generator, signal: Signal, sfreq: float, channel: Channel, level: Level, until: float
) -> list[Event]:
    """Add the interictal events of one channel to ``signal`` in place, up to ``until`` s."""
    events = []
    for centre, kind in _schedule(rng, channel.soz):
        fast = rng.random() < FAST_SHARE
        band, durations = (FAST_RIPPLE_HZ, FAST_RIPPLE_S) if fast else (RIPPLE_HZ, RIPPLE_S)
        frequency, duration, phase = rng.uniform(*band), rng.uniform(*durations), rng.uniform(0, 2 * np.pi)
        ripple = synthesis.oscillation(sfreq, frequency, duration, rng.uniform(*RIPPLE_SIZE) * level.ripple, phase)
        if centre + SLOT_S > until:
            continue
        if kind in {"spike", "spk_ripple"}:
            onset = centre - synthesis.SPIKE_PEAK_S
            synthesis.add(signal, synthesis.spike(sfreq, rng.uniform(*SPIKE_SIZE) * level.total), onset, sfreq)
            if kind == "spike":
                events.append(Event(onset, synthesis.SPIKE_S, channel.name, kind, np.nan))
        if kind in {"ripple", "spk_ripple"}:
            onset = centre - duration / 2
            synthesis.add(signal, ripple, onset, sfreq)
            label = "fast_ripple" if fast and kind == "ripple" else kind
            events.append(Event(onset, duration, channel.name, label, frequency))
        if kind == "gamma":
            onset = centre - GAMMA_S / 2
            synthesis.add(signal, _same_energy(rng, ripple, sfreq, band), onset, sfreq)
            events.append(Event(onset, GAMMA_S, channel.name, kind, np.nan))
        if kind == "artifact":
            peak = rng.uniform(*ARTIFACT_SIZE) * level.ripple
            synthesis.add(signal, synthesis.artifact(sfreq, peak), centre, sfreq)
            events.append(Event(centre, synthesis.ARTIFACT_S, channel.name, kind, np.nan))
    return events


def _same_energy(rng: np.random.Generator, ripple: Signal, sfreq: float, band: tuple[float, float]) -> Signal:
    """High gamma with the energy of ``ripple``, and on average its spectrum: many wavelets as long, spread in time."""
    burst = np.zeros(round(GAMMA_S * sfreq))
    duration = ripple.size / sfreq
    for _ in range(GAMMA_WAVELETS):
        wavelet = synthesis.oscillation(sfreq, rng.uniform(*band), duration, 1.0, rng.uniform(0, 2 * np.pi))
        synthesis.add(burst, wavelet, rng.uniform(0, GAMMA_S - duration), sfreq)
    return burst * (np.linalg.norm(ripple) / np.linalg.norm(burst))


def _plant_seizure(
    rng: np.random.Generator, signal: Signal, sfreq: float, channel: Channel, level: Level, onset: float
) -> Event:
    """Seizure that starts in the SOZ and reaches the other channels later and weaker; then the background is low."""
    end = onset + rng.uniform(*SEIZURE_S)
    start, size = (onset, 5.0) if channel.soz else (onset + rng.uniform(3.0, 8.0), 2.5)
    signal[round(end * sfreq) :] *= 0.4
    synthesis.add(signal, synthesis.seizure(sfreq, end - start, size * level.total), start, sfreq)
    return Event(start, end - start, channel.name, "seizure", np.nan)


def _plant_muscle(
    rng: np.random.Generator, signals: Signal, sfreq: float, channels: Sequence[Channel], per_minute: float
) -> list[Event]:
    """Muscle bursts (30–300 Hz), each on a random half of the good channels at once."""
    events = []
    good = np.flatnonzero([channel.good for channel in channels])
    levels = [synthesis.band_rms(signal, sfreq, *RIPPLE_BAND) for signal in signals]
    for _ in range(rng.poisson(per_minute * DURATION_S / 60)):
        duration = rng.uniform(0.4, 1.2)
        onset = rng.uniform(EDGE_S, DURATION_S - EDGE_S - duration)
        n_times = round(duration * sfreq)
        for row in np.sort(rng.choice(good, good.size // 2, replace=False)):
            burst = synthesis.band_noise(rng, n_times, sfreq, rng.uniform(*MUSCLE_SIZE) * levels[row], 30.0, 300.0)
            synthesis.add(signals[row], burst * np.hanning(n_times), onset, sfreq)
            events.append(Event(onset, duration, channels[row].name, "muscle", np.nan))
    return events


def _bad_channel(rng: np.random.Generator, bad: str, n_times: int, sfreq: float) -> Signal:
    """Heartbeat, a loose contact or a dead one."""
    if bad == "flat":
        return 0.5 * rng.standard_normal(n_times)
    if bad == "noisy":
        return synthesis.background(rng, n_times, sfreq, 400.0, 1.0)
    signal = 15.0 * rng.standard_normal(n_times)
    beat = -synthesis.spike(sfreq, 600.0)
    for onset in np.arange(0.3, n_times / sfreq, 0.85):
        synthesis.add(signal, beat, onset + rng.uniform(0, 0.05), sfreq)
    return signal
