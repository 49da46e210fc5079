"""What the tiny trees of the original intracranial sources share: tables in a source's dialect, and signals of noise."""

import json
from pathlib import Path

import numpy as np
from pybv import write_brainvision

from tests.data.edf import Signal, write_edf

NOISE_UV = 50


def write_tsv(file: Path, header: str, rows: list[str], bom: bool = False, crlf: bool = False) -> Path:
    """A TSV from lines whose cells are parted by blanks; ``_`` inside a cell stands for a blank."""
    lines = ["\t".join(cell.replace("_", " ") for cell in line.split()) for line in rows]
    text = "\n".join([header.replace(" ", "\t"), *lines]) + "\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes((text.replace("\n", "\r\n") if crlf else text).encode("utf-8-sig" if bom else "utf-8"))
    return file


def write_json(channels_tsv: Path, sfreq: float, seconds: float, line: object = 60) -> None:
    """The ieeg.json beside a channels.tsv."""
    facts = {"SamplingFrequency": sfreq, "RecordingDuration": seconds, "PowerLineFrequency": line}
    channels_tsv.with_name(channels_tsv.name.replace("_channels.tsv", "_ieeg.json")).write_text(json.dumps(facts))


def write_signal(channels_tsv: Path, suffix: str, sfreq: float, seconds: float) -> Path:
    """The recording that a channels.tsv describes, noise of 50 µV, EDF or BrainVision."""
    lines = channels_tsv.read_text(encoding="utf-8-sig").splitlines()[1:]
    names = [line.split("\t")[0] for line in lines]
    signal = np.random.default_rng(0).normal(0, NOISE_UV, (len(names), round(sfreq * seconds)))
    file = channels_tsv.with_name(channels_tsv.name.replace("_channels.tsv", f"_ieeg{suffix}"))
    if suffix == ".edf":
        return write_edf(file, [Signal(n, np.rint(row * 10), sfreq) for n, row in zip(names, signal, strict=True)])
    write_brainvision(
        data=signal * 1e-6,
        sfreq=sfreq,
        ch_names=names,
        fname_base=file.stem,
        folder_out=str(file.parent),
        overwrite=True,
    )
    return file
