"""The default networks, opened once for the tests of a session, and how their golden values are made.

`python -m tests.models.networks` writes golden.json anew: only after a deliberate change, and after looking at the difference.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from realtime.backends.base import Session
from realtime.backends.select import open_session
from realtime.models.detectors.yunet import YuNet
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.recognisers.sface import SFace
from realtime.models.store import ModelStore
from realtime.types import Detection, Floats, Image, Landmarks
from realtime.vision import geometry

GOLDEN = Path(__file__).with_name("golden.json")
DATA = Path(__file__).parents[1] / "data"
PICTURES = ("p001_studio", "p002_studio", "p005_studio", "p006_studio", "p006_selfie", "p009_studio", "p009_selfie", "p010_studio")
POINTS = (1, 10, 33, 61, 133, 152, 159, 234, 263, 291, 362, 386, 454)
"""Mesh points kept as golden values: nose, forehead, eye and mouth corners, chin, lids, the face's sides."""


@dataclass(frozen=True)
class Networks:
    sessions: dict[str, Session]

    @classmethod
    def open(cls, store: ModelStore, backend: str) -> Networks:
        return cls({name: open_session(store.path(name), backend) for name in ("yunet_320", "mesh", "sface")})

    @property
    def detector(self) -> YuNet:
        return YuNet(self.sessions["yunet_320"])

    @property
    def thorough(self) -> YuNet:
        return YuNet(self.sessions["yunet_320"], thorough=True)

    @property
    def landmarker(self) -> MeshLandmarker:
        return MeshLandmarker(self.sessions["mesh"])

    @property
    def recogniser(self) -> SFace:
        return SFace(self.sessions["sface"])

    def mesh(self, image: Image) -> Landmarks:
        """Found by detection, then refined once from itself, as tracking does."""
        landmarker = self.landmarker
        first = landmarker.landmarks(image, geometry.region_from_detection(self.detector.detect(image)[0]))
        return landmarker.landmarks(image, geometry.region_from_landmarks(first.points))


@dataclass(frozen=True)
class Seen:
    """What the networks make of one picture."""

    detections: list[Detection]
    mesh: Landmarks
    embedding: Floats

    @classmethod
    def look(cls, networks: Networks, image: Image) -> Seen:
        mesh = networks.mesh(image)
        return cls(networks.detector.detect(image), mesh, networks.recogniser.embed(image, geometry.five_points(mesh.points)))

    def golden(self) -> dict[str, Any]:
        return {
            "box": rounded(self.detections[0].box, 2),
            "points": rounded(self.detections[0].points, 2),
            "score": round(self.detections[0].score, 4),
            "mesh": rounded(self.mesh.points[list(POINTS)], 2),
            "presence": round(self.mesh.presence, 4),
            "embedding": rounded(self.embedding, 4),
        }


def rounded(values: Any, digits: int) -> Any:
    return np.round(np.asarray(values, np.float64), digits).tolist()


def main() -> None:
    store = ModelStore()
    store.ensure()
    networks = Networks.open(store, "onnxruntime")
    values = {}
    for name in PICTURES:
        image = cv2.imread(str(DATA / f"{name}.jpg"))
        assert image is not None
        values[name] = Seen.look(networks, image).golden()  # type: ignore[arg-type]
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
    GOLDEN.write_text(f"{{\n{rows}\n}}\n")


if __name__ == "__main__":
    main()
