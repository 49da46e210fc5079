"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
SHARED = Path(os.environ.get("OMNI_BENCH_SHARED", Path(__file__).parents[1] / "../shared"))


@pytest.fixture(scope="session")
def golden() -> Path:
    """Compact golden figures that travel with the repository."""
    return GOLDEN


@pytest.fixture(scope="session")
def shared() -> Path:
    """Full golden vectors and real recordings; tests that need them skip where they are absent."""
    if not SHARED.is_dir():
        pytest.skip(f"no golden data or real recordings at {SHARED}: set OMNI_BENCH_SHARED")
    return SHARED


@pytest.fixture(scope="session")
def demo_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest demo cohort that holds every source and both outcomes; read-only by agreement."""
    from omni_bench.datasets.demo_ieeg import write_demo_ieeg

    root = tmp_path_factory.mktemp("demo") / "demo_ieeg"
    write_demo_ieeg(root, n_patients=8)
    return root
