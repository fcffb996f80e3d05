"""The other files that a swap network cannot do without: beside it, or in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from realtime.errors import ModelError
from realtime.models.swappers.contracts import Contract, SourceKind

Find = Callable[[str], Path | None]
"""A catalogue's model by its name, when it is there."""


@dataclass(frozen=True, slots=True)
class Companion:
    names: tuple[str, ...]
    """What its file may be called, without the ending; the first is the usual one."""
    what: str
    """What it is, in words."""

    def find(self, path: Path, find: Find) -> Path:
        """Its file, for the network in `path`. Raises ModelError when it is nowhere."""
        for name in self.names:
            beside = path.with_name(f"{name}.onnx")
            found = beside if beside.is_file() else find(name)
            if found is not None and found != path:
                return found
        raise ModelError(f"{path.name} also needs {self.what}: {self._cure(path)}")

    def _cure(self, path: Path) -> str:
        from realtime.models.catalog import MODELS
        from realtime.models.obtain import add_command, fetch_command  # here: what fetches is slow to import

        name = self.names[0]
        by_hand = f"put {name}.onnx into the folder {path.absolute().parent}"
        row = MODELS.get(name)
        if row is None:
            return by_hand
        own = f"if you have the file `{add_command(row)}`, or {by_hand}"
        return f"run `{fetch_command([name])}`, {own}" if row.fetchable else own


ARCFACE: Final = Companion(("w600k_r50", "arcface_w600k_r50"), "ArcFace, which sees whom to show")
"""The recogniser whose embeddings swap networks were trained with."""
_FROM_EMBEDDING: Mapping[SourceKind, bool] = MappingProxyType(
    {SourceKind.EMAP: False, SourceKind.EMBEDDING: False, SourceKind.CONVERTED: True, SourceKind.CONVERTED_RAW: True}
)
"""Sources that are ArcFace's embedding, and whether a converter lies in between."""


def converter(contract: Contract) -> Companion:
    return Companion(tuple(contract.converter), "a converter of embeddings")


def encoder(path: Path) -> Companion:
    """Of a latent swap: the generator's name with `encoder` in it, or the usual one."""
    own = path.stem.replace("generator", "encoder").replace("decoder", "encoder")
    return Companion((own, "e4e_encoder"), "the encoder that goes with this generator")


def needed(contract: Contract, path: Path) -> list[Companion]:
    """All of them."""
    if contract.name == "latent":
        return [encoder(path)]
    if contract.source not in _FROM_EMBEDDING:
        return []
    return [ARCFACE, *([converter(contract)] if _FROM_EMBEDDING[contract.source] else [])]
