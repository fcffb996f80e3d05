"""An RTSP server on this machine, of just what a client of a camera asks for: H.264 over RTP, within the connection or by UDP.

RTSP 1.0: RFC 2326; RTP: RFC 3550; H.264 in it: RFC 6184.
"""

from __future__ import annotations

import base64
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count

import av
import numpy as np

from realtime.types import Image

_CLOCK = 90_000
_LARGEST = 1200
"""Bytes of a packet's payload."""
Send = Callable[[bytes], object]


@dataclass(frozen=True)
class Camera:
    """What the server shows, and how it behaves. `stays_for` frames it plays, then closes the connection; None: for ever."""

    pictures: Sequence[Sequence[bytes]]
    """The units of each picture in turn; see `encoded`."""
    rate: float = 50.0
    login: str = ""
    """user:password that it wants."""
    udp_only: bool = False
    stays_for: int | None = None
    silent_from: int | None = None
    """From this frame on nothing is sent, but the connection stays."""
    path: str = "/live"


def encoded(images: Sequence[Image]) -> list[list[bytes]]:
    """Each picture as its H.264 units (RFC 6184, section 1.3), with a key frame every five and the parameters before it."""
    height, width = images[0].shape[:2]
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.framerate = width, height, "yuv420p", 50
    encoder.options = {"preset": "ultrafast", "tune": "zerolatency", "g": "5"}
    packets = [bytes(packet) for image in images for packet in encoder.encode(av.VideoFrame.from_ndarray(image, format="bgr24"))]
    return [[unit for unit in re.split(rb"\x00{2,3}\x01", packet) if unit] for packet in packets]


@contextmanager
def camera(shown: Camera, port: int = 0) -> Iterator[str]:
    """Serves to any number of clients, one after the other; gives the address. All that is open is closed at the end."""
    listener = socket.create_server(("127.0.0.1", port))
    clients: list[socket.socket] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                clients.append(client)
                threading.Thread(target=_Client(client, shown).talk, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"rtsp://127.0.0.1:{listener.getsockname()[1]}{shown.path}"
    finally:
        for end in (listener, *clients):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class _Client:
    """One connection."""

    def __init__(self, connection: socket.socket, shown: Camera) -> None:
        self._connection, self._shown = connection, shown
        self._packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._packets.bind(("127.0.0.1", 0))
        self._send: Send = self._inside

    def talk(self) -> None:
        with suppress(OSError), self._packets, self._connection.makefile("rb") as lines:
            while head := lines.readline():
                if head.startswith(b"$"):  # the client's reports, within the connection
                    continue
                fields = {}
                while (line := lines.readline().strip()):
                    name, _, value = line.decode().partition(":")
                    fields[name.lower()] = value.strip()
                if b"RTSP/1.0" in head:
                    self._answer(head.decode().split()[0], head.decode().split()[1], fields)

    def _answer(self, method: str, address: str, fields: dict[str, str]) -> None:
        status, extra, body = self._decided(method, address, fields)
        length = [f"Content-Length: {len(body)}"] if body else []
        head = [f"RTSP/1.0 {status}", f"CSeq: {fields.get('cseq', '0')}", *extra, *length]
        self._connection.sendall(("\r\n".join(head) + "\r\n\r\n" + body).encode())
        if method == "PLAY" and status.startswith("200"):
            threading.Thread(target=self._play, daemon=True).start()

    def _decided(self, method: str, address: str, fields: dict[str, str]) -> tuple[str, list[str], str]:
        shown = self._shown
        expected = "Basic " + base64.b64encode(shown.login.encode()).decode()
        if method == "OPTIONS":
            return "200 OK", ["Public: DESCRIBE, SETUP, PLAY, TEARDOWN"], ""
        if shown.login and fields.get("authorization") != expected:
            return "401 Unauthorized", ['WWW-Authenticate: Basic realm="camera"'], ""
        if method == "DESCRIBE":
            if shown.path not in address:
                return "404 Not Found", [], ""
            description = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=camera\r\nt=0 0\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\n"
            description += "a=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:track1\r\n"
            return "200 OK", ["Content-Type: application/sdp"], description
        return self._set_up(fields) if method == "SETUP" else ("200 OK", ["Session: 1"], "")

    def _set_up(self, fields: dict[str, str]) -> tuple[str, list[str], str]:
        wanted = fields["transport"]
        ports = re.search(r"client_port=(\d+)", wanted)
        if ports:
            there, here = ("127.0.0.1", int(ports[1])), self._packets.getsockname()[1]
            self._send = lambda packet: self._packets.sendto(packet, there)
            return "200 OK", ["Session: 1", f"Transport: {wanted};server_port={here}-{here + 1}"], ""
        if self._shown.udp_only:
            return "461 Unsupported Transport", [], ""
        return "200 OK", ["Session: 1", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"], ""

    def _inside(self, packet: bytes) -> None:
        """Within the connection: RFC 2326, section 10.12."""
        self._connection.sendall(b"$\x00" + len(packet).to_bytes(2) + packet)

    def _play(self) -> None:
        shown, numbers, begun = self._shown, count(), time.perf_counter()
        with suppress(OSError):
            for k in count():
                if k == shown.silent_from:
                    return
                if k == shown.stays_for:
                    self._connection.shutdown(socket.SHUT_RDWR)
                    return
                time.sleep(max(begun + k / shown.rate - time.perf_counter(), 0.0))
                for payload, last in _payloads(shown.pictures[k % len(shown.pictures)]):
                    self._send(_packet(next(numbers), round(k * _CLOCK / shown.rate), payload, last))


def _payloads(units: Sequence[bytes]) -> Iterator[tuple[bytes, bool]]:
    """What goes into packets, and whether the picture ends with it: a unit, or a part of it (RFC 6184, section 5.8, FU-A)."""
    for n, unit in enumerate(units):
        last = n == len(units) - 1
        if len(unit) <= _LARGEST:
            yield unit, last
            continue
        parts = [unit[at : at + _LARGEST] for at in range(1, len(unit), _LARGEST)]
        for m, part in enumerate(parts):
            ends = m == len(parts) - 1
            marks = (0x80 if m == 0 else 0) | (0x40 if ends else 0) | unit[0] & 0x1F
            yield bytes((unit[0] & 0xE0 | 28, marks)) + part, last and ends


def _packet(number: int, moment: int, payload: bytes, last: bool) -> bytes:
    """RFC 3550, section 5.1."""
    return bytes((0x80, 96 | (0x80 if last else 0))) + (number & 0xFFFF).to_bytes(2) + moment.to_bytes(4) + (7).to_bytes(4) + payload


def pictures(size: tuple[int, int], seed: int = 0) -> list[Image]:
    """Ten pictures of noise, so that each is larger than a packet."""
    random = np.random.default_rng(seed)
    return [random.integers(0, 255, (size[1], size[0], 3), np.uint8) for _ in range(10)]
