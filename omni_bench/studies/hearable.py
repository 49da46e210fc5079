"""What does an epileptic channel sound like? The listening study of Omni-iEEG (arXiv 2602.16072).

A minute of one channel, ten times faster, becomes six seconds of audible sound. A classifier of AudioSet names what it
hears; the study counts names over SOZ and preserved channels. The paper asks YAMNet (TensorFlow); here it is the Audio
Spectrogram Transformer (Gong et al. 2021), whose 527 classes hold YAMNet's.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from omegaconf import DictConfig
from rich.progress import track

from omni_bench.errors import BenchError
from omni_bench.evaluation.record import Metric
from omni_bench.files import renamed, write_atomically
from omni_bench.studies.findings import Findings, Row, plain_metric
from omni_bench.studies.windows import Windows, windows_of

AUDIO_SFREQ = 16_000
PCM_PEAK = 32_767
CHANNELS = {1: "soz", 0: "preserved"}
BATCH = 8


def hearable(
    cfg: DictConfig,
    folder: Path,
    *,
    classifier: str,
    name: str,
    revision: str = "main",
    compression: int = 10,
    top: int = 5,
    n_wav: int = 5,
) -> Findings:
    """Let a classifier of everyday sounds listen to every labelled window.

    Writes ``windows.csv`` (the ``top`` names per window), ``result.csv`` and up to ``n_wav`` WAV files of each kind of
    channel.

    Parameters
    ----------
    cfg
        Of a region task, for its windows and labels.
    classifier, revision
        Of the hub, or a folder, in the layout of transformers.
    name
        What the findings' row counts, heard or not.
    compression
        How many times faster.
    top
        Names that count as heard beside the first.

    Returns
    -------
    One row per name: windows of SOZ and of preserved channels where it is the first (``top1_soz``, ``top1_preserved``)
    or among the ``top``, the name that parts them best first.

    Raises
    ------
    BenchError
        No labelled window, or the classifier cannot be had.
    """
    windows = windows_of(cfg, split=False)
    labelled = windows.table.index[windows.table["label"].notna()]
    if labelled.empty:
        raise BenchError(f"dataset={cfg.dataset.name}: no channel is known to be SOZ or preserved: loosen task.cohort")
    extractor, model = _classifier(classifier, revision, cfg.offline)
    names = [model.config.id2label[i] for i in range(model.config.num_labels)]
    heard = []
    batches = [labelled[i : i + BATCH] for i in range(0, len(labelled), BATCH)]
    for rows in track(batches, "listening"):
        sounds = [sound(x, windows.sfreq, compression) for x in _signals(windows, rows)]
        features = extractor(sounds, sampling_rate=AUDIO_SFREQ, return_tensors="pt")
        with torch.no_grad():
            order = model(**features).logits.topk(min(top, len(names)), dim=1).indices
        heard += [[names[i] for i in row] for row in order.tolist()]
    columns = [f"top{rank}" for rank in range(1, len(heard[0]) + 1)]
    table = windows.table.loc[labelled, ["sample_id", "subject", "label"]].reset_index(drop=True)
    table["channel_is"] = table.pop("label").astype(int).map(CHANNELS)
    table[columns] = heard
    for kind, rows in table.groupby("channel_is").groups.items():
        for row in rows[:n_wav]:
            (x,) = _signals(windows, labelled[[row]])
            _write_wav(folder / "wav" / f"{kind}-{row}.wav", sound(x, windows.sfreq, compression))
    found = counts(table, columns)
    write_atomically(folder / "windows.csv", table.to_csv(index=False))
    write_atomically(folder / "result.csv", found.to_csv(index=False))
    row = Row({"name": name}, _metrics(found, table, name, names))
    return Findings(found, [row], {"source": classifier, "pretrained": True})


def sound(x: NDArray[np.floating], sfreq: float, compression: int) -> NDArray[np.float32]:
    """One channel ``(n_times,)`` as sound at 16 kHz: z-scored, ``compression`` times faster, with a peak of 1.

    A flat channel is silence.
    """
    from scipy.signal import resample_poly

    centred = np.asarray(x, float) - np.mean(x)
    spread = centred.std()
    if not spread:
        return np.zeros(round(len(x) * AUDIO_SFREQ / (sfreq * compression)), np.float32)
    ratio = Fraction(AUDIO_SFREQ / (sfreq * compression)).limit_denominator(1000)
    faster = resample_poly(centred / spread, ratio.numerator, ratio.denominator)
    return (faster / np.abs(faster).max()).astype(np.float32)


def counts(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Windows of each kind of channel in which a name is first or among all ``columns``; see `hearable`."""
    any_rank = table.melt(id_vars="channel_is", value_vars=columns, value_name="name")
    tables = {f"top{len(columns)}": any_rank, "top1": any_rank[any_rank["variable"] == columns[0]]}
    result = pd.DataFrame(index=pd.Index(sorted(any_rank["name"].unique()), name="name"))
    for rank, heard in sorted(tables.items()):
        for kind in CHANNELS.values():
            size = heard[heard["channel_is"] == kind]["name"].value_counts()
            result[f"{rank}_{kind}"] = size.reindex(result.index, fill_value=0).astype(int)
    n = {kind: int((table["channel_is"] == kind).sum()) for kind in CHANNELS.values()}
    result["n_soz"], result["n_preserved"] = n["soz"], n["preserved"]
    share = result["top1_soz"] / max(n["soz"], 1) - result["top1_preserved"] / max(n["preserved"], 1)
    return result.assign(difference=share).sort_values("difference", ascending=False, kind="stable").reset_index()


def _metrics(found: pd.DataFrame, table: pd.DataFrame, name: str, names: list[str]) -> dict[str, Metric]:
    """Counts of one name: 0 where it was never heard, none where the classifier does not know it."""
    counted = [column for column in found if column.startswith("top")]
    of_name = found.set_index("name")[counted].reindex([name], fill_value=0).loc[name]
    known = name in names
    note = "" if known else f"the classifier has no class {name}"
    heard = {column: plain_metric(n if known else np.nan, "window", len(table), note) for column, n in of_name.items()}
    kinds = table["channel_is"].value_counts()
    sizes = {f"n_{kind}": plain_metric(kinds.get(kind, 0), "window", len(table)) for kind in CHANNELS.values()}
    return heard | sizes


def _signals(windows: Windows, rows: pd.Index) -> Iterator[NDArray[np.float32]]:
    return (x[0].numpy() for x in windows.signals(rows))


def _classifier(name: str, revision: str, offline: bool) -> tuple[Any, Any]:
    from transformers import ASTFeatureExtractor, ASTForAudioClassification

    try:
        model = ASTForAudioClassification.from_pretrained(name, revision=revision, local_files_only=offline)
    except (OSError, ValueError) as error:
        raise BenchError(
            f"study.classifier={name}: cannot be had ({str(error).splitlines()[0]}): run once while online, or name a folder "
            "with its config.json and model.safetensors"
        ) from error
    return ASTFeatureExtractor(num_mel_bins=model.config.num_mel_bins, max_length=model.config.max_length), model.eval()


def _write_wav(file: Path, samples: NDArray[np.float32]) -> None:
    from scipy.io import wavfile

    file.parent.mkdir(parents=True, exist_ok=True)
    with renamed(file) as part:
        wavfile.write(part, AUDIO_SFREQ, np.round(samples * PCM_PEAK).astype(np.int16))
