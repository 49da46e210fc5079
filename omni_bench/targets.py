"""Checks `_target_` nodes of a configuration against the source they name, without importing it."""

import ast
import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from omni_bench.errors import BenchError
from omni_bench.explain import near


def check_targets(node: Any, key: str = "") -> None:
    """Raise BenchError where a `_target_` below `node` names no source, or is given an argument that it does not take.

    Only classes with their own constructor and functions are compared; targets of other packages are looked up by
    package name alone, since their constructors may be inherited.
    """
    for path, target, arguments in _nodes(node, key):
        package = target.partition(".")[0]
        if importlib.util.find_spec(package) is None:
            raise BenchError(f"{path}._target_: {target}: package '{package}' is not installed{_extra(package)}")
        if package != "omni_bench":
            continue
        known = _parameters(target)
        if known is None:
            raise BenchError(f"{path}._target_: there is no {target}")
        for argument in arguments:
            if known and argument not in known and "**" not in known:
                raise BenchError(f"{path}.{argument}: {target} takes no '{argument}'{near(argument, known)}")


def _nodes(node: Any, key: str) -> Iterator[tuple[str, str, list[str]]]:
    if isinstance(node, dict):
        if isinstance(node.get("_target_"), str):
            yield key, node["_target_"], [name for name in node if not name.startswith("_")]
        for name, child in node.items():
            yield from _nodes(child, f"{key}.{name}" if key else str(name))
    elif isinstance(node, list):
        for i, child in enumerate(node):
            yield from _nodes(child, f"{key}[{i}]")


def _extra(package: str) -> str:
    extras = {"braindecode": "foundation", "captum": "interpret", "peft": "lora"}
    return f": pip install 'omni_bench[{extras[package]}]'" if package in extras else ""


@lru_cache(maxsize=256)
def _parameters(target: str) -> frozenset[str] | None:
    """Names that a class or function of ours takes; empty if inherited or re-exported, None if there is no such name."""
    parts = target.split(".")
    folder = Path(__file__).parent
    for depth in range(len(parts) - 1, 0, -1):
        stem = folder.joinpath(*parts[1:depth])
        file = next((f for f in (stem.with_suffix(".py"), stem / "__init__.py") if f.is_file()), None)
        if file is not None:
            return _parameters_in(file, parts[depth:])
    return None


def _parameters_in(file: Path, names: list[str]) -> frozenset[str] | None:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for statement in body:
        if isinstance(statement, ast.ImportFrom) and names[0] in {a.asname or a.name for a in statement.names}:
            return frozenset()
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) and statement.name == names[0]:
            if isinstance(statement, ast.FunctionDef):
                return _names(statement)
            inner = names[1] if len(names) > 1 else "__init__"
            methods = {s.name: s for s in statement.body if isinstance(s, ast.FunctionDef)}
            if inner in methods:
                return _names(methods[inner])
            return frozenset() if inner == "__init__" else None
    return None


def _names(function: ast.FunctionDef) -> frozenset[str]:
    arguments = function.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return frozenset(names | ({"**"} if arguments.kwarg else set()))
