"""Building at half precision through TensorRT-RTX, which needs no GPU for that. Whoever imports this is skipped where it is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from realtime.builder.prepare import fp16

trt = pytest.importorskip("tensorrt_rtx", reason="TensorRT-RTX is not installed: pip install tensorrt-rtx")


def halved(model: Any, folder: Path) -> Path:
    """The model in half precision, made as the builder makes it: an open batch closed, values watched on a sample."""
    source, half = folder / "twin.onnx", folder / "half.onnx"
    shapes = {}
    for port in model.graph.input:
        for dim in port.type.tensor_type.shape.dim:
            dim.dim_value = dim.dim_value or 1
        shapes[port.name] = [dim.dim_value for dim in port.type.tensor_type.shape.dim]
    onnx.save(model, source)
    fp16(source, half, [{name: np.random.default_rng(1).random(shape, np.float32) for name, shape in shapes.items()}])
    return half


def engine_size(path: Path) -> int:
    """Bytes of an engine of this file. Fails with what the parser says where it cannot be."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(path.read_bytes()), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    for index in range(network.num_inputs):
        port = network.get_input(index)
        shape = [max(side, 1) for side in port.shape]
        profile.set_shape(port.name, shape, shape, shape)
    config.add_optimization_profile(profile)
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM86, 0)
    engine = builder.build_serialized_network(network, config)
    assert engine is not None
    return int(engine.nbytes)
