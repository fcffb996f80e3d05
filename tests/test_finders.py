"""Which networks a run finds faces with: by device and profile, by name, by file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from realtime import app, finders
from realtime.backends.base import Session
from realtime.backends.select import open_session
from realtime.errors import ModelError
from realtime.finders import Finders, choose
from realtime.models.store import ModelStore
from realtime.settings import Settings
from tests.models.swappers import scene
from tests.twins import detectors, landmarks, recognisers
from tests.twins.swappers import twin


@dataclass
class Store:
    """A store that has these models, each a file that nobody reads."""

    folder: Path
    ready: tuple[str, ...] = ("yunet_320", "mesh", "sface")
    files: dict[str, Path] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return name in self.ready

    def path(self, name: str) -> Path:
        return self.files.get(name, self.folder / f"{name}.onnx")


USUAL = ("yunet_320", 320)


def chosen(store: Any, detector: str = "auto", landmarker: str = "mesh", recogniser: str = "auto", **more: Any) -> Finders:
    return choose(detector, landmarker, recogniser, store, **{"usual": USUAL, "identify": True, "on_gpu": False, **more})


def test_the_profile_decides_on_a_processor(tmp_path: Path) -> None:
    store = Store(tmp_path, ("yunet_320", "mesh", "sface", "scrfd_10g"))
    assert chosen(store) == Finders("yunet_320", 320, "mesh", "sface")
    assert chosen(store, identify=False).recogniser is None
    assert chosen(store).names == ("yunet_320", "mesh", "sface")


def test_on_a_gpu_it_is_the_best_detector_that_is_there(tmp_path: Path) -> None:
    assert chosen(Store(tmp_path, ("scrfd_10g",)), on_gpu=True) == Finders("scrfd_10g", 640, "mesh", "sface")
    assert chosen(Store(tmp_path), on_gpu=True).detector == "yunet_320"


def test_what_is_asked_for_wins(tmp_path: Path) -> None:
    asked = chosen(Store(tmp_path, ("scrfd_10g",)), "scrfd_500m", "2d106", "w600k_mbf", on_gpu=True, identify=False)
    assert asked == Finders("scrfd_500m", 640, "2d106", "w600k_mbf")
    assert asked.names == ("scrfd_500m", "mesh", "2d106", "w600k_mbf")
    assert chosen(Store(tmp_path), "my.onnx").names == ("mesh", "sface")


def test_a_processor_is_no_gpu_and_a_backend_says_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert finders.runs_on_gpu("cuda")
    assert not finders.runs_on_gpu("openvino")
    usable = ["tensorrt"]
    monkeypatch.setattr(finders, "gpus", lambda: ["one"])
    monkeypatch.setattr(finders, "describe", lambda names: [SimpleNamespace(name=name, usable=name in usable) for name in names])
    assert not finders.runs_on_gpu("auto")  # engines alone do not run files
    usable.append("cuda")
    assert finders.runs_on_gpu("auto")
    monkeypatch.setattr(finders, "gpus", list)
    assert not finders.runs_on_gpu("auto")


Open = Callable[[dict[str, Path]], dict[str, Session]]


@pytest.fixture
def opened() -> Any:
    with ExitStack() as cleanup:
        yield lambda paths: {name: cleanup.enter_context(open_session(path, "onnxruntime")) for name, path in paths.items()}


def saved(path: Path, model: Any) -> Path:
    onnx.save(model, path)
    return path


def test_a_file_of_open_size_runs_at_two_sizes(tmp_path: Path, opened: Open) -> None:
    file = saved(tmp_path / "det.onnx", detectors.scrfd_twin())
    used = chosen(Store(tmp_path), str(file))
    paths = used._detector_paths(Store(tmp_path))  # type: ignore[arg-type]
    assert [name[:4] + name[-4:] for name in paths] == ["det--320", "det--160"]
    assert {path.parent.name for path in paths.values()} == {"sized"}
    live, patient = used.detectors(opened(paths), 0.6, 40)
    assert (live.name, patient.name) == ("scrfd", "scrfd")


def test_a_file_of_fixed_size_keeps_it(tmp_path: Path, opened: Open) -> None:
    file = saved(tmp_path / "mesh.onnx", detectors.yolo_twin())
    used = chosen(Store(tmp_path), str(file))
    paths = used._detector_paths(Store(tmp_path))  # type: ignore[arg-type]
    assert paths == {"mesh-file": file}  # called like a model of the catalogue, which it is not
    assert used.detectors(opened(paths), 0.6, 40)[0].name == "yoloface"


def test_files_of_all_three_kinds(tmp_path: Path, opened: Open) -> None:
    files = [
        saved(tmp_path / name, model)
        for name, model in (
            ("d.onnx", detectors.retinaface_twin()),
            ("l.onnx", landmarks.landmark_twin("2d106det")),
            ("r.onnx", recognisers.arcface_twin()),
        )
    ]
    store = Store(tmp_path, files={"mesh": files[1]})
    used = chosen(store, *map(str, files))
    sessions = opened(used.paths(store))  # type: ignore[arg-type]
    assert set(sessions) == {"d", "l", "r", "mesh"}
    points, known = used.points(sessions), used.knows(sessions)
    assert points is not None and points.name == "2d106det"
    assert known is not None and known.name == "r"
    assert chosen(store).points(sessions) is None
    assert chosen(store, identify=False).knows(sessions) is None


def test_the_wrong_kind_of_file_is_one_sentence(tmp_path: Path, opened: Open) -> None:
    file = saved(tmp_path / "arcface.onnx", recognisers.arcface_twin())
    used = chosen(Store(tmp_path, files={"mesh": file}), str(file), str(file), str(file))
    sessions = opened({"arcface": file})
    with pytest.raises(ModelError, match=r"^arcface.onnx is no face detector .*$"):
        used.detectors(sessions, 0.6, 40)
    with pytest.raises(ModelError, match=r"^arcface.onnx is no landmark network .*$"):
        used.points(sessions)
    wrong = saved(tmp_path / "det.onnx", detectors.yunet_twin())
    with pytest.raises(ModelError, match=r"^det.onnx is no face recogniser .*$"):
        chosen(Store(tmp_path), recogniser=str(wrong)).knows(opened({"det": wrong}))


@pytest.mark.parametrize("option", ["detector", "landmarker", "recogniser"])
def test_a_file_that_is_no_network_is_one_sentence_before_a_backend_sees_it(option: str, tmp_path: Path) -> None:
    junk = tmp_path / "junk.onnx"
    junk.write_bytes(b"hello" * 100)
    store = Store(tmp_path)
    with pytest.raises(ModelError, match=r"^junk.onnx is no ONNX file, or a truncated one: get it anew$"):
        chosen(store, **{option: str(junk)}).paths(store)  # type: ignore[arg-type]
    onnx.save(recognisers.converter_twin(), junk)
    with pytest.raises(ModelError, match=r"^junk.onnx takes something else than one picture: name a file .*$"):
        chosen(store, **{option: str(junk)}).paths(store)  # type: ignore[arg-type]


DATA = Path(__file__).parent / "data"


@pytest.mark.models
def test_a_run_with_detector_and_recogniser_from_files(models: ModelStore, tmp_path: Path) -> None:
    """The default networks, as files of the user: one of them without a size of its own."""
    network = onnx.load(str(models.path("yunet_320")))
    for dim, name in zip(network.graph.input[0].type.tensor_type.shape.dim, ("n", "", "h", "w"), strict=True):
        if name:
            dim.ClearField("dim_value")
            dim.dim_param = name
    for output in network.graph.output:
        output.type.tensor_type.ClearField("shape")
    detector = saved(tmp_path / "finder.onnx", network)
    settings = Settings(
        sources=((DATA / "p001_studio.jpg",),),
        input=str(DATA / "p006_studio.jpg"),
        outputs=(str(tmp_path / "out.png"),),
        detector=str(detector),
        recogniser=str(models.path("sface")),
    )
    said: list[str] = []
    report = app.run(settings, notify=said.append)
    assert report["states"] == {"swapped": 1}
    assert report["roles"]["detector"]["model"] == str(detector)
    assert report["roles"]["recogniser"]["model"] == "sface"


@pytest.mark.models
def test_a_landmark_network_aligns_the_crops_of_a_swap_network(models: ModelStore, tmp_path: Path) -> None:
    scene.companions(tmp_path)
    network = scene.save(tmp_path, "my_inswapper.onnx", twin("inswapper_128"))
    points = saved(tmp_path / "106.onnx", landmarks.landmark_twin("2d106det"))
    settings = Settings(
        sources=((DATA / "p001_studio.jpg",),),
        input=str(DATA / "p006_studio.jpg"),
        outputs=(str(tmp_path / "out.png"),),
        swapper=str(network),
        landmarker=str(points),
    )
    report = app.run(settings, notify=lambda text: None)
    assert report["states"] == {"swapped": 1}
    assert report["roles"]["alignment"]["model"] == str(points)


@pytest.mark.models
def test_a_landmark_network_is_no_use_to_the_mesh_swap_which_is_told(models: ModelStore, tmp_path: Path) -> None:
    points = saved(tmp_path / "106.onnx", landmarks.landmark_twin("2d106det"))
    said: list[str] = []
    pictures = {"input": str(DATA / "p006_studio.jpg"), "outputs": (str(tmp_path / "out.png"),)}
    report = app.run(Settings(sources=((DATA / "p001_studio.jpg",),), landmarker=str(points), **pictures), notify=said.append)
    assert any("--landmarker aligns the crops of swap networks" in sentence for sentence in said)
    assert "alignment" not in report["roles"]
