"""`python -m realtime`."""

from __future__ import annotations

import sys

try:
    from realtime import interrupt
except KeyboardInterrupt:  # what answers Ctrl-C was not there yet; the words are those of `interrupt.UNBUILT`
    sys.exit("realtime: interrupted before anything was built: run the builder again" if sys.argv[1:2] == ["engines"] else 130)


def start() -> int:
    """What the command `realtime-faceswap` runs, too."""
    interrupted, words = interrupt.before(sys.argv[1:])
    interrupt.leave_at_once(interrupted, words)  # before anything else: from here to the first frame it is imports that take the time
    from realtime import guard

    guard.check()  # before any other import of ours: those may have been replaced

    from realtime.cli import main

    status = interrupted
    try:
        status = main()
    finally:  # what is still to come is Python's own clearing up, which takes nothing away from what was built
        interrupt.leave_at_once(status if words else interrupted)
    if status > interrupt.BY_SIGNAL:
        interrupt.leave(interrupted if words else status)
    return status


if __name__ == "__main__":
    raise SystemExit(start())
