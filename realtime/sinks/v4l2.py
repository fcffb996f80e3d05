"""Linux: the few Video4Linux2 calls that writing to a virtual camera needs.

Structures and numbers are those of the kernel's <linux/videodev2.h>. Nothing here opens or closes a file.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

YUV420 = int.from_bytes(b"YU12", "little")
"""V4L2_PIX_FMT_YUV420: planes Y, U, V, what the rest of the world calls I420."""

OUTPUT = 2  # V4L2_BUF_TYPE_VIDEO_OUTPUT, and V4L2_CAP_VIDEO_OUTPUT
_FORMAT_BYTES = 208 if struct.calcsize("P") == 8 else 204  # struct v4l2_format: its union is aligned like a pointer
_PIX_OFFSET = _FORMAT_BYTES - 200


def _request(direction: int, number: int, size: int) -> int:
    """An ioctl number as _IOR (2), _IOW (1) and _IOWR (3) make it, of type 'V'."""
    return direction << 30 | size << 16 | ord("V") << 8 | number


_QUERYCAP = _request(2, 0, 104)
_G_FMT = _request(3, 4, _FORMAT_BYTES)
_S_FMT = _request(3, 5, _FORMAT_BYTES)
_STREAMON = _request(1, 18, 4)
_S_PARM = _request(3, 22, 204)


@dataclass(frozen=True, slots=True)
class PixelLayout:
    """The part of struct v4l2_pix_format that matters here."""

    width: int
    height: int
    fourcc: int


def query(file: int) -> tuple[str, int]:
    """Driver name and device capabilities (VIDIOC_QUERYCAP). Raises OSError for what is no video device."""
    answer = _ioctl(file, _QUERYCAP, bytes(104))
    driver = answer[:16].split(b"\0")[0].decode(errors="replace")
    return driver, int(struct.unpack_from("=I", answer, 88)[0])  # device_caps: this node's, not the whole device's


def layout(file: int) -> PixelLayout:
    """The format that the device has now (VIDIOC_G_FMT). Raises OSError."""
    answer = _ioctl(file, _G_FMT, struct.pack("=I", OUTPUT).ljust(_FORMAT_BYTES, b"\0"))
    return PixelLayout(*struct.unpack_from("=III", answer, _PIX_OFFSET))


def set_layout(file: int, wanted: PixelLayout) -> PixelLayout:
    """Ask for a format (VIDIOC_S_FMT); returns the one that the device has afterwards, which may be another. Raises OSError."""
    data = bytearray(_FORMAT_BYTES)
    struct.pack_into("=I", data, 0, OUTPUT)
    struct.pack_into("=III", data, _PIX_OFFSET, wanted.width, wanted.height, wanted.fourcc)
    _ioctl(file, _S_FMT, bytes(data))
    return layout(file)


def announce_rate(file: int, fps: float) -> None:
    """Tell readers the frame rate (VIDIOC_S_PARM). Only a hint: some drivers refuse, and nothing depends on it."""
    data = struct.pack("=IIIII", OUTPUT, 0, 0, 1000, max(1, round(fps * 1000))).ljust(204, b"\0")
    try:
        _ioctl(file, _S_PARM, data)
    except OSError:
        return


def stream_on(file: int) -> None:
    """VIDIOC_STREAMON for output. Raises OSError."""
    _ioctl(file, _STREAMON, struct.pack("=i", OUTPUT))


def _ioctl(file: int, request: int, data: bytes) -> bytes:
    import fcntl

    return fcntl.ioctl(file, request, data)
