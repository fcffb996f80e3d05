"""Compile every model for this machine: `python build_engines.py --help`. The same as `python -m realtime engines`."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.argv[1:1] = ["engines"]
    try:
        from realtime.__main__ import start
    except KeyboardInterrupt:  # what answers Ctrl-C was not there yet; the words are those of `realtime.interrupt.UNBUILT`
        sys.exit("realtime: interrupted before anything was built: run the builder again")
    raise SystemExit(start())
