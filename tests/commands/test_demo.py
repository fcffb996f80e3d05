from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pictures

import realtime
from realtime import cli
from realtime.commands import demo
from realtime.commands.sheet import WIDTH, Pair, Sheet, draw_sheet, square
from realtime.errors import SinkError, UsageError
from realtime.sinks.video import VideoSink
from realtime.types import OutputFrame, State, StreamFormat

REPORT: dict[str, Any] = {
    "frames_in": 53, "frames_out": 49, "dropped": 1, "unfinished": 3, "fps": 30.0,
    "age_ms": {"p50": 7.0, "p95": 8.0, "p99": 9.0, "max": 12.0},
    "stage_ms": {"capture": 0.5, "infer": 4.0, "blend": None}, "detections": 1, "lost_frames": 0, "seconds": 1.7,
    "roles": {"detector": {"model": "yunet", "backend": "openvino"}, "swapper": {"model": "mesh", "backend": "cpu"}},
}  # fmt: skip


def picture(level: int, height: int = 72, width: int = 128) -> Any:
    return np.full((height, width, 3), level, np.uint8)


def write_video(path: Path, count: int) -> None:
    """Frame n is grey of level 4 n."""
    with VideoSink(path) as sink:
        sink.open(StreamFormat(128, 72, 30.0, live=False))
        for n in range(count):
            image = picture(4 * n)
            i420 = np.full((108, 128), 128, np.uint8)
            i420[:72] = 16 + round(4 * n * 219 / 255)
            sink.write(OutputFrame(n, 0.0, State.SWAPPED, image, i420, media_time=n / 30))


def test_choose_spreads_over_the_last_whole_sway() -> None:
    frames = [(n, n + 5) for n in range(100)]
    chosen = demo.choose(frames, half_period=40)
    assert [seq for _, seq in chosen] == [40, 50, 60, 70, 80]
    assert all((n, seq) in frames for n, seq in chosen)


def test_choose_takes_what_there_is_of_a_short_run() -> None:
    assert demo.choose([(3, 4), (4, 5)], 40) == [(3, 4), (3, 4), (3, 4), (4, 5), (4, 5)]
    with pytest.raises(SinkError, match="swapped no face"):
        demo.choose([], 40)


def test_frames_are_read_by_number(tmp_path: Path) -> None:
    write_video(tmp_path / "v.mp4", 30)
    found = demo.read_frames(tmp_path / "v.mp4", [7, 20])
    assert {n: round(float(image.mean()) / 4) for n, image in found.items()} == {7: 7, 20: 20}
    with pytest.raises(SinkError, match="frame 40 is missing"):
        demo.read_frames(tmp_path / "v.mp4", [7, 40])


def test_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="choose another folder with --out"):
        demo.writable(tmp_path / "file")
    assert cli.main(["demo", "--out", str(tmp_path / "file" / "below")]) == 2
    assert capsys.readouterr().err.startswith("realtime: cannot write to ")
    assert cli.main(["demo", "--out", str(tmp_path), "--seconds", "soon"]) == 2
    assert "--seconds: 'soon' is not a number" in capsys.readouterr().err
    assert demo.writable(tmp_path / "new" / "one").is_dir()


def test_square_stays_inside() -> None:
    image = np.arange(60 * 100 * 3, dtype=np.uint32).astype(np.uint8).reshape(60, 100, 3)
    assert np.array_equal(square(image, 50, 30, 20), image[20:40, 40:60])
    assert np.array_equal(square(image, 0, 0, 20), image[:20, :20])
    assert np.array_equal(square(image, 99, 59, 20), image[40:, 80:])
    assert square(image, 50, 30, 500).shape == (60, 60, 3)


@pytest.mark.parametrize("ages", [[], [5.0], [5.0, 5.0, 5.0, 400.0], list(np.linspace(3, 30, 200))])
def test_sheet(ages: list[float]) -> None:
    pair = Pair(picture(40), picture(200))
    sheet = draw_sheet(Sheet(picture(90, 50, 50), pair, [pair] * 5, ages, "title", "note", demo.facts(REPORT)))
    assert sheet.width == WIDTH
    assert sheet.mode == "RGB"
    levels = {level for _, level in sheet.convert("L").getcolors(1 << 24)} if ages else set()
    assert not ages or {40, 90, 200} <= levels


def test_facts_survive_what_was_not_measured() -> None:
    rows = dict(demo.facts({**REPORT, "fps": None, "age_ms": dict.fromkeys(("p50", "p95", "p99"))}))
    assert rows["frames a second"] == "0.0"
    assert rows["age when sent: p50 / p95 / p99"] == "- / - / - ms"
    assert rows["blend (paste, mark, encode video)"] == "- ms"
    assert rows["networks run by"] == "openvino"


def test_results_are_written_beside_the_video(tmp_path: Path) -> None:
    write_video(tmp_path / "demo.mp4", 50)
    rows = [{"seq": n + 3, "state": "swapped" if n > 4 else "starting", "age_ms": 5.0 + n % 7} for n in range(50)]
    demo.write_results(tmp_path, REPORT, rows)
    assert json.loads((tmp_path / "demo.json").read_text())["fps"] == 30.0
    with Pictures.open(tmp_path / "demo.png") as made:
        assert made.width == WIDTH
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.json", "demo.mp4", "demo.png"]


@pytest.mark.models
def test_the_real_thing(models: Any, tmp_path: Path) -> None:
    root = Path(realtime.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root), "REALTIME_MODELS": str(models.folder)}
    command = [sys.executable, "-m", "realtime", "demo", "--out", str(tmp_path), "--seconds", "2"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "age when sent" in ended.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.json", "demo.mp4", "demo.png"]
    report = json.loads((tmp_path / "demo.json").read_text())
    assert report["states"]["swapped"] > 0.8 * report["frames_out"]
    assert report["lost_frames"] == 0
