"""The whole program on real models: photo in, picture or file in, swapped and marked picture or file out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from PIL import Image as Pil

from realtime import app, cli
from realtime.backends.select import open_session
from realtime.errors import SinkError, SourceError, UsageError
from realtime.models.detectors.yunet import YuNet
from realtime.models.landmarks.mesh import MeshLandmarker
from realtime.models.recognisers.sface import SFace
from realtime.models.store import ModelStore
from realtime.settings import Settings
from realtime.sources.base import SourceInfo
from realtime.sources.fake import FakeSource
from realtime.sources.transform import Transformed
from realtime.trust import credentials
from realtime.trust.reading import read_mark
from realtime.trust.xmp import COMPOSITE, source_types
from realtime.types import Image, OutputFrame, State
from realtime.vision import geometry
from tests.sources import rtsp
from tests.sources.media import write_video

pytestmark = pytest.mark.models
DATA = Path(__file__).parent / "data"
SOURCE, TARGET = DATA / "p001_studio.jpg", DATA / "p006_studio.jpg"


@pytest.fixture(autouse=True)
def ready(models: ModelStore) -> None:
    """Each run here loads the models that the fixture made sure of."""


def settings(tmp_path: Path, given: Path | str = TARGET, *outputs: str, **more) -> Settings:
    return Settings(sources=((SOURCE,),), input=str(given), outputs=tuple(str(tmp_path / name) for name in outputs), **more)


def clip(path: Path, count: int = 25) -> Path:
    """A person who drifts to the right, 320x320 at 25 fps, with sound."""
    photo = cv2.resize(cv2.imread(str(TARGET)), (320, 320), interpolation=cv2.INTER_AREA)
    return write_video(path, [np.roll(photo, n // 2, axis=1) for n in range(count)], sound=True)


def frames_of(path: Path) -> list[Image]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]


@pytest.mark.parametrize(
    ("state", "frozen", "signed"), [(State.SWAPPED, False, True), (State.LOST, True, True), (State.LOST, False, False)]
)
def test_a_still_is_signed_when_it_shows_a_swap_of_whatever_moment(tmp_path: Path, monkeypatch, state, frozen, signed) -> None:
    if signed and not credentials.available():
        pytest.skip("c2pa-python is not installed")
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    image = np.full((48, 64, 3), 90, np.uint8)
    frame = OutputFrame(0, 0.0, state, image, image[..., 0], frozen=frozen)
    app.App(settings(tmp_path), notify=told.append)._save_still(frame)
    (saved,) = tmp_path.glob("still-*.png")
    assert told == [f"saved {saved}"]
    assert (credentials.read(saved).state, source_types(saved)) == (("intact", [COMPOSITE]) if signed else ("none", []))


@pytest.fixture(scope="module")
def likeness(models: ModelStore):
    """Cosine between the faces of two pictures."""
    mesh = MeshLandmarker(open_session(models.path("mesh")))
    detector, recogniser = YuNet(open_session(models.path("yunet_320"))), SFace(open_session(models.path("sface")))

    def embed(image: Image):
        detection = detector.detect(image)[0]
        points = mesh.landmarks(image, geometry.region_from_detection(detection)).points
        return recogniser.embed(image, geometry.five_points(points))

    return lambda one, other: float(embed(one) @ embed(other))


def test_a_picture_gets_the_face_of_the_photo_and_is_marked(tmp_path, likeness):
    report = app.run(settings(tmp_path, TARGET, "out.png", badge="off"))
    before, after, source = (cv2.imread(str(path)) for path in (TARGET, tmp_path / "out.png", SOURCE))
    assert report["states"] == {"swapped": 1}
    assert likeness(after, source) > 0.4 > likeness(before, source)
    assert read_mark([after]).found
    assert not read_mark([before]).found
    assert source_types(tmp_path / "out.png") == [COMPOSITE]
    assert not credentials.available() or credentials.read(tmp_path / "out.png").by_ai
    # Beyond the face only the mark has changed anything: one level, two where rounding adds up.
    assert np.abs(after[:, :60].astype(int) - before[:, :60]).max() <= 2


def test_a_file_keeps_every_frame_its_times_and_its_sound(tmp_path):
    report = app.run(settings(tmp_path, clip(tmp_path / "in.mp4"), "out.mp4", frame_log=tmp_path / "log.jsonl", report=tmp_path / "r.json"))
    assert (report["frames_in"], report["frames_out"], report["dropped"]) == (25, 25, 0)
    assert json.loads((tmp_path / "r.json").read_text()) == report
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["seq"] for row in rows] == list(range(25))
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert container.streams.audio
        assert float(container.duration / av.time_base) == pytest.approx(1.0, abs=0.1)
    frames = frames_of(tmp_path / "out.mp4")
    assert len(frames) == 25
    assert read_mark(frames[10:20]).found


def empty_room(path: Path) -> Path:
    cv2.imwrite(str(path), np.random.default_rng(0).integers(0, 255, (240, 320, 3), np.uint8))
    return path


def test_of_a_picture_without_a_face_nothing_is_written(tmp_path):
    old = tmp_path / "old.png"
    old.write_bytes(b"what was there")
    report = app.run(settings(tmp_path, empty_room(tmp_path / "room.png"), "out.png", "old.png", overwrite=True))
    assert (report["states"], report["hidden_frames"]) == ({"starting": 1}, 1)
    assert not (tmp_path / "out.png").exists() and old.read_bytes() == b"what was there"


def test_a_picture_without_a_face_is_a_failure_in_one_sentence(tmp_path, capsys):
    room, target = empty_room(tmp_path / "room.png"), tmp_path / "out.png"
    assert cli.main(["--source", str(SOURCE), "--input", str(room), "--output", str(target)]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines()[-1].startswith("realtime: no face to swap was found in room.png, so nothing was written: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["room.png"]


def test_a_video_without_a_face_keeps_its_length_but_shows_nothing_of_it(tmp_path):
    film = write_video(tmp_path / "in.mp4", [cv2.imread(str(empty_room(tmp_path / "room.png")))] * 5)
    assert app.run(settings(tmp_path, film, "out.mp4"))["hidden_frames"] == 5
    frames = frames_of(tmp_path / "out.mp4")
    assert len(frames) == 5 and np.abs(frames[2].astype(int) - cv2.imread(str(tmp_path / "room.png"))).mean() > 30


def test_pass_warns_before_it_shows_anything(tmp_path):
    said: list[str] = []
    app.run(settings(tmp_path, TARGET, "out.png", on_lost="pass"), notify=said.append)
    assert any("your own face is shown" in sentence for sentence in said)


def test_a_report_says_what_kind_of_input_it_was(tmp_path):
    still = app.run(settings(tmp_path, TARGET, "out.png"))
    assert (still["input"]["kind"], still["hidden_frames"]) == ("picture", 0)
    said: list[str] = []
    film = app.run(settings(tmp_path, clip(tmp_path / "in.mp4"), "last.jpg", fps=60.0, seconds=0.4), notify=said.append)
    assert (film["input"]["kind"], film["frames_out"]) == ("file", 10)
    assert any("last.jpg will hold the last frame only" in sentence for sentence in said)
    assert any(sentence.startswith("--fps is for cameras: in.mp4 keeps its own rate") for sentence in said)


def test_two_people_under_one_source_are_noticed(tmp_path):
    said: list[str] = []
    pair = replace(settings(tmp_path, TARGET, "out.png"), overwrite=True)
    app.run(replace(pair, sources=((SOURCE, TARGET),)), notify=said.append)
    assert any("p006_studio.jpg does not look like p001_studio.jpg" in sentence for sentence in said)
    said.clear()
    app.run(replace(pair, sources=((DATA / "p006_studio.jpg", DATA / "p006_selfie.jpg"),)), notify=said.append)
    assert not any("does not look like" in sentence for sentence in said)


def test_the_odd_one_out_is_noticed_where_it_comes_first_and_nobody_is_recognised_in_the_run(tmp_path):
    said: list[str] = []
    sources = (DATA / "p001_studio.jpg", DATA / "p009_studio.jpg", DATA / "p009_selfie.jpg")  # SFace: 0.51 between the portraits
    light = replace(settings(tmp_path, TARGET, "out.png", profile="light"), sources=(sources,))
    report = app.run(light, notify=said.append)
    (sentence,) = (sentence for sentence in said if "does not look like" in sentence)
    assert sentence.startswith("p001_studio.jpg does not look like the person in the other photos: leave it out, or for two people give")
    assert "recogniser" not in report["roles"]


def test_a_mistyped_output_is_told_before_any_model_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "load_models", lambda *_: pytest.fail("models were loaded"))
    with pytest.raises(UsageError, match="there is no output 'windw'"):
        app.run(replace(settings(tmp_path), outputs=("windw",)))


def test_a_stream_that_does_not_answer_is_told_before_any_model_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "load_models", lambda *_: pytest.fail("models were loaded"))
    with pytest.raises(SourceError, match=r"'rtsp://127\.0\.0\.1:9/x' cannot be played: .* refused"):
        app.run(settings(tmp_path, "rtsp://me:secret@127.0.0.1:9/x", "out.mp4"))
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_fails_while_kernels_are_compiled_is_told_then(tmp_path, monkeypatch):
    class Failing(FakeSource):
        asked = 0

        def begin(self, wait: float = 0.0) -> None:
            self.asked += 1
            if self.asked == 3:
                raise SourceError("it gave nothing within the time limit")

    def compiling(look):
        look()
        pytest.fail("it went on compiling")

    monkeypatch.setattr(app, "open_input", lambda *given, **more: Transformed(Failing([])))
    with pytest.raises(SourceError, match="gave nothing"):
        app.App(settings(tmp_path, TARGET, "out.mp4"), kernels=compiling).run()


def test_a_network_camera_is_swapped_and_its_password_is_nowhere(tmp_path):
    """The whole program, as a user calls it."""
    photo = cv2.resize(cv2.imread(str(TARGET)), (320, 320), interpolation=cv2.INTER_AREA)
    shown = rtsp.Camera(rtsp.encoded([np.roll(photo, n, axis=1) for n in (0, 2, 4, 6, 8, 8, 6, 4, 2, 0)]), 25.0, login="me:hunter2")
    with rtsp.camera(shown) as url:
        address = url.replace("rtsp://", "rtsp://me:hunter2@") + "?key=hunter3"
        files = ["--output", "out.mp4", "--report", "report.json", "--frame-log", "log.jsonl", "--log-level", "debug"]
        command = [sys.executable, "-m", "realtime", "--source", str(SOURCE), "--input", address, "--frames", "12", *files]
        environment = {**os.environ, "PYTHONPATH": str(Path(app.__file__).parents[1])}  # these sources, whose kernels are compiled already
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["states"]["swapped"] > 0
    assert report["input"] == {"name": f"{url}?...", "kind": "live", "width": 320, "height": 320, "fps": report["input"]["fps"]}
    assert frames_of(tmp_path / "out.mp4")
    told = (done.stdout + done.stderr).encode() + b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"hunter" not in told


def test_a_report_that_cannot_be_written_does_not_hide_what_ended_the_run(tmp_path, monkeypatch):
    folder = tmp_path / "stick"
    folder.mkdir()

    def broken(pipeline):
        folder.rmdir()
        raise SinkError("the cable is out")

    monkeypatch.setattr(app.Pipeline, "run", broken)
    said: list[str] = []
    with pytest.raises(SinkError, match="the cable is out"):
        app.run(settings(tmp_path, TARGET, "out.png", report=folder / "r.json"), notify=said.append)
    assert any("cannot write the report" in sentence for sentence in said)


def test_a_start_decodes_a_photo_once_and_asks_once_how_a_model_is(tmp_path, monkeypatch):
    class LoadedError(Exception):
        pass

    opened: list[str] = []
    asked: list[str] = []
    opening, asking, loading = Pil.open, ModelStore.status, app.load_models
    monkeypatch.setattr(Pil, "open", lambda path, *more: opened.append(Path(path).name) or opening(path, *more))
    monkeypatch.setattr(ModelStore, "status", lambda store, name: asked.append(name) or asking(store, name))
    monkeypatch.setattr(app, "load_models", lambda *given: counts.update(Counter(asked)) or loading(*given))
    counts: Counter[str] = Counter()
    app.run(settings(tmp_path, TARGET, "out.png", faces=f"reference:{DATA / 'p006_selfie.jpg'}"))
    assert (opened.count(SOURCE.name), opened.count("p006_selfie.jpg")) == (1, 1)
    assert counts == {"yunet_320": 1, "mesh": 1, "sface": 1}


def test_there_is_something_to_put_in_order_from_the_run_on_and_not_while_it_loads(tmp_path, monkeypatch):
    happened: list[str] = []
    loading = app.load_models

    def load(*given):
        happened.append("loads")
        return loading(*given)

    monkeypatch.setattr(app, "load_models", load)
    monkeypatch.setattr(app.Pipeline, "run", lambda pipeline: happened.append("runs"))
    app.App(settings(tmp_path, TARGET, "out.png"), begins=lambda: happened.append("begins")).run()
    assert happened == ["loads", "begins", "runs"]


def test_there_is_something_to_put_in_order_when_a_model_has_to_be_fetched(tmp_path, monkeypatch):
    class BegunError(Exception):
        pass

    def begins():
        raise BegunError

    monkeypatch.setenv("REALTIME_MODELS", str(tmp_path / "empty"))
    monkeypatch.setattr("realtime.models.store.ModelStore.fetch", lambda *given, **more: pytest.fail("fetched before that"))
    with pytest.raises(BegunError):
        app.App(settings(tmp_path, TARGET, "out.png"), begins=begins).run()


@pytest.mark.parametrize(
    ("limits", "frames", "count"),
    [({}, 100, 100), ({"frames": 7}, 100, 7), ({"seconds": 2.0}, 100, 50), ({"seconds": 9.0}, 100, 100), ({}, None, None)],
)
def test_how_many_frames_there_will_be(limits, frames, count):
    info = SourceInfo("talk.mp4", 64, 48, 25.0, live=False, frames=frames)
    assert app.expected(info, Settings(sources=(), **limits)) == count


def test_a_source_without_a_face_ends_before_anything_is_opened(tmp_path):
    blank = tmp_path / "blank.png"
    cv2.imwrite(str(blank), np.full((300, 300, 3), 128, np.uint8))
    with pytest.raises(UsageError, match=r"blank\.png"):
        app.run(replace(settings(tmp_path, TARGET, "out.png"), sources=((blank,),)))
    assert not (tmp_path / "out.png").exists()


def test_both_backends_swap_alike(tmp_path, likeness):
    pictures = []
    for backend in ("openvino", "onnxruntime"):
        app.run(settings(tmp_path, TARGET, f"{backend}.png", backend=backend))
        pictures.append(cv2.imread(str(tmp_path / f"{backend}.png")))
    assert np.abs(pictures[0].astype(int) - pictures[1]).mean() < 1.0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_a_playable_file(tmp_path, number, status):
    target = tmp_path / "out.mp4"
    options = ["--source", str(SOURCE), "--input", "synthetic", "--output", str(target), "--size", "640x360"]
    command = [sys.executable, "-m", "realtime", *options]
    environment = {**os.environ, "PYTHONPATH": str(Path(app.__file__).parents[1])}  # these sources, whose kernels are compiled already
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        part = lambda: [path for path in tmp_path.glob("*out*.mp4") if path.stat().st_size > 20_000]  # noqa: E731
        until = time.perf_counter() + 300
        while not part() and time.perf_counter() < until and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        out, errors = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in out + errors
    assert len(frames_of(target)) > 3
    assert [path.name for path in tmp_path.iterdir()] == ["out.mp4"]
