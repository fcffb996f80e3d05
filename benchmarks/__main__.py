"""`python -m benchmarks NAME --json FILE --plot DIR`.

Each benchmark is a module of this folder with a line `SUMMARY = ...`, `arguments(parser)` and `run(options) -> int`, the exit code.
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
import tempfile
from pathlib import Path

from realtime import interrupt
from realtime.errors import RealtimeError


def names() -> list[str]:
    """The benchmarks there are; what has no SUMMARY helps them."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return [file.stem for file in files if not file.stem.startswith("_") and "\nSUMMARY = " in file.read_text(encoding="utf-8")]


def main(arguments: list[str] | None = None) -> int:
    """Run one benchmark; 0 when all limits are kept, 1 when one is missed, 2 when it could not be run as asked."""
    from benchmarks import harness  # here, as below: what takes long is imported when Ctrl-C has its answer

    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed, latency and quality against their limits.")
    subparsers = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    for name in names():
        module = importlib.import_module(f"benchmarks.{name}")
        subparser = subparsers.add_parser(name, help=module.SUMMARY, description=module.SUMMARY)
        harness.options(subparser)
        module.arguments(subparser)
        subparser.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    interrupt.raise_again()  # from now on there are children to end
    try:
        if options.json is not None:
            harness.make_room(options.json)
        return _measured(options)
    except KeyboardInterrupt:
        return interrupt.BY_SIGNAL + signal.SIGINT
    except RealtimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def _measured(options: argparse.Namespace) -> int:
    """Run, and draw what the file then holds."""
    if options.plot is None:
        return int(options.run(options))
    from benchmarks import plots

    plots.check()
    with tempfile.TemporaryDirectory() as folder:
        options.json = options.json or Path(folder) / "report.json"
        status = int(options.run(options))
        for file in plots.draw(json.loads(options.json.read_text(encoding="utf-8")), options.plot):
            print(f"drew {file}")
    return status


if __name__ == "__main__":
    interrupt.leave_at_once()
    sys.exit(main())
