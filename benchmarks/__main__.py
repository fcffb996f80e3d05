"""`python -m benchmarks NAME --json FILE`.

Each benchmark is a module of this folder with a line `SUMMARY`, `arguments(parser)` and `run(options) -> int`, the exit code.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from benchmarks import harness
from realtime.errors import RealtimeError

HELPERS = {"endings", "faults", "harness", "judge", "sheets"}


def names() -> list[str]:
    """The benchmarks there are."""
    files = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    return [name for name in files if not name.startswith("_") and name not in HELPERS]


def main(arguments: list[str] | None = None) -> int:
    """Run one benchmark; 0 when all limits are kept, 1 when one is missed, 2 when it could not be run as asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed, latency and quality against their limits.")
    subparsers = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    for name in names():
        module = importlib.import_module(f"benchmarks.{name}")
        subparser = subparsers.add_parser(name, help=module.SUMMARY, description=module.SUMMARY)
        harness.options(subparser)
        module.arguments(subparser)
        subparser.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except RealtimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
