"""What is built, from `engines/recipes.toml`, and which files that means."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from realtime.builder import kinds
from realtime.builder.contract import Contract
from realtime.builder.gate import Limit
from realtime.builder.manifest import fingerprint
from realtime.builder.roles import ROLES
from realtime.builder.wrap import GRAPHS
from realtime.errors import UsageError
from realtime.models.catalog import DEFAULTS, MODELS
from realtime.values import near_miss

PRECISIONS = ("fp32", "fp16", "int8")
DEFAULT_MODELS = (*DEFAULTS, "selfie")
_KEYS = {"precisions", "gate", "role", "graph", "of", "swap", "contract"}
_AROUND = "follow_swap"
"""Begins the name of a graph around a swap network that is named on the spot: `follow_swap:FILE.onnx`."""


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
    """The catalogue's mesh network that the graph is around."""
    swap: str = ""
    """The swap network that it is around too: a file, or the catalogue's name."""
    contract: Contract | None = None
    """Of a swap network or an enhancer; None: the catalogue's, or that which its file speaks for."""


@dataclass(frozen=True, slots=True)
class Recipes:
    models: tuple[str, ...] = DEFAULT_MODELS
    """What is built when nothing is named."""
    rows: Mapping[str, Recipe] = field(default_factory=dict)

    def of(self, name: str) -> Recipe:
        return self.rows.get(name, Recipe())


@dataclass(frozen=True, slots=True)
class Part:
    """One ONNX file that engines are made of."""

    path: Path
    role: str


@dataclass(frozen=True, slots=True)
class Network:
    """What one engine is made for each precision of: a network, or a graph of ours around one or two."""

    name: str
    parts: tuple[Part, ...]
    role: str
    """What the gate looks at."""
    recipe: Recipe = field(default_factory=Recipe)
    contract: Contract = field(default_factory=Contract)
    """Of the network that shows faces, if there is one."""

    @property
    def paths(self) -> list[Path]:
        return [part.path for part in self.parts]

    @property
    def limits(self) -> tuple[Limit, ...]:
        return ROLES[self.role].with_bounds(self.recipe.gate)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.paths, self.recipe.graph)


OWN = Path(__file__).with_name("recipes.toml")
"""The recipes that come with the package: those of `engines/` in the checkout, for where there is none."""


