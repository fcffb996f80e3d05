"""Mask networks and enhancers at half precision through TensorRT-RTX, which builds without a GPU. Skipped without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from realtime.builder.prepare import fp16
from tests.twins import enhancers, masks

trt = pytest.importorskip("tensorrt_rtx", reason="TensorRT-RTX is not installed: pip install tensorrt-rtx")

TWINS: dict[str, Callable[[], Any]] = {
    "selfie": masks.person_twin,
    "xseg": masks.occlusion_twin,
    "bisenet": masks.region_twin,
    "palm": lambda: masks.palm_twin((96, 126), (96, 66), 60),
    "hand": masks.hand_twin,
    "gfpgan": enhancers.face_twin,
    "gpen_bfr_256": lambda: enhancers.face_twin(256),
    "real_esrgan_x2": lambda: enhancers.frame_twin(2, 256),
}


@pytest.mark.parametrize("name", TWINS)
def test_builds_at_half_precision(name: str, tmp_path: Path) -> None:
    model, source, half = TWINS[name](), tmp_path / "twin.onnx", tmp_path / "half.onnx"
    entry = model.graph.input[0]
    entry.type.tensor_type.shape.dim[0].dim_value = 1  # as the builder closes an open batch
    onnx.save(model, source)
    shape = [dim.dim_value for dim in entry.type.tensor_type.shape.dim]
    fp16(source, half, [{entry.name: np.full(shape, 0.5, np.float32)}])
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(half.read_bytes()), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM86, 0)
    engine = builder.build_serialized_network(network, config)
    assert engine is not None
    assert engine.nbytes > 1000
