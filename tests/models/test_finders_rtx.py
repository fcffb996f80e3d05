"""Detectors, recognisers and landmark networks at half precision through TensorRT-RTX, which builds without a GPU. Skipped without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from realtime.builder.prepare import fp16
from tests.twins import detectors, landmarks, recognisers

trt = pytest.importorskip("tensorrt_rtx", reason="TensorRT-RTX is not installed: pip install tensorrt-rtx")

TWINS: dict[str, Callable[[], Any]] = {
    "det_10g": lambda: detectors.scrfd_twin(size=640),
    "retinaface": lambda: detectors.retinaface_twin(),
    "yoloface_8n": lambda: detectors.yolo_twin(),
    "yolov8n-face": lambda: detectors.yolo_raw_twin(),
    "yolov5n-face": lambda: detectors.yolo5_twin(),
    "yunet": lambda: detectors.yunet_twin(),
    "w600k_r50": lambda: recognisers.arcface_twin("w600k_r50"),
    "w600k_mbf": lambda: recognisers.arcface_twin("w600k_mbf"),
    "crossface": recognisers.converter_twin,
    **{kind: (lambda kind=kind: landmarks.landmark_twin(kind)) for kind in landmarks.SIZES},
}


def fixed(model: Any) -> Any:
    """With an open batch size set to one, as the builder does."""
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    return model


@pytest.mark.parametrize("name", TWINS)
def test_builds_at_half_precision(name: str, tmp_path: Path) -> None:
    source, half = tmp_path / "twin.onnx", tmp_path / "half.onnx"
    model = fixed(TWINS[name]())
    onnx.save(model, source)
    entry = model.graph.input[0]
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
