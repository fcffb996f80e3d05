"""Addresses of network streams."""

from __future__ import annotations

from urllib.parse import urlsplit

SCHEMES = ("rtsp", "rtsps", "http", "https", "rtmp", "rtmps", "rtp", "srt", "tcp", "udp")


def host(url: str) -> str:
    """The name or address of the host; empty when there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def redacted(url: str) -> str:
    """The URL without user, password and query, fit for messages and reports."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return f"{url.partition('://')[0]}://..."
    if "@" in parts.path + parts.fragment:  # a password with a / or a # in it, which ends the host's part
        return f"{parts.scheme}://..."
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}{'?...' if parts.query else ''}"
