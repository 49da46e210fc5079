"""Linear probes, few-shot and zero-shot with kept embeddings against running the backbone again in every epoch.

    python benchmarks/linear_probe.py [--model cbramod] [--epochs 30] [--full]

One model with fixed weights on the embedded demo cohort (20 persons, 40 trials each). The runs: cross-subject and
multi-subject (3 seeds each), few-shot (2, 5, 10 and 30 % with 5 seeds each), zero-shot (5 seeds), and as a line of their
own channel masking (4 shares with 5 seeds each). Both sides start from stored windows and end with predictions. The
reference trains each head by itself and runs the frozen backbone on every batch of every epoch, of validation and of
test; ours embeds every window once and trains all heads together. Reports, intervals and pages are on neither side.

Without --full (half an hour) the reference takes one seed of each kind, and one epoch except in zero-shot and few-shot with
2 and 5 %; seconds are multiplied by epochs and seeds. Scores are compared where the reference ran whole. Also printed:
embedding throughput against the bare forward pass, and how far the resident size rose at its peak (Linux). Times are CPU
seconds on one core, which is wall time on a machine without other work.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from omegaconf import DictConfig, OmegaConf
from torch.nn.functional import normalize

from omni_bench import api
from omni_bench.data.datamodule import WindowDataModule
from omni_bench.datasets.demo_eeg import CH_NAMES
from omni_bench.evaluation import balanced_accuracy
from omni_bench.models.build import build, head_of
from omni_bench.modules.classifier import Classifier
from omni_bench.modules.embed import Embedder
from omni_bench.modules.heads import fit_together
from omni_bench.modules.parameters import parameter_groups
from omni_bench.modules.probe import LinearProbe
from omni_bench.run_split import split_of
from omni_bench.steps import data_of, learner_of, open_data, samples_of


@dataclass(frozen=True)
class Line:
    """Runs of one protocol: what their configuration says, seeds, and values of one option."""

    overrides: tuple[str, ...]
    n_seeds: int
    option: str = "seed"
    values: tuple[float, ...] = (0,)


PROBE = "adaptation=linear_probe"
LINES = {
    "cross-subject": Line(("protocol=cross_subject", PROBE), 3),
    "multi-subject": Line(("protocol=multi_subject", PROBE), 3),
    "few-shot": Line(("protocol=few_shot", PROBE), 5, "protocol.split.fraction", (0.02, 0.05, 0.1, 0.3)),
    "zero-shot": Line(("protocol=cross_subject", "adaptation=zero_shot"), 5),
    "masking": Line(("protocol=channel_masking", PROBE), 5, "protocol.corruption.p", (0.2, 0.4, 0.6, 0.8)),
}
WHOLE = ("zero-shot", "few-shot 0.02", "few-shot 0.05")  # what the reference runs whole without --full
BACKBONE = {}  # weights that every seed has


@dataclass
class Run:
    line: str
    value: float
    cfg: DictConfig
    data: WindowDataModule
    probabilities: dict[str, np.ndarray] = field(default_factory=dict)

    def score(self, side: str) -> float:
        test = (self.data.evaluate_windows["split"] == "test").to_numpy()
        labels = self.data.evaluate_windows["label"].to_numpy("int64")
        return balanced_accuracy(self.probabilities[side][test], labels[test])


def runs_of(folder: Path, model: str, epochs: int) -> list[Run]:
    paths = [f"paths.cache={folder}/cache", f"paths.output_dir={folder}/outputs", f"model.weights={folder}/weights.pt"]
    common = ["task=demo_hands", f"model={model}", f"trainer.max_epochs={epochs}", "trainer.progress=false", *paths]
    made, opened = [], None
    for name, line in LINES.items():
        composed = api.compose_config([*common, *line.overrides])
        for value, seed in product(line.values, range(line.n_seeds)):
            cfg = composed.copy()
            OmegaConf.update(cfg, line.option, value)
            cfg.seed = seed
            cohort, stored = opened = opened or open_data(cfg)
            units, windows = samples_of(cfg, cohort, stored)
            units["split"] = split_of(cfg, units, cohort.patients)
            data = data_of(cfg, windows.merge(units[["unit_id", "split"]], on="unit_id"), stored)
            made.append(Run(name, value, cfg, data))
    return made


@dataclass
class Timed:
    """Sums over the reference's runs of one kind."""

    runs: int = 0
    seconds: float = 0.0
    validation: float = 0.0
    epochs: int = 0

    def add(self, seconds: float, validation: float, epochs: int) -> None:
        self.runs, self.epochs = self.runs + 1, epochs
        self.seconds, self.validation = self.seconds + seconds, self.validation + validation


