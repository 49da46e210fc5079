"""`python -m omni_bench.convert`: a pickled whole module, as older packages save them, into a state dict that is safe to load."""

import argparse
from pathlib import Path

from omni_bench.cli import one_line_errors
from omni_bench.errors import BenchError

USAGE = "python -m omni_bench.convert OLD.pt NEW.safetensors; then model.weights=NEW.safetensors"


def convert(old: Path, new: Path) -> int:
    """Write the weights of ``old`` to ``new``; see `omni_bench.models.pickled_modules`.

    Returns
    -------
    How many tensors there are.

    Raises
    ------
    BenchError
        ``new`` is no ``.safetensors`` or exists; see also `state_of_pickled_module`.
    """
    from safetensors.torch import save_file

    from omni_bench.files import renamed
    from omni_bench.models.pickled_modules import state_of_pickled_module

    if new.suffix != ".safetensors":
        raise BenchError(f"{new}: expected a name that ends in .safetensors")
    if new.exists():
        raise BenchError(f"{new}: is there already: delete it or choose another name")
    state = {name: weight.contiguous().clone() for name, weight in state_of_pickled_module(old).items()}
    with renamed(new) as part:
        save_file(state, part)
    return len(state)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m omni_bench.convert", description=__doc__, usage=USAGE)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    options = parser.parse_args()
    with one_line_errors():
        print(f"{options.new}: {convert(options.old, options.new)} tensors")


if __name__ == "__main__":
    main()
