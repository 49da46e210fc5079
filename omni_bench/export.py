"""`python -m omni_bench.export`: a finished run as a folder with weights, card and hashes, ready for a hub."""

from pathlib import Path

from omegaconf import DictConfig

from omni_bench.cli import main_of

USAGE = """
python -m omni_bench.export checkpoint=RUN to=FOLDER       weights, model card, config.yaml, result.json, hashes
python -m omni_bench.predict checkpoint=FOLDER recording=sub-01_ieeg.edf     predicts with it
RUN is a finished run's directory (outputs/<dataset>/<task>/.../seed-...). No path and no patient of yours is in the folder.
"""


def _export(cfg: DictConfig) -> None:
    from omni_bench.inference.publish import publish
    from omni_bench.inference.trained import open_trained

    trained = open_trained(str(cfg.checkpoint), cfg.offline)
    for file in publish(trained, Path(cfg.to).expanduser(), cfg.offline):
        print(file)


main = main_of(_export, "export", USAGE)

if __name__ == "__main__":
    main()
