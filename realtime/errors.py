"""The error hierarchy: each message is one sentence for the user that says what is wrong and how to mend it."""

from __future__ import annotations

import errno
import sys


def is_full(error: BaseException) -> bool:
    """Whether a system error says that there is no room left to write."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def is_closed_pipe(error: BaseException, platform: str = sys.platform) -> bool:
    """Whether it is what a write to a pipe raises that nobody reads any more: on Windows often no BrokenPipeError, but an invalid argument
    of no file (https://github.com/python/cpython/issues/79935)."""
    named = getattr(error, "filename", None) is not None
    return isinstance(error, BrokenPipeError) or (
        platform == "win32" and isinstance(error, OSError) and error.errno == errno.EINVAL and not named
    )


def is_too_large(error: BaseException) -> bool:
    """Whether a system error says that a file may not get any larger, though there is room."""
    return isinstance(error, OSError) and error.errno == errno.EFBIG


def room_for(error: BaseException) -> str:
    """How room is made for what could not be written; empty where room is not what is lacking."""
    if is_full(error):
        return "free some space or give another folder"
    if is_too_large(error):
        return "lift the limit (`ulimit -f unlimited`), or give a folder on another disk where it is the disk's, as of 4 GB on FAT"
    return ""


def reason(error: BaseException) -> str:
    """What the system or FFmpeg says, in words, e.g. "permission denied"."""
    if is_full(error):
        return "the disk is full"
    if is_too_large(error):
        return "the file has reached the size that is allowed here"
    return str(getattr(error, "strerror", None) or error).lower()


def said(error: BaseException) -> str:
    """An error in words: our own as they are, others with their kind, without which they often say nothing."""
    return str(error) if isinstance(error, RealtimeError) else f"{type(error).__name__}: {error}"


def first_line(error: BaseException) -> str:
    """What a library says first, to be put into a sentence; its kind where it says nothing."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


class RealtimeError(Exception):
    """Base of every error the user is meant to read; the command line prints its message and exits with `exit_code`."""

    exit_code = 1


class UsageError(RealtimeError):
    """The request cannot be carried out as given: a bad option, a missing file, a photo without a face."""

    exit_code = 2


class AbsentError(UsageError):
    """A file or folder that is named is not there, or not to be used now; there is nothing wrong with the way in which it was named."""


class SourceError(RealtimeError):
    """A camera, file or stream cannot be opened or read."""


class SinkError(RealtimeError):
    """A virtual camera, window or file cannot be opened or written."""


class ModelError(RealtimeError):
    """A model cannot be fetched, verified, converted or loaded."""


class NumbersError(ModelError):
    """A network gave something else than numbers for this input; a driver that stumbled gives them again for the next."""


class BackendError(RealtimeError):
    """An inference library is missing, or fails to load or run a model."""
