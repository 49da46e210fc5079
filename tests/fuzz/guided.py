"""Readers under a fuzzer that coverage guides: python -m tests.fuzz.guided edf -max_total_time=120

Needs atheris (pip install atheris), which is no dependency of the tests. What follows the kind of file goes to libFuzzer.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["omni_bench.data"]):
    from tests.fuzz.readers import KINDS
    from tests.fuzz.worker import outcome_of, watch


def main() -> None:
    kind = KINDS[sys.argv[1]]
    with tempfile.TemporaryDirectory() as name:
        folder, seeds = Path(name, "case"), Path(name, "seeds")
        folder.mkdir()
        seeds.mkdir()
        path = kind.write(folder)
        target = min(file for file in folder.glob(kind.broken) if file.suffix != ".eeg")
        (seeds / "whole").write_bytes(target.read_bytes())
        kind.read(path)
        tempfile.tempdir = str(folder)
        watch(folder)

        def case(content: bytes) -> None:
            target.write_bytes(content)
            outcome_of(kind, path)

        atheris.Setup(
            [sys.argv[0], *sys.argv[2:], "-max_len=20000", "-timeout=20", "-rss_limit_mb=4096", str(seeds)], case
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
