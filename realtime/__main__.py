"""`python -m realtime`."""

from __future__ import annotations

from realtime import guard

if __name__ == "__main__":
    guard.check()  # before any other import of ours: those may have been replaced

    from realtime.cli import main

    raise SystemExit(main())
