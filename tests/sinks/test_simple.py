from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from realtime.errors import SinkError, UsageError
from realtime.sinks.fake import ScriptedSink
from realtime.sinks.image import ImageSink
from realtime.sinks.memory import MemorySink
from realtime.sinks.null import NullSink
from realtime.sinks.select import open_output
from realtime.sinks.video import VideoSink
from realtime.sinks.virtualcam import VirtualCamSink
from realtime.sinks.window import WindowSink
from realtime.types import State
from tests.sinks.frames import frame, picture, stream


def test_null_counts() -> None:
    with NullSink() as sink:
        sink.open(stream())
        for number in range(3):
            sink.write(frame(number))
    assert sink.count == 3 and sink.states == {State.SWAPPED: 3}


def test_memory_keeps_copies_of_the_last_frames() -> None:
    with MemorySink(limit=2) as sink:
        sink.open(stream())
        for number in range(3):
            given = frame(number)
            sink.write(given)
            given.image[:] = given.i420[:] = 0
    assert [kept.seq for kept in sink.frames] == [1, 2] and sink.closed
    assert np.array_equal(sink.frames[1].image, picture(160, 120, 2))
    assert np.array_equal(sink.frames[1].i420, frame(2).i420)


def test_a_script_is_followed() -> None:
    seen: list[int] = []
    with ScriptedSink(fail_at=2, on_write=lambda one: seen.append(one.seq)) as sink:
        sink.open(stream())
        sink.write(frame(0))
        sink.write(frame(1))
        with pytest.raises(RuntimeError, match="told to fail"):
            sink.write(frame(2))
    assert seen == sink.seqs == [0, 1, 2] and (sink.opened, sink.closed) == (1, 1)
    with pytest.raises(SinkError, match="no"):
        ScriptedSink(fail_open=True, error=SinkError("no")).open(stream())
    blocked = ScriptedSink(block_at=0, patience=0.02)
    blocked.write(frame(0))
    assert blocked.count == 1


@pytest.mark.parametrize(("text", "kind", "name"), [
    ("virtualcam", VirtualCamSink, "virtualcam"),
    ("virtualcam:/dev/video10", VirtualCamSink, "virtualcam:/dev/video10"),
    ("window", WindowSink, "window"),
    ("null", NullSink, "null"),
    ("out.mp4", VideoSink, "out.mp4"),
    ("folder/Out.MKV", VideoSink, str(Path("folder/Out.MKV"))),
    ("out.png", ImageSink, "out.png"),
    ("C:out.jpg", ImageSink, "C:out.jpg"),
])  # fmt: skip
def test_outputs_by_name(text: str, kind: type, name: str) -> None:
    sink = open_output(text)
    assert type(sink) is kind and sink.name == name
    assert sink.steady == (kind is VirtualCamSink)
    assert sink.reads_image == (kind in (WindowSink, ImageSink))


def test_sound_goes_to_videos() -> None:
    sink = open_output("out.mp4", audio_from="in.mp4")
    assert isinstance(sink, VideoSink) and sink.audio_from == "in.mp4"


@pytest.mark.parametrize("text", ["", "windows", "out.gif", "out", "virtualcamera", "null:1"])
def test_other_outputs_are_refused_with_the_possibilities(text: str) -> None:
    with pytest.raises(UsageError, match=r"use virtualcam, virtualcam:DEVICE, window, null, a video file \(\.mp4"):
        open_output(text)
