"""The mark through a browser: a fake camera file, `getUserMedia`, a canvas. As a caller's page would see a virtual camera."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from realtime.sources.synthetic import Sway, bundled_person
from realtime.trust.reading import read_mark
from realtime.trust.watermark import Marker

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
PAGE = b"""<!doctype html><video autoplay muted playsinline></video><script>
const post = (path, body) => fetch(path, {method: "POST", body});
(async () => {
  const video = document.querySelector("video");
  const stream = await navigator.mediaDevices.getUserMedia({video: {width: 1280, height: 720}});
  SHOW
  await video.play();
  const canvas = document.createElement("canvas");
  for (let sent = 0; sent < COUNT; sent++) {
    await new Promise(done => setTimeout(done, WAIT));
    canvas.width = video.videoWidth; canvas.height = video.videoHeight;
    canvas.getContext("2d").drawImage(video, 0, 0);
    await post("/frame", await new Promise(done => canvas.toBlob(done, "image/png")));
  }
})().catch(error => post("/error", String(error)));
</script>"""
DIRECT = "video.srcObject = stream;"
CALL = """
  const [here, there] = [new RTCPeerConnection(), new RTCPeerConnection()];
  here.onicecandidate = event => there.addIceCandidate(event.candidate);
  there.onicecandidate = event => here.addIceCandidate(event.candidate);
  there.ontrack = event => { video.srcObject = event.streams[0]; };
  stream.getTracks().forEach(track => here.addTrack(track, stream));
  await here.setLocalDescription(await here.createOffer());
  await there.setRemoteDescription(here.localDescription);
  await there.setLocalDescription(await there.createAnswer());
  await here.setRemoteDescription(there.localDescription);
  await new Promise(done => { video.onloadeddata = done; });
"""


@pytest.fixture(scope="module")
def browser() -> str:
    """A call within a browser needs a machine that keeps up with it: a busy one would make these tests fail by chance."""
    if not os.environ.get("REALTIME_BROWSER"):
        pytest.skip("tests in a browser run where REALTIME_BROWSER=1 is set")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"none of the browsers {', '.join(NAMES)} is installed")
    return found


@pytest.fixture(scope="module", params=[True, False], ids=["marked", "not marked"])
def camera(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    """Twelve frames as the file that Chromium takes for a camera, raw."""
    path = tmp_path_factory.mktemp("camera") / "camera.y4m"
    sway, marker = Sway(bundled_person(), 30.0, seed=2), Marker(1280, 720)
    with path.open("wb") as file:
        file.write(b"YUV4MPEG2 W1280 H720 F30:1 Ip A1:1 C420jpeg\n")
        for number in range(12):
            i420 = np.asarray(cv2.cvtColor(sway.picture(number), cv2.COLOR_BGR2YUV_I420))
            if request.param:
                marker.mark_i420(i420)
            file.write(b"FRAME\n" + i420.tobytes())
    return path, request.param


@contextlib.contextmanager
def server(page: bytes) -> Iterator[tuple[str, queue.Queue[tuple[str, bytes]]]]:
    """Serves the page, and gathers what it posts."""
    posted: queue.Queue[tuple[str, bytes]] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def do_POST(self) -> None:
            posted.put((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *given: Any) -> None:
            pass

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{serving.server_port}/", posted
    finally:
        serving.shutdown()
        serving.server_close()


def captured(browser: str, camera: Path, profile: Path, show: str, count: int, wait: int) -> list[Any]:
    """Frames that a page draws from the camera, BGR."""
    page = PAGE.replace(b"SHOW", show.encode()).replace(b"COUNT", str(count).encode()).replace(b"WAIT", str(wait).encode())
    options = [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream", f"--use-file-for-fake-video-capture={camera}", f"--user-data-dir={profile}",
        "--disable-background-networking", "--autoplay-policy=no-user-gesture-required",
    ]  # fmt: skip
    with server(page) as (address, posted):
        process = subprocess.Popen([browser, *options, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return [frame(*posted.get(timeout=60)) for _ in range(count)]
        except queue.Empty:
            pytest.skip("the browser gave no frame within a minute: too slow a machine, or no capture in this build")
        finally:
            process.terminate()
            process.wait(20)


def frame(kind: str, data: bytes) -> Any:
    if kind != "/frame":
        pytest.skip(f"the browser cannot capture: {data.decode()}")
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


@pytest.mark.browser
def test_a_page_that_captures_the_camera_has_the_mark(browser: str, camera: tuple[Path, bool], tmp_path: Path) -> None:
    path, marked = camera
    frames = captured(browser, path, tmp_path, DIRECT, count=2, wait=300)
    assert frames[0].shape == (720, 1280, 3)
    assert [read_mark([each]).found for each in frames] == [marked] * 2


@pytest.mark.browser
def test_the_other_end_of_a_call_has_the_mark(browser: str, camera: tuple[Path, bool], tmp_path: Path) -> None:
    """Through a peer connection: compressed, and scaled as the browser sees fit."""
    path, marked = camera
    frames = captured(browser, path, tmp_path, CALL, count=8, wait=500)
    last = [each for each in frames if each.shape == frames[-1].shape]
    assert read_mark(last).found == marked
