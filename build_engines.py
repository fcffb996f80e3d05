"""Compile every model for this machine: `python build_engines.py --help`. The same as `python -m realtime engines`."""

from __future__ import annotations

import sys

from realtime.__main__ import start

if __name__ == "__main__":
    sys.argv[1:1] = ["engines"]
    raise SystemExit(start())