def network(cfg: DictConfig, data: WindowDataModule) -> torch.nn.Module:
    torch.manual_seed(cfg.seed)
    net = build(cfg.model.name, data.sample_shape[0], 1, data.n_times, data.sfreq, data.ch_names)
    net.load_state_dict(BACKBONE, strict=False)
    return net.eval().requires_grad_(False)


def ours(runs: list[Run]) -> None:
    with ExitStack() as stack:
        learners = []
        for run in runs:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            learners.append(stack.enter_context(learner_of(run.cfg, run.data, folder)))
            if isinstance(learners[-1], LinearProbe):
                learners[-1].embedded(run.data)
            else:
                learners[-1].fit(run.data)
        fit_together([learner for learner in learners if isinstance(learner, LinearProbe)])
        for run, learner in zip(runs, learners, strict=True):
            predictions = learner.predict(run.data)
            run.probabilities["ours"] = predictions.filter(like="prob_").to_numpy()


def reference(run: Run, epochs: int) -> tuple[float, float]:
    """Seconds of one epoch of training and validation times ``run``'s epochs plus the rest; of which validation."""
    cfg, data = run.cfg, run.data
    net = network(cfg, data)
    if run.line == "zero-shot":
        start = time.process_time()
        run.probabilities["reference"] = nearest(net, data)
        return time.process_time() - start, 0.0
    module = Classifier(net, 2, None, cfg.seed)  # loss and scores of a task with two classes
    head = head_of(net).requires_grad_(True)
    optimizer = torch.optim.AdamW(parameter_groups(net), lr=5e-4, weight_decay=0.05)
    best, seconds = (-1.0, {}), {"train": 0.0, "val": 0.0, "test": 0.0}
    batches = data.train_dataloader()

    @contextmanager
    def timed(part: str) -> Iterator[None]:
        start = time.process_time()
        yield
        seconds[part] += time.process_time() - start

    for epoch in range(epochs):
        with timed("train"):
            batches.batch_sampler.sampler.set_epoch(epoch)
            for x, y, _ in batches:
                with torch.no_grad():
                    embedding = net.embed(x)
                module.loss(head(embedding), y).backward()
                torch.nn.utils.clip_grad_norm_(head.parameters(), cfg.trainer.gradient_clip)
                optimizer.step()
                optimizer.zero_grad()
        with timed("val"):
            outputs, labels = outputs_of(net, data.val_dataloader())
            score = balanced_accuracy(module.predictions(outputs).numpy(), labels.long().numpy())
        if score > best[0]:
            best = (score, {name: value.clone() for name, value in head.state_dict().items()})
    head.load_state_dict(best[1])
    with timed("test"):
        outputs, _ = outputs_of(net, data.predict_dataloader())
    if epochs == cfg.trainer.max_epochs:
        run.probabilities["reference"] = module.predictions(outputs).numpy()
    scale = cfg.trainer.max_epochs / epochs
    return (seconds["train"] + seconds["val"]) * scale + seconds["test"], seconds["val"] * scale


@torch.no_grad()
def outputs_of(net: torch.nn.Module, batches: Any) -> tuple[torch.Tensor, torch.Tensor]:
    parts = [(net(x), y) for x, y, _ in batches]
    return torch.cat([outputs for outputs, _ in parts]), torch.cat([labels for _, labels in parts])


@torch.no_grad()
def nearest(net: torch.nn.Module, data: WindowDataModule) -> np.ndarray:
    embeddings = normalize(torch.cat([net.embed(x) for x, _, _ in data.predict_dataloader()]), dim=1)
    n_val = len(data.val_windows)
    similarity = embeddings @ embeddings[:n_val].T
    similarity[:n_val].fill_diagonal_(-torch.inf)
    return np.eye(2)[data.val_windows["label"].to_numpy("int64")[similarity.argmax(1).numpy()]]


