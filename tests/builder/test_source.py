"""Bad files: each is one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from realtime.builder.source import check
from realtime.errors import ModelError
from tests.backends.graphs import affine


def test_names_every_node(tmp_path: Path) -> None:
    model = check(affine(tmp_path / "affine.onnx"))
    assert all(node.name for node in model.graph.node)


@pytest.mark.parametrize("content", [b"", b"no network at all", b"\x08\x08\x12\x04onnx"])
def test_what_is_no_network(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"a\.onnx is no ONNX file"):
        check(path)


def test_a_truncated_file(tmp_path: Path) -> None:
    path = affine(tmp_path / "a.onnx")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ModelError, match="truncated"):
        check(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        check(tmp_path / "none.onnx")


def test_missing_external_weights_are_named(tmp_path: Path) -> None:
    path = _with_weights_outside(tmp_path)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ModelError, match=r"weights in weights\.bin, which is missing"):
        check(path)


def test_short_external_weights(tmp_path: Path) -> None:
    path = _with_weights_outside(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"short")
    with pytest.raises(ModelError, match="damaged"):
        check(path)


def test_external_weights_are_loaded(tmp_path: Path) -> None:
    model = check(_with_weights_outside(tmp_path))
    assert numpy_helper.to_array(model.graph.initializer[0]).shape == (64, 64)


def test_an_open_size_is_named_but_an_open_batch_is_fine(tmp_path: Path) -> None:
    check(affine(tmp_path / "batch.onnx", batch="n"))
    with pytest.raises(ModelError, match=r"input x of width\.onnx has an open size"):
        check(affine(tmp_path / "width.onnx", width="w"))


def test_a_newer_opset(tmp_path: Path) -> None:
    path = affine(tmp_path / "a.onnx")
    model = onnx.load(path)
    model.opset_import[0].version = 99
    onnx.save(model, path)
    with pytest.raises(ModelError, match="opset 99"):
        check(path)


def test_unknown_operators_are_named(tmp_path: Path) -> None:
    path = affine(tmp_path / "a.onnx")
    model = onnx.load(path)
    model.graph.node[0].op_type = "Frobnicate"
    onnx.save(model, path)
    with pytest.raises(ModelError, match="Frobnicate"):
        check(path)


def _with_weights_outside(folder: Path) -> Path:
    weights = numpy_helper.from_array(np.eye(64, dtype=np.float32), "w")
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", ports[:1], ports[1:], [weights])
    path = folder / "outside.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path
