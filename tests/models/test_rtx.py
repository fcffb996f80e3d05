"""Every kind of network at half precision through TensorRT-RTX, which builds without a GPU. Skipped without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.models.rtx import engine_size, halved
from tests.twins import detectors, enhancers, landmarks, masks, recognisers
from tests.twins.full import full_twin
from tests.twins.swappers import DISTINCT, TWINS, dfm_twin, encoder_twin, generator_twin, twin

NETWORKS: dict[str, Callable[[], Any]] = {
    "det_10g": lambda: detectors.scrfd_twin(size=640),
    "scrfd_2.5g, wide": lambda: detectors.scrfd_twin(size=(384, 640)),
    "retinaface": lambda: detectors.retinaface_twin(),
    "yoloface_8n": lambda: detectors.yolo_twin(),
    "yolov8n-face": lambda: detectors.yolo_raw_twin(),
    "yolov5n-face": lambda: detectors.yolo5_twin(),
    "yunet": lambda: detectors.yunet_twin(),
    "w600k_r50": lambda: recognisers.arcface_twin("w600k_r50"),
    "w600k_mbf": lambda: recognisers.arcface_twin("w600k_mbf"),
    "crossface": recognisers.converter_twin,
    **{kind: (lambda kind=kind: landmarks.landmark_twin(kind)) for kind in landmarks.SIZES},
    "selfie": masks.person_twin,
    "xseg": masks.occlusion_twin,
    "occluder": masks.occluder_twin,
    "bisenet": masks.region_twin,
    "palm": lambda: masks.palm_twin((96, 126), (96, 66), 60),
    "hand": masks.hand_twin,
    "gfpgan": enhancers.face_twin,
    "gpen_bfr_256": lambda: enhancers.face_twin(256),
    "real_esrgan_x2": lambda: enhancers.frame_twin(2, 256),
    **{name: (lambda name=name: twin(name)) for name in DISTINCT if not TWINS[name].half},
    "dfm": dfm_twin,
    "encoder": encoder_twin,
    "generator": generator_twin,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_builds_at_half_precision(name: str, tmp_path: Path) -> None:
    assert engine_size(halved(NETWORKS[name](), tmp_path).read_bytes()) > 1000


@pytest.mark.parametrize("name", ["gpen_bfr_256", "xseg", "dfm_saehd_224"])
def test_published_layouts_build_too(name: str, tmp_path: Path) -> None:
    """Narrow ones, of operators that no other twin has: weights that the input scales, norms spelt out, pixels as channels."""
    full_twin(name, tmp_path / "full.onnx", share=1 / 16)
    assert engine_size(halved(onnx.load(str(tmp_path / "full.onnx")), tmp_path).read_bytes()) > 100_000


@pytest.mark.parametrize("name", [name for name in DISTINCT if TWINS[name].half])
def test_builds_as_it_is_where_it_comes_in_half_precision(name: str) -> None:
    assert engine_size(twin(name).SerializeToString()) > 5000