def throughput(run: Run, folder: Path, repeats: int = 2) -> tuple[float, float]:
    """Windows per second of the bare forward pass, and of embedding them from the store into the cache."""
    data, net = run.data, network(run.cfg, run.data)
    windows = pd.concat([data.train_windows, data.val_windows, data.test_windows], ignore_index=True)
    dataset = data.dataset(windows)
    size = data.eval_batch_size
    batches = [
        torch.stack([dataset[i][0] for i in range(first, min(first + size, len(windows)))])
        for first in range(0, len(windows), size)
    ]
    bare, kept = [], []
    for repeat in range(repeats):
        start = time.process_time()
        with torch.no_grad():
            for x in batches:
                net.embed(x)
        bare.append(time.process_time() - start)
        start = time.process_time()
        Embedder(net, {}, folder / f"throughput-{repeat}", "32-true")(data, windows, torch.device("cpu"))
        kept.append(time.process_time() - start)
    return len(windows) / min(bare), len(windows) / min(kept)


def resident_mb(entry: str) -> float:
    return int(Path("/proc/self/status").read_text().split(f"{entry}:")[1].split()[0]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="cbramod")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), options.model, options.epochs, options.full)


def measure(folder: Path, model: str, epochs: int, full: bool) -> None:
    card = api.compose_config(["task=demo_hands", f"model={model}", "adaptation=linear_probe"])
    n_times = round(card.task.window_s * card.model.sfreq)
    torch.manual_seed(0)
    state = build(model, 19, 1, n_times, card.model.sfreq, list(CH_NAMES)).state_dict()
    BACKBONE.update({name: value for name, value in state.items() if not name.startswith("head.")})
    torch.save(BACKBONE, folder / "weights.pt")
    runs = runs_of(folder, model, epochs)
    print(f"torch {torch.__version__}, {model}, {epochs} epochs, 1 core, {len(runs)} runs")

    bare, kept = throughput(runs[0], folder)
    print(f"embedding: {kept:.0f} windows/s, bare forward pass {bare:.0f} windows/s, ratio {kept / bare:.2f}")
    before = resident_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    clean, masked = ([run for run in runs if (run.line == "masking") == masking] for masking in (False, True))
    seconds = {}
    for title, part in (("without masking", clean), ("masking", masked)):
        start = time.process_time()
        ours(part)
        seconds[title] = time.process_time() - start
    print(f"ours: peak memory {resident_mb('VmHWM') - before:.0f} MB above {before:.0f} MB")

    theirs = {(run.line, run.value): Timed() for run in runs}
    for run in runs:
        whole = full or f"{run.line} {run.value}" in WHOLE or run.line in WHOLE
        if full or run.cfg.seed == 0:
            theirs[run.line, run.value].add(*reference(run, epochs if whole else 1), epochs if whole else 1)
    print(f"{'reference':18}{'runs':>6}{'timed':>7}{'epochs':>8}{'seconds':>10}{'of which validation':>21}")
    totals = {"without masking": np.zeros(2), "masking": np.zeros(2)}
    for (line, value), timed in theirs.items():
        n_runs = LINES[line].n_seeds
        total = np.array([timed.seconds, timed.validation]) * n_runs / max(1, timed.runs)
        totals["masking" if line == "masking" else "without masking"] += total
        title = f"{line} {value}" if value else line
        print(f"{title:18}{n_runs:>6}{timed.runs:>7}{timed.epochs:>8}{total[0]:>10.1f}{total[1]:>21.1f}")
    columns = ("runs", "reference s", "ours s", "ratio", "ratio*")
    print(f"{'all':18}" + "".join(f"{column:>13}" for column in columns))
    for title, part in (("without masking", clean), ("masking", masked)):
        total, validation = totals[title]
        rarely = total - 0.8 * validation
        figures = (total, seconds[title], total / seconds[title], rarely / seconds[title])
        print(f"{title:18}{len(part):>13}" + "".join(f"{figure:>13.1f}" for figure in figures))
    print("* if the reference validated in every fifth epoch only, as published")
    compared = [run for run in runs if len(run.probabilities) == 2]
    scores = [abs(run.score("ours") - run.score("reference")) for run in compared]
    largest = max(np.abs(run.probabilities["ours"] - run.probabilities["reference"]).max() for run in compared)
    print(
        f"{len(compared)} runs whole on both sides: largest difference of balanced accuracy {max(scores):.1e}, "
        f"of a probability {largest:.1e}"
    )


if __name__ == "__main__":
    main()
