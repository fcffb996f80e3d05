"""Mistakes are told before anything large is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from realtime.assets import PERSON, SOURCE
from realtime.checking import check
from realtime.errors import BackendError, RealtimeError, SinkError, UsageError
from realtime.settings import Settings
from realtime.sinks import loopback, window
from tests.sources.media import plain, write_video

GOOD = Settings(sources=((SOURCE,),), input="synthetic", outputs=("null",))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cut.jpg").write_bytes(SOURCE.read_bytes()[:3000])
    (tmp_path / "cut.mp4").write_bytes(write_video(tmp_path / "whole.mp4", [plain(50, (64, 48))]).read_bytes()[:60])
    return tmp_path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"swapper": "inswapper_128"}, "the model inswapper_128 is missing in .*: run `.* models fetch inswapper_128`"),
        ({"swapper": "x.onnx"}, "x.onnx is no ONNX file"),
        ({"detector": "scrfd_10g"}, "scrfd_10g is not among the models in .*: run `.* models fetch scrfd_10g`"),
        ({"recogniser": "w600k_r50"}, "w600k_r50 is not among the models in"),
    ],
)
def test_a_model_that_no_run_fetches_by_itself_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], said: str
) -> None:
    monkeypatch.setenv("REALTIME_MODELS", str(folder / "models"))
    Path("x.onnx").write_bytes(b"no network")
    with pytest.raises(RealtimeError, match=said):
        check(replace(GOOD, **change))  # type: ignore[arg-type]
    assert not (folder / "models").exists()


def test_a_run_that_can_go_on_leaves_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    for change in ({"outputs": ("new.mp4", "new.png", "null")}, {"input": "whole.mp4"}, {"faces": f"reference:{PERSON}"}):
        check(replace(GOOD, **change))
    check(replace(GOOD, outputs=("whole.mp4",), overwrite=True, report=Path("whole.mp4"), frame_log=Path("/dev/null")))
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sources": ((SOURCE,), (Path("cut.jpg"),))}, "cut.jpg is damaged or cut short"),
        ({"faces": "reference:cut.jpg"}, "cut.jpg is damaged or cut short"),
        ({"map": ((0, Path("cut.jpg")),)}, "cut.jpg is damaged or cut short"),
        ({"input": "cut.mp4"}, "'cut.mp4' is not a video that can be read"),
        ({"input": "none.mp4"}, "there is no file 'none.mp4'"),
        ({"input": "gopher://x"}, "is no stream that can be read"),
        ({"outputs": ("null", "windw")}, "there is no output 'windw'"),
        ({"outputs": ("none/out.png",)}, "there is no folder none"),
        ({"report": Path("none/x.json")}, "there is no folder none"),
        ({"outputs": ("whole.mp4",)}, "there is already a file whole.mp4"),
    ],
)
def test_what_cannot_go_on_is_told(folder: Path, change: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(replace(GOOD, **change))  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere a virtual camera is found by opening it")
def test_a_virtual_camera_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "loopbacks", list)
    for output, said in (("virtualcam", "there is no virtual camera"), ("virtualcam:/dev/video99", "there is no device /dev/video99")):
        with pytest.raises(SinkError, match=said):
            check(replace(GOOD, outputs=(output,)))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a GPU may be another than NVIDIA's")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"backend": "cuda"}, "--backend cuda cannot be used here: there is no NVIDIA GPU here"),
        ({"backend": "tensorrt-rtx", "device": "0"}, "--backend tensorrt-rtx cannot be used here: there is no NVIDIA GPU here"),
        ({"device": "0"}, "--device 0 asks for a GPU, and there is no NVIDIA GPU here"),
        ({"device": "0,1"}, "--device 0,1 asks for a GPU, and there is no NVIDIA GPU here"),
    ],
)
def test_a_gpu_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, change: dict[str, str], said: str) -> None:
    monkeypatch.setattr("realtime.backends.place.gpus", list)
    monkeypatch.setattr("realtime.backends.select.gpus", list)
    with pytest.raises(BackendError, match=said):
        check(replace(GOOD, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(("backend", "device"), [("cuda", "cpu"), ("openvino", "0"), ("onnxruntime", "0,1")])
def test_a_backend_and_a_device_that_rule_each_other_out_are_told(backend: str, device: str) -> None:
    with pytest.raises(UsageError, match=f"--backend {backend} runs on .*, which --device {device} rules out"):
        check(replace(GOOD, backend=backend, device=device))


@pytest.mark.parametrize(("backend", "device"), [("auto", "auto"), ("auto", "cpu"), ("onnxruntime", "auto"), ("onnxruntime", "cpu")])
def test_what_runs_everywhere_is_let_through(backend: str, device: str) -> None:
    check(replace(GOOD, backend=backend, device=device))


def test_a_display_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise SinkError(window.NO_DISPLAY)

    monkeypatch.setattr("realtime.sinks.select.require_display", none)
    with pytest.raises(RealtimeError, match="there is no display"):
        check(replace(GOOD, outputs=("window",)))


@pytest.mark.parametrize(
    "options",
    [
        ["--input", "none.mp4", "--output", "null"],
        ["--input", "synthetic", "--output", "virtualcam:/dev/none"],
        ["--input", "synthetic", "--output", "null", "--backend", "directml" if sys.platform != "win32" else "coreml"],
        ["--input", "synthetic", "--output", "null", "--backend", "openvino", "--device", "0"],
    ],
)
def test_mistakes_are_told_before_anything_is_compiled_or_loaded(tmp_path: Path, options: list[str]) -> None:
    code = (
        "import sys; from realtime.cli import main\n"
        f"status = main(['--source', {str(SOURCE)!r}, *{options!r}])\n"
        "large = {'numba', 'openvino', 'onnxruntime', 'av', 'realtime.app'} & set(sys.modules)\n"
        "sys.exit(f'imported {large}' if large or not status else 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("\n") == 1 and "compiling" not in ended.stderr
