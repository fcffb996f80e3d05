"""What the checks of `gpu_check.py` feed their networks, and how they compare what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

OF_BYTES = ("yunet_320", "sface")
"""Networks that take pictures of 0..255; the others take 0..1."""


def feeds_of(name: str, onnx: Path) -> dict[str, Any]:
    """The bundled person's face for inputs that are pictures, a vector of length 1 for the others."""
    import numpy as np

    from realtime.backends.select import open_session

    with open_session(onnx, "onnxruntime") as session:
        ports = session.specs.inputs
    latent = {port.name: _latent(port.shape).astype(port.dtype) for port in ports if len(port.shape) != 4}
    bright = 255 if name in OF_BYTES else 1
    return latent | {
        port.name: np.ascontiguousarray(_face(port.shape[2:]) * np.float32(bright), port.dtype) for port in ports if len(port.shape) == 4
    }


def _face(size: tuple[int, ...]) -> Any:
    """(1, 3, h, w) float32 RGB 0..1."""
    import cv2
    import numpy as np

    frame = some_frames((720, 1280))[0]
    x, y, side, _ = small_feeds("follow", frame.shape[:2])["region"].astype(int)
    crop = frame[y - side // 2 : y + side // 2, x - side // 2 : x + side // 2, ::-1]
    return np.float32(cv2.resize(np.ascontiguousarray(crop), size[::-1], interpolation=cv2.INTER_AREA).transpose(2, 0, 1)[None]) / 255


def _latent(shape: tuple[int, ...]) -> Any:
    import numpy as np

    numbers = np.random.default_rng(3).standard_normal(shape)
    return numbers / np.linalg.norm(numbers)


def some_frames(size: tuple[int, int]) -> list[Any]:
    """The bundled person, six times a little further to the right, so that each is another buffer with other pixels.

    Not noise: without a face the mesh network's outputs mean nothing, and hang on the last bit of what comes in.
    """
    import cv2
    import numpy as np

    from realtime.sources.synthetic import bundled_person

    frame = cv2.resize(bundled_person(), size[::-1], interpolation=cv2.INTER_AREA)
    return [np.ascontiguousarray(np.roll(frame, 2 * step, axis=1)) for step in range(6)]


def small_feeds(graph: str, size: tuple[int, int]) -> dict[str, Any]:
    """Where the bundled person's face is, as the detector and two looks of the mesh network have it, and a latent."""
    import numpy as np

    region = np.array([0.502 * size[1], 0.480 * size[0], 0.713 * size[0], -4.2], np.float32)
    return {"region": region} | ({"latent": _latent((1, 512)).astype(np.float32)} if graph == "follow_swap" else {})


def on_processor(onnx: Path, feeds: Mapping[str, Any]) -> dict[str, Any]:
    from realtime.backends.onnxruntime import load

    session = load().InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def difference(found: Mapping[str, Any], truth: Mapping[str, Any]) -> float:
    """The worst output's mean difference over its range, or over its size where it is one number; infinite where something is no number."""
    import numpy as np

    worst = 0.0
    for name, expected in truth.items():
        a, b = np.asarray(found[name], np.float64).ravel(), np.asarray(expected, np.float64).ravel()
        scale = max(float(np.ptp(b)) or float(np.abs(b).max()), 1e-6)
        off = float(np.abs(a - b).mean()) / scale
        worst = max(worst, off if np.isfinite(off) else float("inf"))
    return worst
