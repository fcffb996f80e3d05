from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from realtime.errors import ModelError
from realtime.graphs import networks
from realtime.graphs.builder import OPSET, Graph
from tests.graphs.runtimes import load
from tests.twins import inswapper


def _scaler(opset: int, *, listed: bool = False) -> Any:
    """x (2, 3) times 3, padded by one: Pad took its amounts as an attribute before opset 11."""
    pads = [0, 1, 0, 1]
    early = opset < 11
    initializers = [numpy_helper.from_array(np.float32(3), "three")]
    initializers += [] if early else [numpy_helper.from_array(np.array(pads, np.int64), "pads")]
    nodes = [
        helper.make_node("Mul", ["x", "three"], ["m"], name="scale"),
        helper.make_node("Pad", ["m"] if early else ["m", "pads"], ["y"], name="pad", **({"pads": pads} if early else {})),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    inputs += [helper.make_tensor_value_info("three", TensorProto.FLOAT, [])] if listed else []
    graph = helper.make_graph(nodes, "scaler", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=6)


def _spliced_twice(network: Any) -> Any:
    graph = Graph(networks.common_opset(network))
    x = graph.input("x", np.float32, (2, 3))
    first = networks.splice(graph, networks.load(network), "a/", {"x": x})["y"]
    second = networks.splice(graph, networks.load(network), "b/", {"x": x + 1.0})["y"]
    graph.output("sum", first + second, np.float32, (2, 5))
    return graph.model("twice")


class TestSplice:
    @pytest.mark.parametrize("opset", [9, 11, 13, 17, 20, 21])
    def test_a_network_of_any_opset_twice_in_one_graph(self, runtime: str, opset: int) -> None:
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        found = load(_spliced_twice(_scaler(opset)), runtime)(x=x)["sum"]
        np.testing.assert_allclose(found[:, 1:4], 6 * x + 3)
        assert not found[:, [0, 4]].any()

    def test_weights_listed_as_inputs_are_none(self) -> None:
        network = _scaler(13, listed=True)
        assert [port.name for port in networks.inputs(network)] == ["x"]
        load(_spliced_twice(network), "onnxruntime")(x=np.zeros((2, 3), np.float32))

    def test_the_callers_model_stays_as_it_is(self) -> None:
        network = inswapper.random_twin()
        before = network.SerializeToString()
        prepared = networks.prepare(networks.load(network), "swap/", OPSET)
        assert network.SerializeToString() == before
        assert networks.opset(prepared) == OPSET
        assert all(node.name.startswith("swap/") for node in prepared.graph.node)

    def test_inputs_that_are_not_the_networks(self) -> None:
        graph = Graph()
        with pytest.raises(ModelError, match="inputs"):
            networks.splice(graph, _scaler(13), "a/", {"z": graph.input("z", np.float32, (2, 3))})


class TestLoad:
    def test_weights_beside_the_file(self, tmp_path: Path) -> None:
        network = inswapper.random_twin()
        onnx.save(network, tmp_path / "twin.onnx", save_as_external_data=True, location="twin.data", size_threshold=0)
        x, latent = np.full((1, 3, 128, 128), 0.5, np.float32), np.ones((1, 512), np.float32)
        models = inswapper.random_twin(), networks.load(tmp_path / "twin.onnx")
        outputs = [load(model, "onnxruntime")(target=x, source=latent)["output"] for model in models]
        np.testing.assert_array_equal(*outputs)

    @pytest.mark.parametrize("content", [b"", b"<html>not found</html>", None], ids=["empty", "a web page", "half"])
    def test_a_file_that_is_no_model(self, tmp_path: Path, content: bytes | None) -> None:
        file = tmp_path / "swap.onnx"
        whole = inswapper.random_twin().SerializeToString()
        file.write_bytes(whole[: len(whole) // 2] if content is None else content)
        with pytest.raises(ModelError, match=r"swap\.onnx"):
            networks.load(file)

    def test_weights_that_are_gone(self, tmp_path: Path) -> None:
        onnx.save(inswapper.random_twin(), tmp_path / "a.onnx", save_as_external_data=True, location="a.data", size_threshold=0)
        (tmp_path / "a.data").unlink()
        with pytest.raises(ModelError, match=r"a\.onnx"):
            networks.load(tmp_path / "a.onnx")

    def test_an_opset_that_cannot_be_reached(self) -> None:
        network = _scaler(13)
        network.graph.node[0].op_type = "NoSuchOperator"
        with pytest.raises(ModelError, match="opset"):
            networks.prepare(network, "a/", OPSET)
