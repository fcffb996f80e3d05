"""One file from the web: https all the way, never more than was announced, and continued where it broke off."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Any, Protocol

from realtime.models.wheels import DownloadError

_CHUNK = 1 << 20
_TIMEOUT = 30.0
"""Seconds without a byte until the connection counts as broken."""
_ATTEMPTS = 4
"""Times that a broken connection is taken up again, as long as each brought something."""
_PARTIAL_CONTENT, _RANGE_REFUSED = 206, 416

_STATUS = {
    401: "the server wants a login: fetch it with a browser",
    403: "the server refuses it: fetch it with a browser",
    404: "the server has no such file: look for it elsewhere",
    429: "the server is asked too often: try again later",
}


class WebDownload(Protocol):
    def __call__(self, address: str, path: Path, most: int, on_bytes: Callable[[int], None]) -> None:
        """Put the file of at most `most` bytes at `path`, whose present content is its beginning. Raises DownloadError."""


class HttpDownload:
    """Fetches with Python's own client, through the proxies that the environment names. `schemes` are those a server may use."""

    def __init__(self, schemes: tuple[str, ...] = ("https",)) -> None:
        self._schemes = schemes
        self._opener = urllib.request.build_opener(_Redirects(schemes))

    def __call__(self, address: str, path: Path, most: int, on_bytes: Callable[[int], None]) -> None:
        check_address(address, self._schemes)
        for attempt in range(_ATTEMPTS):
            before = _size(path)
            try:
                if self._once(address, path, most, on_bytes):
                    return
            except urllib.error.HTTPError as error:
                raise DownloadError(_refusal(error.code)) from error
            except (urllib.error.URLError, ssl.SSLError, ConnectionError, TimeoutError, HTTPException) as error:
                if attempt + 1 == _ATTEMPTS or _size(path) == before:
                    raise DownloadError(_why(error)) from error
        raise DownloadError("the connection broke off several times: try again")

    def _once(self, address: str, path: Path, most: int, on_bytes: Callable[[int], None]) -> bool:
        """Go on with the file; False when the connection ended before it was complete."""
        if _size(path) > most:
            path.unlink()  # more than the file has: not its beginning
        begun = _size(path)
        headers = {"User-Agent": "realtime-faceswap", "Accept-Encoding": "identity"} | ({"Range": f"bytes={begun}-"} if begun else {})
        try:
            response = self._opener.open(urllib.request.Request(address, headers=headers), timeout=_TIMEOUT)
        except urllib.error.HTTPError as error:
            if error.code != _RANGE_REFUSED:
                raise
            path.unlink()  # what we have is not the beginning of it
            return False
        with response:
            continued = response.status == _PARTIAL_CONTENT and _starts_at(response.headers, begun)
            with path.open("ab" if continued else "wb") as file:
                return _copy(response, file, begun if continued else 0, most, on_bytes)


class _Redirects(urllib.request.HTTPRedirectHandler):
    def __init__(self, schemes: tuple[str, ...]) -> None:
        self._schemes = schemes

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> urllib.request.Request | None:
        check_address(newurl, self._schemes)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def check_address(address: str, schemes: tuple[str, ...] = ("https",)) -> None:
    """Raises DownloadError unless it is an address with a host and one of the schemes."""
    try:
        parts = urllib.parse.urlsplit(address)
        good = parts.scheme in schemes and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        raise DownloadError(f"{address} is no {' or '.join(schemes)} address, and others are not trusted: name one that is")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _starts_at(headers: Mapping[str, str], begun: int) -> bool:
    return (headers.get("Content-Range") or "").startswith(f"bytes {begun}-")


def _copy(response: HTTPResponse, file: IO[bytes], done: int, most: int, on_bytes: Callable[[int], None]) -> bool:
    """Write what comes, `done` bytes being there; whether it was all. Raises DownloadError when it is more than `most` bytes."""
    announced = response.headers.get("Content-Length") or ""
    expected = done + int(announced) if announced.isdecimal() else None
    if expected is not None and expected > most:
        raise DownloadError(f"the server announces {expected} bytes where at most {most} are expected: look for it elsewhere")
    while chunk := response.read(min(_CHUNK, most - done + 1)):
        done += len(chunk)
        if done > most:
            raise DownloadError(f"the server sends more than the {most} bytes that are expected: look for it elsewhere")
        file.write(chunk)
        on_bytes(done)
    return expected is None or done >= expected


def _refusal(code: int) -> str:
    if 300 <= code < 400:  # urllib itself follows none to files and the like
        return "the server redirects to an address that is not trusted: look for it elsewhere"
    return _STATUS.get(code, f"the server answers {code}: try again later")


def _why(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, ssl.SSLError):
        return "the server's certificate is not trusted: check this computer's clock and certificates"
    if isinstance(reason, TimeoutError):
        return "the server does not answer: try again"
    return f"the connection failed ({reason}): go online, or try again"