def read(path: Path) -> Recipes:
    """The recipes in a file; those of the package when there is no file. Raises UsageError."""
    try:
        content = tomllib.loads((path if path.is_file() else OWN).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read ({error}): mend it, or remove it to build the default models") from error
    rows = {name: _recipe(name, row, path) for name, row in content.get("models", {}).items()}
    chosen = content.get("build", list(DEFAULT_MODELS))
    if not isinstance(chosen, list) or not all(isinstance(name, str) for name in chosen):
        raise UsageError(f"{path}: `build` takes a list of names of models")
    return Recipes(tuple(chosen), rows)


def _recipe(name: str, row: Any, path: Path) -> Recipe:
    where = f"{path}: [models.{name}]"
    if not isinstance(row, dict) or set(row) - _KEYS:
        raise UsageError(f"{where} takes {', '.join(sorted(_KEYS))} and nothing else")
    precisions = tuple(row.get("precisions", PRECISIONS))
    if not precisions or set(precisions) - set(PRECISIONS):
        raise UsageError(f"{where}: precisions are chosen among {', '.join(PRECISIONS)}")
    role = row.get("role", "")
    if role and role not in ROLES:
        raise UsageError(f"{where}: there is no role {role!r}, choose among {', '.join(ROLES)}")
    known = {limit.figure for each in ([ROLES[role]] if role else ROLES.values()) for limit in each.limits}
    gate = row.get("gate", {})
    if not all(figure in known and isinstance(bound, (int, float)) for figure, bound in gate.items()):
        raise UsageError(f"{where}: gate takes numbers for {', '.join(sorted(known))}")
    graph, of, swap = (row.get(key, "") for key in ("graph", "of", "swap"))
    if bool(graph) != bool(of) or (graph and (graph not in GRAPHS or of not in MODELS)):
        raise UsageError(f"{where}: graph is one of {', '.join(GRAPHS)}, and `of` the model that it is around")
    return Recipe(precisions, dict(gate), role, graph, of, swap, _contract(row, where))


def _contract(row: Mapping[str, Any], where: str) -> Contract | None:
    try:
        return Contract.of(row["contract"]) if "contract" in row else None
    except (UsageError, TypeError, AttributeError) as error:
        raise UsageError(f"{where}: contract takes template, mean, std, denormalise and order: {error}") from error


def networks(names: Sequence[str], recipes: Recipes, paths: Mapping[str, Path], swap_contract: str | None = None) -> tuple[Network, ...]:
    """The named models; `paths` has the files of the catalogue's.

    A name that ends in .onnx is a file of the user's, `follow_swap:NAME` the per-frame path around a swap network. `swap_contract` says
    which contract files of swap networks keep, where they do not tell. Raises UsageError, or ModelError, when that cannot be.
    """
    return tuple(_network(name, recipes, paths, swap_contract) for name in dict.fromkeys(names))


def _network(name: str, recipes: Recipes, paths: Mapping[str, Path], swap_contract: str | None) -> Network:
    recipe = _recipe_of(name, recipes)
    last = recipe.swap or recipe.of or name
    role, contract = _kind(last, recipe, swap_contract)
    contract = recipe.contract or contract
    if recipe.swap and contract is None:
        raise UsageError(f"{last} cannot become part of the per-frame path: only swap networks that take one latent can")
    role = "swapper" if recipe.swap else recipe.role or role
    parts = [Part(_file(last, paths), role)]
    if recipe.swap:
        parts.insert(0, Part(paths[recipe.of], MODELS[recipe.of].role))
    return Network(own_name(name), tuple(parts), recipe.graph or role, recipe, contract or Contract())


def _kind(name: str, recipe: Recipe, swap_contract: str | None) -> kinds.Kind:
    """A row that says what the network is, is believed."""
    if not _is_file(name):
        return kinds.of_catalogue(name)
    return (kinds.ANY, recipe.contract) if recipe.role or recipe.contract else kinds.of_file(Path(name), swap_contract)


def _recipe_of(name: str, recipes: Recipes) -> Recipe:
    """The row of the name, or that of `follow_swap` completed by the swap network's own."""
    graph, _, swap = name.partition(":")
    if graph != _AROUND or not swap:
        return recipes.of(own_name(name))
    row, of_swap = recipes.of(graph), recipes.of(own_name(swap))
    return dataclasses.replace(row, graph=graph, of=row.of or "mesh", swap=swap, contract=of_swap.contract or row.contract)


def own_name(name: str) -> str:
    """What the engines are called: a file's without folder and ending."""
    graph, colon, swap = name.partition(":")
    if graph == _AROUND and colon:
        return f"{graph}-{own_name(swap)}"
    return Path(name).stem if _is_file(name) else name


def _is_file(name: str) -> bool:
    return name.endswith(".onnx")


def _file(name: str, paths: Mapping[str, Path]) -> Path:
    return Path(name) if _is_file(name) else paths[name]


def models_of(names: Sequence[str], recipes: Recipes) -> list[str]:
    """The catalogue's models that the named ones are made of. Raises UsageError as `check_names`."""
    check_names(names, recipes)
    rows = [(name, _recipe_of(name, recipes)) for name in names]
    files = [file for name, row in rows for file in ((row.of, row.swap) if row.graph else (name,))]
    return list(dict.fromkeys(name for name in files if name and not _is_file(name)))


def check_names(names: Sequence[str], recipes: Recipes) -> None:
    """Raises UsageError for a name that neither catalogue nor recipes have and that is no .onnx file's, and for two of one name."""
    graphs = [name for name, row in recipes.rows.items() if row.graph]
    known = [*MODELS, *graphs]
    for name in names:
        about = name.removeprefix(f"{_AROUND}:")
        if not _is_file(about) and about not in (known if about == name else MODELS):
            if hint := near_miss(about, known):
                raise UsageError(f"there is no model {about!r}{hint}")
            raise UsageError(f"there is no model {about!r}: choose among {', '.join(known)}, name an .onnx file, or {_AROUND}:FILE.onnx")
    for name in names:
        row = _recipe_of(name, recipes)
        if row.graph == _AROUND and not row.swap:
            raise UsageError(f"{name} is built around a swap network: name it as {_AROUND}:FILE.onnx")
    owns = [own_name(name) for name in dict.fromkeys(names)]
    double = sorted({own for own in owns if owns.count(own) > 1})
    if double:
        raise UsageError(f"two models are called {double[0]}: rename one of the files")
