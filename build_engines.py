"""Compile every model for this machine: `python build_engines.py --help`. The same as `python -m realtime engines`."""

from __future__ import annotations

import sys

from realtime.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["engines", *sys.argv[1:]]))
