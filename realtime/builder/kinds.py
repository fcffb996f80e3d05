"""Of what kind a network is: what its gate looks at, and what it expects of a face."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from realtime.builder.contract import TEMPLATES, Contract
from realtime.builder.roles import ROLES
from realtime.errors import ModelError
from realtime.models.catalog import MODELS
from realtime.models.peek import Peek
from realtime.models.swappers.contracts import CONTRACTS, SourceKind
from realtime.models.swappers.contracts import Contract as SwapContract
from realtime.models.swappers.recognise import recognise

ANY = "network"
"""The role of whatever is not known better: its numbers are compared."""
_ONE_FORM = ("landmarker", "segmenter")
"""Roles whose gates read the default networks; the catalogue's others give something else and name a contract."""
_RESTORED = (0.5, 0.5, 0.5)
Kind = tuple[str, Contract | None]
"""Role and, for networks that show faces, contract."""


def of_catalogue(name: str) -> Kind:
    """A model of the catalogue."""
    model = MODELS[name]
    if model.role == "swapper" and model.contract in CONTRACTS:
        return _of_swapper(CONTRACTS[model.contract])
    if model.role == "enhancer" and model.contract in TEMPLATES:
        return "enhancer", Contract(model.contract, _RESTORED, _RESTORED, denormalise=True)
    known = model.role in ROLES and model.role not in ("swapper", "enhancer")
    return (model.role if known and not (model.contract and model.role in _ONE_FORM) else ANY), None


def of_file(path: Path, named: str | None = None) -> Kind:
    """A file of the user's, told by its inputs and its name; `named`: the contract that the user says it keeps.

    A damaged one may be anything: what is wrong with it is for its row of the table. Raises UsageError when it could be several, and
    ModelError when it does not keep the contract that is named.
    """
    try:
        peek = Peek(path)
    except ModelError:
        return ANY, Contract()
    try:
        return _of_swapper(recognise(path, peek, named))
    except ModelError:
        if named is not None:
            raise
        return ANY, None


def _of_swapper(row: SwapContract) -> Kind:
    """Those that show a picture of the face as planes; files that hold a person, and generators, are networks like any other here."""
    template = next((name for name, points in TEMPLATES.items() if np.allclose(points, row.template(1))), None)
    if template is None or row.source is SourceKind.NOBODY or not row.size:
        return ANY, None
    return "swapper", Contract(template, row.mean, row.std, row.denormalise)
