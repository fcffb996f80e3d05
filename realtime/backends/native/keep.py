"""Plans kept on disk: reading the ONNX file takes a library that is slow to load."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from realtime.backends.base import UnavailableError
from realtime.backends.native import plan
from realtime.backends.native.plan import Output, Plan

LARGEST = 16 << 20
"""Bytes of an ONNX file above which it is not looked at: nothing that big is quick on a processor."""
_ARRAYS = ("steps", "weights", "table")


def kept(path: Path, cache: Path | None) -> Plan:
    """The plan of an ONNX file, from the cache folder, else made and put there. Raises UnavailableError as `plan.read` does."""
    try:
        data = path.read_bytes() if path.stat().st_size <= LARGEST else b""
    except OSError as error:
        raise UnavailableError(f"{path.name} cannot be read: {error.strerror}") from error
    if b"PRelu" not in data:  # told without the library
        raise UnavailableError(f"the native backend has no kernel for {path.name}")
    place = None if cache is None else cache / f"{path.stem}-{_key(data)}.npz"
    made = None if place is None else _load(place)
    if made is None:
        made = plan.read(path)
        if place is not None:
            _save(made, place)
    return made


def _key(data: bytes) -> str:
    """Of the network and of how plans are made: either may change."""
    digest = hashlib.sha256(data)
    digest.update(Path(plan.__file__).read_bytes())
    return digest.hexdigest()[:20]


def _load(place: Path) -> Plan | None:
    """None when there is none, or it is damaged."""
    try:
        with np.load(place, allow_pickle=False) as file:
            arrays = {name: np.ascontiguousarray(file[name]) for name in _ARRAYS}
            rest = json.loads(str(file["rest"]))
        outputs = tuple(Output(each["name"], tuple(each["shape"]), each["at"]) for each in rest.pop("outputs"))
        shape = tuple(rest.pop("shape"))
        plain: dict[str, Any] = {**arrays, **rest}
        return Plan(**plain, shape=shape, outputs=outputs)
    except Exception:  # a file cut short, or not ours: it is made anew
        return None


def _save(made: Plan, place: Path) -> None:
    """Under a temporary name first; a folder that cannot be written only costs time at the next start."""
    rest = {name: value for name, value in asdict(made).items() if name not in _ARRAYS}
    temporary = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            np.savez(file, steps=made.steps, weights=made.weights, table=made.table, rest=np.array(json.dumps(rest)))
        temporary.replace(place)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
