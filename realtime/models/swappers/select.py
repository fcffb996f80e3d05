"""From a swap network's file to a swapper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from realtime.backends.base import Session
from realtime.errors import UsageError
from realtime.models.base import Finish
from realtime.models.catalog import MODELS
from realtime.models.peek import Peek
from realtime.models.recognisers.arcface import ArcFace
from realtime.models.recognisers.converter import Converter
from realtime.models.swappers import companions
from realtime.models.swappers.aligned import AlignedSwapper, CropNetwork
from realtime.models.swappers.companions import Companion, Find
from realtime.models.swappers.contracts import Contract, SourceKind
from realtime.models.swappers.dfm import DfmNetwork
from realtime.models.swappers.exact import Exact
from realtime.models.swappers.latent import LatentNetwork
from realtime.models.swappers.planar import PlanarNetwork
from realtime.models.swappers.recognise import emap_of, has_half_weights, recognise
from realtime.models.swappers.sources import Converted, Embedding, Picture, SourceInput

Make = Callable[[Session], CropNetwork]
"""Puts the network of one file around a session of it."""


@dataclass(frozen=True, slots=True)
class SwapOptions:
    """What the user may say about a swap network."""

    contract: str | None = None
    """Key of CONTRACTS; None: recognised."""
    size: int | None = None
    """Side of the swapped crop: a multiple of what the network gives, by several passes; None: what it gives."""
    least: int | None = None
    """The same, but only for a network that gives less and goes into it evenly; `size` decides where it is given."""
    morph: float = 0.75
    """0..1: how far a DFM network that can do so goes towards its person; 0.75 is DeepFaceLive's own default."""
    layers: tuple[int, ...] = (4, 5, 6, 7)
    """Of a latent network: those that the source decides. Together they draw the features of a face; lower ones its pose, higher ones
    its colours."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What opening a swap network needs of its surroundings."""

    open_network: Callable[[Path], Session]
    """The network at the precision that is fastest here."""
    open_exact: Callable[[Path], Session]
    """An ONNX file as it is, in fp32 arithmetic."""
    find: Find
    exact: Exact
    finishes: Sequence[Finish] = ()


@dataclass(slots=True)
class SwapFile:
    """One swap network's file, looked at but not loaded."""

    path: Path
    options: SwapOptions
    around: Surroundings
    peek: Peek = field(init=False)
    contract: Contract = field(init=False)

    def __post_init__(self) -> None:
        self.peek = Peek(self.path)
        self.contract = recognise(self.path, self.peek, self.options.contract)

    def companion(self, other: Companion) -> Path:
        """A file that the network cannot do without. Raises ModelError when it is nowhere."""
        return other.find(self.path, self.around.find)


def check(path: Path, options: SwapOptions, find: Find) -> None:
    """Look at a file and at what else it needs, loading nothing. Raises ModelError and UsageError as `open_swapper` would."""
    for other in companions.needed(recognise(path, Peek(path), options.contract), path):
        other.find(path, find)


def open_swapper(path: Path, options: SwapOptions, around: Surroundings) -> AlignedSwapper:
    """The swapper for a file. The sessions that `around` opens are its owner's to close.

    Raises ModelError and UsageError with a sentence about what is wrong with the file or lacking.
    """
    file = SwapFile(path, options, around)
    make = _MAKERS.get(file.contract.name, _planar)(file)
    half = has_half_weights(file.peek)

    def exact() -> Session:
        return around.open_exact(around.exact.file(path, half=half))

    def fallback() -> CropNetwork:
        around.exact.remember(path)
        return make(exact())

    known = around.exact.needed(path)
    session = exact() if known else around.open_network(path)
    lower = half or not session.backend.endswith("fp32")
    return AlignedSwapper(make(session), around.finishes, fallback if lower and not known else None)


def terms(path: Path, contract: str | None = None) -> str:
    """A sentence about the licence of what a file most likely holds. Raises as `recognise`."""
    kind = recognise(path, Peek(path), contract)
    row = next((row for row in MODELS.values() if row.contract == kind.name and row.role == "swapper"), None)
    licence = kind.licence if row is None else row.licence
    forbids = f"; it forbids {row.forbids}" if row is not None and row.forbids else ""
    return f"{path.name} is a network of the kind {kind.name}: the licence of the published weights is {licence}{forbids}"


def _planar(file: SwapFile) -> Make:
    source, passes = _SOURCES[file.contract.source](file), _passes(file.contract, file.options)
    return lambda session: PlanarNetwork(session, file.contract, source, passes, file.path.stem)


def _dfm(file: SwapFile) -> Make:
    return lambda session: DfmNetwork(session, file.options.morph, file.path.stem)


def _latent(file: SwapFile) -> Make:
    encoder = file.around.open_network(file.companion(companions.encoder(file.path)))
    return lambda session: LatentNetwork(encoder, session, file.options.layers, file.path.stem)


_MAKERS: Mapping[str, Callable[[SwapFile], Make]] = MappingProxyType({"dfm": _dfm, "latent": _latent})
"""What makes the network of a contract that is not planar."""


def _passes(contract: Contract, options: SwapOptions) -> int:
    least = options.least or 0
    wanted = options.size or (least if least > contract.size and least % contract.size == 0 else contract.size)
    if wanted % contract.size:
        raise UsageError(f"--swap-size {wanted} is no multiple of {contract.size}, which {contract.name} gives: name one, or leave it out")
    return wanted // contract.size


def _arcface(file: SwapFile) -> ArcFace:
    path = file.companion(companions.ARCFACE)
    return ArcFace(file.around.open_network(path), path.stem)


def _converter(file: SwapFile) -> Converter:
    return Converter(file.around.open_network(file.companion(companions.converter(file.contract))))


def _emap(file: SwapFile) -> SourceInput:
    return Embedding(_arcface(file), emap_of(file.path, file.peek))


def _embedding(file: SwapFile) -> SourceInput:
    return Embedding(_arcface(file))


def _converted(file: SwapFile) -> SourceInput:
    return Converted(_arcface(file), _converter(file), normalise=file.contract.source is SourceKind.CONVERTED)


def _picture(file: SwapFile) -> SourceInput:
    return Picture(file.contract.source_template, file.contract.source_size)


_SOURCES: Mapping[SourceKind, Callable[[SwapFile], SourceInput]] = MappingProxyType(
    {
        SourceKind.EMAP: _emap,
        SourceKind.EMBEDDING: _embedding,
        SourceKind.CONVERTED: _converted,
        SourceKind.CONVERTED_RAW: _converted,
        SourceKind.PICTURE: _picture,
    }
)
