"""The look that finds a face swaps it as well: the same picture as by the networks one after the other, and when it is not used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from realtime.backends import engine
from realtime.backends.around import AroundSession
from realtime.backends.base import FrameSession, TensorSpec
from realtime.backends.cuda import CudaDevice
from realtime.backends.onnxruntime import OnnxRuntimeFrames
from realtime.backends.select import open_frames, open_session
from realtime.backends.tensorrt import TensorRtFrames
from realtime.errors import ModelError
from realtime.graphs.follow import follow_swap
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.landmarks.swapping import SwappingLandmarker
from realtime.models.peek import Peek
from realtime.models.swappers.aligned import AlignedSwapper, SwapIdentity
from realtime.models.swappers.fused import fused
from realtime.models.swappers.recognise import recognise
from realtime.models.swappers.select import SwapOptions, open_swapper
from realtime.types import Array, Image, Region
from tests.backends.gpu import FakeDriver
from tests.backends.library import FakeTensorRt
from tests.models.swappers import scene
from tests.twins import mesh
from tests.twins.swappers import twin

REGION = Region(250, 245, 380, 7)


class Counted(AroundSession):
    runs = 0

    def run(self, feeds: Mapping[str, Array] | None = None) -> Mapping[str, Array]:
        self.runs += 1
        return super().run(feeds)


@dataclass
class Rig:
    """A swap network, alone and as part of the graph, on ONNX Runtime."""

    landmarker: SwappingLandmarker
    swapper: AlignedSwapper
    plain: AlignedSwapper
    networks: list[Counted]
    looks: list[tuple[int, ...]]
    """Shapes of the frames that the graph was run on."""
    change: dict[str, Callable[[Array], Array]]
    """Output of the graph -> what becomes of it."""

    def other(self) -> SwapIdentity:
        """Somebody as unlike the first as can be."""
        found = self.swapper.fit([scene.photo("p001_studio")])
        return SwapIdentity("other", -found.source)

    def frame(self, image: Image, region: Region = REGION, moved: float = 0.0) -> Array:
        """One frame's way: found, swapped where the face is, or `moved` pixels beside, and shown."""
        found = self.landmarker.landmarks(image, region).points
        seen = scene.face(np.asarray(found + np.array([moved, 0, 0]), np.float32))
        return scene.shown(image, self.swapper.swap(image, seen))

    @property
    def ran(self) -> tuple[int, int]:
        """Runs of the graph, and of the swap network by itself."""
        return len(self.looks), sum(network.runs for network in self.networks)


