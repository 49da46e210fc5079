#!/usr/bin/env bash
# Virtual environment with the package and all its extras: tools/install.sh PYTHON VENV [oldest|newest]
# A machine with an NVIDIA GPU gets the newest torch with CUDA; any other one the CPU build and a torchaudio that works beside it.
# `oldest` takes the lower bounds of pyproject.toml, `newest` the newest of everything on any machine.
set -euo pipefail
python=$1 venv=$2 versions=${3:-}
cd "$(dirname "$0")/.."
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
constraints=()
if [ "$versions" = oldest ]; then
  "$venv/bin/python" tools/oldest.py >"$venv/oldest.txt"
  constraints=(-c "$venv/oldest.txt")
elif [ "$versions" != newest ] && ! nvidia-smi >/dev/null 2>&1; then
  constraints=(-c constraints-cpu.txt)
fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${constraints[@]}" -e ".[foundation,sweep,interpret,lora,zarr,wandb,docs,dev]"
"$venv/bin/python" tools/check_torchaudio.py
