"""Which contract a swap network's file keeps: by its inputs, and by its name where several take the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from realtime.errors import ModelError, UsageError
from realtime.models.peek import Peek
from realtime.models.swappers.contracts import CONTRACTS, Contract, SourceKind
from realtime.models.swappers.lookalike import seems, shape_of
from realtime.models.swappers.planar import source_shape

EMAP: Final = "emap"
_FLOAT16: Final = 10
"""TensorProto.FLOAT16."""
Shapes = dict[str, tuple[int, ...]]


class OtherNetworkError(ModelError):
    """A file of another kind was named: a mistake in what was asked for, not in the file."""

    exit_code = UsageError.exit_code


def recognise(path: Path, peek: Peek, named: str | None = None) -> Contract:
    """The contract `named`, else the one that the file's inputs and name speak for.

    Raises ModelError when the inputs fit no contract (or not the one named), UsageError when they fit several and the name does not tell.
    """
    shapes = input_shapes(peek)
    if named is not None:
        return _checked(path, shapes, CONTRACTS[named])
    fitting = [contract for contract in CONTRACTS.values() if fits(contract, shapes)]
    if EMAP in peek.weights:
        fitting = [contract for contract in fitting if contract.source is SourceKind.EMAP] or fitting
    name = path.name.lower()
    spoken = [contract for contract in fitting if any(word in name for word in contract.words)] or fitting
    if len(spoken) == 1:
        return spoken[0]
    if not spoken:
        seeming = seems(peek) or "name the .onnx or .dfm file of one"
        raise OtherNetworkError(f"{path.name} is no swap network that this program knows, for it takes {_listed(shapes)}: {seeming}")
    names = ", ".join(contract.name for contract in spoken)
    raise UsageError(f"{path.name} could be any of {names}, which take the same: say which it is with --swap-contract")


def _checked(path: Path, shapes: Shapes, contract: Contract) -> Contract:
    if not fits(contract, shapes):
        raise ModelError(f"{path.name} is no {contract.name} network, for it takes {_listed(shapes)}; name another --swap-contract")
    return contract


def fits(contract: Contract, shapes: Shapes) -> bool:
    """Whether a network of this contract takes inputs of these shapes (an open size is 0)."""
    if contract.name in _SPECIAL:
        return _SPECIAL[contract.name](shapes)
    face = (1, 3, contract.size, contract.size)
    return sorted(_closed(shape) for shape in shapes.values()) == sorted([face, source_shape(contract)])


def _is_dfm(shapes: Shapes) -> bool:
    pictures = [shape for shape in shapes.values() if len(shape) == 4 and shape[3] == 3 and shape[1] == shape[2] > 0]
    return len(pictures) == 1 and len(shapes) <= 2


def _is_generator(shapes: Shapes) -> bool:
    return [_closed(shape)[2:] for shape in shapes.values() if len(shape) == 3 and shape[1] > 1] == [(512,)] and len(shapes) == 1


_SPECIAL: Mapping[str, Callable[[Shapes], bool]] = MappingProxyType({"dfm": _is_dfm, "latent": _is_generator})


def _closed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """An open batch size taken as one, as the backends take it."""
    return (shape[0] or 1, *shape[1:]) if shape else shape


def _listed(shapes: Shapes) -> str:
    return ", ".join(f"{ascii(name)[1:-1]} {_written(shape)}" for name, shape in shapes.items()) or "nothing"


def _written(shape: tuple[int, ...]) -> str:
    sizes = [str(size or "any") for size in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def input_shapes(peek: Peek) -> Shapes:
    """What the network is fed; old files list their weights as inputs too, which these are not."""
    weights = {weight.name for weight in peek.network.graph.initializer}
    return {value.name: shape_of(value) for value in peek.network.graph.input if value.name not in weights}


def emap_of(path: Path, peek: Peek) -> Any:
    """The (512, 512) float32 matrix that inswapper's file holds: the weight named `emap`, else the last one.

    Raises ModelError when that has another shape: tools that simplify a network remove a weight that no node uses.
    """
    names = list(peek.weights)
    matrix = peek.weight(EMAP if EMAP in peek.weights else names[-1]) if names else None
    if matrix is None or matrix.shape != (512, 512):
        raise ModelError(f"{path.name} lacks the 512 x 512 matrix for embeddings, which simplifying removes: use the original file")
    return matrix.astype("float32")


def has_half_weights(peek: Peek) -> bool:
    return any(weight.data_type == _FLOAT16 for weight in peek.network.graph.initializer)
