"""`python -m realtime`."""

from __future__ import annotations

from realtime import interrupt


def start() -> int:
    """What the command `realtime-faceswap` runs, too."""
    interrupt.leave_at_once()  # before anything else: from here to the first frame it is imports that take the time
    from realtime import guard

    guard.check()  # before any other import of ours: those may have been replaced

    from realtime.cli import main

    try:
        status = main()
    finally:
        interrupt.leave_at_once()  # what is still to come is Python's own clearing up
    if status > interrupt.BY_SIGNAL:
        interrupt.leave(status)
    return status


if __name__ == "__main__":
    raise SystemExit(start())
