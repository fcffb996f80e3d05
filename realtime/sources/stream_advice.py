"""The sentences about network streams: why one cannot be played. None of them shows a user, a password or a query."""

from __future__ import annotations

import errno
import socket
from urllib.parse import urlsplit

import av

from realtime.sources.urls import host


def reason(error: Exception, url: str, waited: float = 0.0, limit: float = float("inf")) -> str:
    """What went wrong, to follow "cannot be played: ". `waited`: seconds until the error came; `limit`: how long a read may take."""
    if isinstance(error, av.error.HTTPUnauthorizedError | av.error.HTTPForbiddenError):
        return _unauthorized(url)
    if isinstance(error, av.error.HTTPNotFoundError):
        return "there is nothing of that name on the server (404 not found)"
    if isinstance(error, av.error.ProtocolNotFoundError):
        return f"the FFmpeg that came with PyAV does not know {urlsplit(url).scheme}://, send it as rtsp:// or http:// instead"
    if isinstance(error, av.error.ExitError | TimeoutError) or (isinstance(error, OSError | av.error.InvalidDataError) and waited >= limit):
        # FFmpeg takes for bad data what an RTSP server does not say, and for a failed read that nobody sends by UDP.
        return "it gave nothing within the time limit"
    if isinstance(error, av.error.InvalidDataError):
        return "it is not a video stream"
    if isinstance(error, OSError) and error.errno == errno.EIO:
        # All that FFmpeg says of a host that is not known, and of a file whose index is out of reach.
        unknown = _unknown_host(url)
        named = f"no host '{unknown}' is known here, check its name"
        return named if unknown else "input/output error; check the address, or download the file first and give its path"
    return (getattr(error, "strerror", None) or type(error).__name__).lower()


def _unauthorized(url: str) -> str:
    parts = urlsplit(url)
    if "@" in parts.netloc:
        return "it does not take the user and password in the address, check them (write special characters as in %40 for @)"
    return f"it asks for a user and password, give them in the address as {parts.scheme}://user:password@host/"


def _unknown_host(url: str) -> str:
    """The host's name when it cannot be resolved, else an empty string."""
    name = host(url)
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return name
    return ""
