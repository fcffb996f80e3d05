"""Building through TensorRT-RTX, which needs no GPU for that. Whoever imports this is skipped where it is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import pytest

from realtime.builder.prepare import fp16

trt = pytest.importorskip("tensorrt_rtx", reason="TensorRT-RTX is not installed: pip install tensorrt-rtx")

Shapes = tuple[Sequence[int], Sequence[int], Sequence[int]]


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


def engine_size(model: bytes, profiles: Mapping[str, Shapes] = MappingProxyType({}), sm: Sequence[int] = (86,)) -> int:
    """Bytes of an engine of an ONNX file's content for these compute capabilities. Fails with what the parser says where it cannot be.

    `profiles`: smallest, likeliest and largest shape of open inputs; those of the others are what they are, an open size one.
    """
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(model), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    for index in range(network.num_inputs):
        port = network.get_input(index)
        shape = [max(side, 1) for side in port.shape]
        profile.set_shape(port.name, *profiles.get(port.name, (shape, shape, shape)))
    config.add_optimization_profile(profile)
    config.num_compute_capabilities = len(sm)
    for index, number in enumerate(sm):
        config.set_compute_capability(getattr(trt.ComputeCapability, f"SM{number}"), index)
    engine = builder.build_serialized_network(network, config)
    assert engine is not None
    return int(engine.nbytes)
