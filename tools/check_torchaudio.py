"""Make torchaudio importable beside a CPU build of torch, and prove it.

The registry's torchaudio wheel links against CUDA. Beside a torch without CUDA its import fails and takes transformers and
braindecode with it, though every package manager calls the pair consistent. Without its native files torchaudio falls back
to Python, which is all that is used here.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path

import torch


def main() -> None:
    """Delete the native files where torch has no CUDA, then import what depends on them."""
    if torch.version.cuda is None:
        for library in Path(sysconfig.get_paths()["purelib"], "torchaudio", "lib").glob("*.so"):
            library.unlink()
    check = "import torchaudio; from transformers import ClapModel"
    if subprocess.run([sys.executable, "-c", check], check=False).returncode:
        raise SystemExit(
            f"torchaudio does not import beside torch {torch.__version__}: install matching wheels of both"
        )


if __name__ == "__main__":
    main()
