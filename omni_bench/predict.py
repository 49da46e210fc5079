"""`python -m omni_bench.predict`: scores of recordings without labels, and a page for each patient."""

from pathlib import Path
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig

from omni_bench.cli import main_of
from omni_bench.errors import BenchError
from omni_bench.explain import near

USAGE = """
python -m omni_bench.predict checkpoint=RUN recording=sub-01_ieeg.edf            scores by channel and window, and a page
python -m omni_bench.predict checkpoint=EXPORT recording=BIDS/sub-01 hfo=true    all recordings of a patient, with HFO rates
python -m omni_bench.predict checkpoint=hf://org/name recording=a.vhdr "resected=[A1,A2]"   the resection ratio, too
RUN is a finished run's directory (outputs/<dataset>/<task>/.../seed-...); labels are not needed and not used.
"""
CHOICES = {"on_error": ("raise", "skip"), "windows": ("continuous", "events")}
OF_RECORDINGS = ("ictal", "state")
"""Filters of a task's cohort by which recordings are chosen from several; one that is named by itself is always taken."""


def predict(cfg: DictConfig) -> list[Path]:
    """Score what ``cfg.recording`` names, and write tables, figures and a page per patient below ``cfg.to``.

    Returns
    -------
    The pages.

    Raises
    ------
    BenchError
        An unknown option, an absent model or recording, or a broken one and ``on_error=raise``.
    """
    for key, known in CHOICES.items():
        if cfg[key] not in known:
            raise BenchError(f"{key}={cfg[key]}: unknown{near(str(cfg[key]), known)}")
    from omni_bench.datasets.unlabelled import read_unlabelled, with_resection
    from omni_bench.inference.patient import patient_of
    from omni_bench.inference.scoring import score
    from omni_bench.inference.tables import write_tables
    from omni_bench.inference.trained import open_trained
    from omni_bench.results.patient_page import write_page

    trained = open_trained(str(cfg.checkpoint), cfg.offline)
    recording = Path(cfg.recording).expanduser()
    cohort = read_unlabelled(
        recording, trained.config.task.family, cfg.dataset.unit, cfg.on_error, instantiate(cfg.dataset.read)
    )
    if len(cohort) > 1:
        wanted = trained.config.task.cohort
        cohort = cohort.filter(**{name: wanted[name] for name in OF_RECORDINGS if name in wanted})
    if cfg.resected is not None:
        cohort = with_resection(cohort, [str(name) for name in cfg.resected])
    folder = Path(cfg.to).expanduser()
    scored = score(trained, cohort, cfg, folder)
    rates = _rates(cfg, scored.cohort, folder) if cfg.hfo else None
    pages = []
    for subject in scored.cohort.recordings["subject"].unique():
        patient = patient_of(subject, trained, scored, rates, cfg.n_boot, cfg.seed)
        write_tables(folder / subject, patient)
        pages.append(write_page(folder / subject, patient))
    return pages


def _rates(cfg: DictConfig, cohort: Any, folder: Path) -> Any:
    """HFO counts and minutes of the recordings' channels, as `omni_bench.hfo.batch` finds them."""
    import pandas as pd

    from omni_bench.hfo.batch import Settings, detect_recordings, jobs_of
    from omni_bench.steps import plain

    jobs = jobs_of(cohort, Settings.from_card(plain(cfg.detect)), folder / "hfo", cfg.on_error == "skip")
    found = detect_recordings(jobs, cfg.on_error, max(1, cfg.trainer.num_workers))
    files = {name: folder / "hfo" / f"{name}_rates.tsv" for name in found["recording"]}
    tables = [
        # a channel may be called NA
        pd.read_csv(file, sep="\t", dtype={"channel": str}, keep_default_na=False).assign(recording=name)
        for name, file in files.items()
    ]
    return pd.concat(tables, ignore_index=True)


def _predict(cfg: DictConfig) -> None:
    for page in predict(cfg):
        print(page)


main = main_of(_predict, "predict", USAGE)

if __name__ == "__main__":
    main()
