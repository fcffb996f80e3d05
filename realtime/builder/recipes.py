"""What is built, from `engines/recipes.toml`, and which files that means."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from realtime.builder.roles import ROLES
from realtime.builder.wrap import GRAPHS
from realtime.errors import UsageError
from realtime.models.catalog import DEFAULTS, MODELS

PRECISIONS = ("fp32", "fp16", "int8")
DEFAULT_MODELS = (*DEFAULTS, "selfie")
_KEYS = {"precisions", "gate", "role", "graph", "of"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is built: which precisions are tried, and limits that replace the role's own."""

    precisions: tuple[str, ...] = PRECISIONS
    gate: Mapping[str, float] = field(default_factory=dict)
    role: str = ""
    """Empty: the catalogue's, or `network` for a file."""
    graph: str = ""
    """A graph of ours around the network, of `wrap.GRAPHS`."""
    of: str = ""
    """The catalogue's model that the graph is around."""


@dataclass(frozen=True, slots=True)
class Recipes:
    models: tuple[str, ...] = DEFAULT_MODELS
    """What is built when nothing is named."""
    rows: Mapping[str, Recipe] = field(default_factory=dict)

    def of(self, name: str) -> Recipe:
        return self.rows.get(name, Recipe())


@dataclass(frozen=True, slots=True)
class Network:
    """One ONNX file to build engines of."""

    name: str
    path: Path
    role: str
    recipe: Recipe


def read(path: Path) -> Recipes:
    """The recipes in a file; those of the program when there is no file. Raises UsageError."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Recipes()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({error}): mend it, or remove it to build the default models.") from error
    rows = {name: _recipe(name, row, path) for name, row in content.get("models", {}).items()}
    chosen = content.get("build", list(DEFAULT_MODELS))
    if not isinstance(chosen, list) or not all(isinstance(name, str) for name in chosen):
        raise UsageError(f"{path}: `build` takes a list of names of models.")
    return Recipes(tuple(chosen), rows)


def _recipe(name: str, row: Any, path: Path) -> Recipe:
    where = f"{path}: [models.{name}]"
    if not isinstance(row, dict) or set(row) - _KEYS:
        raise UsageError(f"{where} takes {', '.join(sorted(_KEYS))} and nothing else.")
    precisions = tuple(row.get("precisions", PRECISIONS))
    if not precisions or set(precisions) - set(PRECISIONS):
        raise UsageError(f"{where}: precisions are chosen among {', '.join(PRECISIONS)}.")
    role = row.get("role", "")
    if role and role not in ROLES:
        raise UsageError(f"{where}: there is no role {role!r}, choose among {', '.join(ROLES)}.")
    known = {limit.figure for each in ([ROLES[role]] if role else ROLES.values()) for limit in each.limits}
    gate = row.get("gate", {})
    if not all(figure in known and isinstance(bound, (int, float)) for figure, bound in gate.items()):
        raise UsageError(f"{where}: gate takes numbers for {', '.join(sorted(known))}.")
    graph, of = row.get("graph", ""), row.get("of", "")
    if bool(graph) != bool(of) or (graph and (graph not in GRAPHS or of not in MODELS)):
        raise UsageError(f"{where}: graph is one of {', '.join(GRAPHS)}, and `of` the model that it is around.")
    return Recipe(precisions, dict(gate), role, graph, of)


def networks(names: Sequence[str], recipes: Recipes, paths: Mapping[str, Path]) -> tuple[Network, ...]:
    """The named models. A name that ends in .onnx is a file of the user's; `paths` has the files of the catalogue's models."""
    found = []
    for name in dict.fromkeys(names):
        is_file = name.endswith(".onnx")
        own = Path(name).stem if is_file else name
        recipe = recipes.of(own)
        model = recipe.of or name
        role = recipe.role or ("network" if is_file else MODELS[model].role)
        found.append(Network(own, Path(name) if is_file else paths[model], role, recipe))
    return tuple(found)


def models_of(names: Sequence[str], recipes: Recipes) -> list[str]:
    """The catalogue's models that the named ones are made of. Raises UsageError as `check_names`."""
    check_names(names, recipes)
    return list(dict.fromkeys(recipes.of(name).of or name for name in names if not name.endswith(".onnx")))


def check_names(names: Sequence[str], recipes: Recipes) -> None:
    """Raises UsageError for a name that neither catalogue nor recipes have and that is no .onnx file's, and for two of one name."""
    known = [*MODELS, *(name for name, row in recipes.rows.items() if row.graph)]
    for name in names:
        if not name.endswith(".onnx") and name not in known:
            raise UsageError(f"There is no model {name!r}: choose among {', '.join(known)}, or name an .onnx file.")
    owns = [Path(name).stem if name.endswith(".onnx") else name for name in dict.fromkeys(names)]
    double = sorted({own for own in owns if owns.count(own) > 1})
    if double:
        raise UsageError(f"Two models are called {double[0]}: rename one of the files.")
