"""Scenes without models, and a small network of a swap's kind."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest

from realtime.builder import child, jobs
from realtime.builder.recipes import Network, Part, Recipe
from realtime.builder.run import WriteScenes
from realtime.builder.scenes import Scene, save
from realtime.types import Region
from realtime.vision.align import ARCFACE_112
from tests.twins.inswapper import random_twin
from tests.twins.recognisers import arcface_twin


@pytest.fixture(scope="session")
def scenes() -> list[Scene]:
    """Smooth random pictures of 256 pixels, each with a "face" of 112."""
    random = np.random.default_rng(3)
    found = []
    for _ in range(3):
        coarse = random.integers(0, 256, (8, 8, 3), np.uint8)
        image = np.ascontiguousarray(np.kron(coarse, np.ones((32, 32, 1), np.uint8)))
        found.append(Scene(image, Region(128, 128, 160, 0), ARCFACE_112 + np.float32(60)))
    return found


class _Ended:
    """A child that has done its work."""

    returncode = 0

    def poll(self) -> int:
        return 0


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build's tasks are done by the children's own code in the tests' process: a child takes seconds to start."""

    def done(command: list[str], **keywords: object) -> _Ended:
        child.main(*map(Path, command[-2:]))
        return _Ended()

    monkeypatch.setattr(jobs, "subprocess", SimpleNamespace(Popen=done, DEVNULL=subprocess.DEVNULL))


@pytest.fixture
def write_scenes(scenes: list[Scene]) -> WriteScenes:
    return lambda path: save(scenes, path)


@pytest.fixture
def twin(tmp_path: Path) -> Path:
    path = tmp_path / "twin.onnx"
    onnx.save(random_twin(64, 16), path)
    return path


@pytest.fixture(scope="session")
def recogniser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stands in for SFace: another length, and known for looking at the whole face."""
    path = tmp_path_factory.mktemp("recogniser") / "sface.onnx"
    onnx.save(arcface_twin(), path)
    return path


def network(path: Path, *precisions: str, role: str = "network", **gate: float) -> Network:
    return Network(path.stem, (Part(path, role),), role, Recipe(precisions or ("fp32", "int8"), gate))


def around_mesh(mesh: Path, *precisions: str, **gate: float) -> Network:
    return Network("follow", (Part(mesh, "landmarker"),), "follow", Recipe(precisions, gate, graph="follow", of="mesh"))


def around_swapper(mesh: Path, swapper: Path, *precisions: str, **gate: float) -> Network:
    recipe = Recipe(precisions, gate, graph="follow_swap", of="mesh", swap=str(swapper))
    return Network(f"follow_swap-{swapper.stem}", (Part(mesh, "landmarker"), Part(swapper, "swapper")), "follow_swap", recipe)
