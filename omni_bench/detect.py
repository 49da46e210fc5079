"""`python -m omni_bench.detect`: high-frequency oscillations of a dataset's recordings, or of one recording."""

from pathlib import Path

from omegaconf import DictConfig

from omni_bench.cli import main_of

USAGE = """
python -m omni_bench.detect dataset=demo_ieeg                         every recording: events, rates, a picture each
python -m omni_bench.detect recording=sub-01_ieeg.edf                 one recording, all of its channels
python -m omni_bench.detect detect.detectors=[ste] compat=reference   the reference package's integers
python -m omni_bench.detect detect.rule=majority trainer.num_workers=4
"""


def _detect(cfg: DictConfig) -> None:
    from omni_bench.hfo.batch import Job, Settings, detect_recordings, jobs_of
    from omni_bench.results.console import print_detected
    from omni_bench.steps import open_cohort, plain

    settings = Settings.from_card(plain(cfg.detect), cfg.compat)
    outputs = Path(cfg.paths.output_dir).expanduser()
    skip = cfg.on_error == "skip"
    if cfg.recording is None:
        folder = outputs / cfg.dataset.name / "hfo"
        jobs = jobs_of(open_cohort(cfg), settings, folder, skip)
    else:
        path = Path(cfg.recording).expanduser()
        name = path.stem.removesuffix("_ieeg")
        folder = outputs / "recordings" / "hfo"
        jobs = [Job(name, path, None, cfg.dataset.unit, settings, folder, skip, {})]
    print_detected(detect_recordings(jobs, cfg.on_error, max(1, cfg.trainer.num_workers)), folder)


main = main_of(_detect, "detect", USAGE)

if __name__ == "__main__":
    main()
