"""Print the lower bounds of pyproject.toml as pip constraints: what the oldest supported environment consists of."""

import re
import tomllib
from itertools import chain
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
for requirement in chain(project["dependencies"], *project["optional-dependencies"].values()):
    if bound := re.match(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)", requirement):
        print(f"{bound[1]}=={bound[2]}")