@pytest.fixture(params=["inswapper_128", "hyperswap_1a_256"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    path = scene.save(tmp_path, f"{request.param}.onnx", twin(request.param))
    scene.companions(tmp_path)
    networks: list[Counted] = []
    looks: list[tuple[int, ...]] = []
    change: dict[str, Callable[[Array], Array]] = {}

    class Frames(OnnxRuntimeFrames):
        def run(self, frame: Array) -> Mapping[str, Array]:
            looks.append(frame.shape)
            return {name: change.get(name, np.asarray)(value) for name, value in super().run(frame).items()}

        def takes(self, shape: tuple[int, ...]) -> bool:
            return shape[0] >= 400

    def opened(file: Path) -> Counted:
        session = Counted(cleanup.enter_context(open_session(file, "onnxruntime")))
        if file == path:
            networks.append(session)
        return session

    with ExitStack() as cleanup:
        whole = follow_swap(mesh.mesh_twin(), fused(recognise(path, Peek(path)), path), gather_bytes=True)
        session = cleanup.enter_context(open_frames(whole.SerializeToString(), on_gpu=False))
        session.__class__ = Frames
        face = scene.save(tmp_path, "mesh.onnx", mesh.mesh_twin())
        landmarker = SwappingLandmarker(session, MeshLandmarker(cleanup.enter_context(open_session(face, "onnxruntime"))))
        around = replace(scene.surroundings(tmp_path), open_network=opened)
        swapper, plain = (open_swapper(path, SwapOptions(), around) for _ in range(2))
        swapper.take_from(landmarker)
        for each in (swapper, plain):
            each.use(each.fit([scene.photo("p001_studio")]))
        yield Rig(landmarker, swapper, plain, networks[:1], looks, change)


def pictures(count: int) -> list[Image]:
    """A person who moves a little, each picture an array of its own."""
    image, _ = scene.picture("p006_studio")
    return [np.roll(image, 2 * n, axis=1) for n in range(count)]


def test_from_the_second_frame_on_the_graph_alone_runs_and_shows_the_same(rig: Rig) -> None:
    """Within a level on average: the graph samples the frame in floats, and its matrix is float32."""
    for number, image in enumerate(pictures(5)):
        shown = rig.frame(image)
        assert rig.ran == (number, 1)
        seen = scene.face(rig.landmarker.landmarks(image, REGION).points)
        expected = scene.shown(image, rig.plain.swap(image, seen))
        off, changed = np.abs(shown.astype(int) - expected), (expected != image).any(2)
        assert changed.sum() > 20_000 and off[changed].mean() < 1 and np.percentile(off[changed], 99) <= 4


def test_another_person_is_shown_at_once(rig: Rig) -> None:
    first, second, third = pictures(3)
    rig.frame(first)
    before = rig.frame(second)
    rig.swapper.use(rig.other())
    again = rig.frame(second.copy())
    assert np.abs(again.astype(int) - before).max() > 8
    rig.frame(third)
    rig.plain.use(rig.other())
    seen = scene.face(rig.landmarker.landmarks(second, REGION).points)
    expected = scene.shown(second, rig.plain.swap(second, seen))
    assert np.abs(again.astype(int) - expected).mean() < 0.5


def test_a_person_chosen_between_look_and_swap_is_not_the_one_of_the_look(rig: Rig) -> None:
    first, second = pictures(2)
    rig.frame(first)
    rig.landmarker.landmarks(second, REGION)
    rig.swapper.use(rig.other())
    seen = scene.face(rig.landmarker.landmarks(second, REGION).points)
    rig.swapper.swap(second, seen)
    assert rig.ran == (1, 2)


def test_only_the_first_look_at_a_frame_swaps_and_only_after_a_swap(rig: Rig) -> None:
    first, second, third = pictures(3)
    rig.landmarker.landmarks(first, REGION)
    rig.frame(second)
    assert rig.ran == (0, 1)
    for _ in range(3):
        rig.landmarker.landmarks(third, REGION)
    assert rig.ran == (1, 1)
    rig.landmarker.landmarks(third.copy(), REGION)
    assert rig.ran == (1, 1), "nothing was swapped in the frame before"


def test_a_face_elsewhere_than_the_look_found_it_is_swapped_by_itself(rig: Rig) -> None:
    first, second, third = pictures(3)
    rig.frame(first)
    rig.frame(second, moved=1)
    assert rig.ran == (1, 1)
    rig.frame(third, moved=40)
    assert rig.ran == (2, 2)


def test_frames_that_the_graph_does_not_take_go_through_the_networks(rig: Rig) -> None:
    small = [picture[:396].copy() for picture in pictures(2)]
    for image in small:
        rig.frame(image, REGION._replace(y=200))
    assert rig.ran == (0, 2)


def test_a_black_picture_is_not_shown_and_the_graph_is_not_asked_again(rig: Rig) -> None:
    first, second, *others = pictures(5)
    rig.frame(first)
    rig.change["patch"] = np.zeros_like
    shown = rig.frame(second)
    seen = scene.face(rig.landmarker.landmarks(second, REGION).points)
    assert np.abs(shown.astype(int) - scene.shown(second, rig.plain.swap(second, seen))).max() <= 2
    for image in others:
        rig.frame(image)
    assert rig.ran == (2, 5), "one more look was under way"


def test_a_matrix_that_is_no_number_is_not_used(rig: Rig) -> None:
    first, second = pictures(2)
    rig.frame(first)
    rig.change["matrix"] = lambda matrix: matrix * np.float32(np.nan)
    rig.frame(second)
    assert rig.ran == (1, 2)


def test_a_fork_has_its_own_way(rig: Rig) -> None:
    first, second = pictures(2)
    rig.frame(first)
    other = rig.swapper.fork()
    other.use(rig.other())
    other.swap(second, scene.face(rig.landmarker.landmarks(second, REGION).points))
    assert rig.ran == (1, 2)


def test_a_graph_of_another_kind_is_refused() -> None:
    class Follows:
        inputs: Mapping[str, Array] = {"region": np.zeros(4, np.float32)}

    with pytest.raises(ModelError, match=r"was to take a frame and latent, region: it takes region$"):
        SwappingLandmarker(Follows(), None)  # type: ignore[arg-type]


def test_on_a_gpu_a_frame_is_one_upload_one_launch_and_one_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the stand-ins for driver and library, whose graph finds a face of 40 pixels and paints it grey."""
    points = (scene.picture("p006_studio")[1] * 0.1).astype(np.float32)
    outputs = [("landmarks", (468, 3)), ("presence", (1,)), ("next_region", (4,)), ("matrix", (2, 3))]
    specs = [TensorSpec(name, shape, np.dtype(np.float32)) for name, shape in outputs]
    specs += [TensorSpec("patch", (128, 128, 3), np.dtype(np.uint8)), TensorSpec("mask", (128, 128), np.dtype(np.uint8))]
    inputs = [TensorSpec("frame", (-1, -1, 3), np.dtype(np.uint8)), TensorSpec("region", (4,), np.dtype(np.float32))]
    inputs += [TensorSpec("latent", (1, 512), np.dtype(np.float32))]
    driver = FakeDriver()
    path = scene.save(tmp_path, "inswapper_128.onnx", twin("inswapper_128"))
    scene.companions(tmp_path)
    swapper = open_swapper(path, SwapOptions(), scene.surroundings(tmp_path))
    wanted = np.linalg.inv(np.vstack([scene.similarity(scene.five(points), swapper._template), [0, 0, 1]]))[:2]

    def network(feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        level = feeds["frame"].max() if feeds["latent"].any() else 0
        found = {"landmarks": points, "presence": np.ones(1), "next_region": feeds["region"], "matrix": wanted}
        return {**found, "patch": np.full((128, 128, 3), level, np.uint8), "mask": np.full((128, 128), 255, np.uint8)}

    library = FakeTensorRt(driver, inputs, specs, network)
    monkeypatch.setattr(engine, "import_module", lambda name: library)
    (tmp_path / "whole.engine").write_bytes(b"engine")
    session: FrameSession = TensorRtFrames(tmp_path / "whole.engine", "tensorrt", CudaDevice(driver))

    class Known:
        name = "known"

        def landmarks(self, image: Image, region: Region) -> Any:
            return scene.face(points).landmarks

    with session:
        landmarker = SwappingLandmarker(session, Known())
        swapper.take_from(landmarker)
        swapper.use(SwapIdentity("", np.full((1, 512), 0.1, np.float32)))
        for number in range(7):
            frame = np.full((64, 64, 3), 100 + number, np.uint8)
            before = len(driver.calls)
            patch = swapper.swap(frame, scene.face(landmarker.landmarks(frame, Region(25, 25, 40, 0)).points))
            calls = [name for name, _ in driver.calls[before:]]
            if number >= 6:  # the first by the network alone, two to settle, and a graph for each of the frame's two places
                assert patch is not None and int(patch.colour[patch.colour.shape[0] // 2, patch.colour.shape[1] // 2, 0]) == 100 + number
                assert calls.count("cuGraphLaunch") == 1 and calls.count("cuStreamBeginCapture") == 0
                assert calls.count("cuMemcpyHtoDAsync") == 1, "the frame; region and latent are in the graph"
                assert calls.count("download") == 1
