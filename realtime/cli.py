"""The command line: picks the sub-command and turns every way of ending into an exit status and at most one sentence.

argparse, not typer or click: `--source` takes several photos and may come again for another person, and the run itself has no
sub-command; both are natural in argparse and against the grain of the other two, and it adds nothing to the start-up time.
No sub-command is imported before it is chosen, so that help, version and mistakes in the options are instant.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import logging
import os
import signal
import sys
from collections.abc import Sequence

from realtime import guard
from realtime.errors import RealtimeError, UsageError, is_closed_pipe, is_full
from realtime.interrupt import BY_SIGNAL

COMMANDS = {
    "cameras": "list the cameras with their formats and rates",
    "models": "list, fetch, add or verify models",
    "engines": "compile the models for this machine (also: python build_engines.py)",
    "doctor": "check this machine and say how to mend what is missing",
    "verify": "look for the marks of AI in a picture, video or camera",
    "demo": "swap a face in a moving picture, no camera needed, and measure it",
}
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 failed, 2 asked wrongly, 128 and the signal's number when ended by one."""
    guard.check()
    atexit.register(gc.freeze)  # or the last collection looks through all that was loaded, for half a second and for nothing
    argv = sys.argv[1:] if argv is None else list(argv)
    _tolerant_streams()
    os.umask(os.umask(0o077) | 0o002)  # no file of ours may be written by everybody, whatever the user's own mask says
    try:
        set_log_level(_log_level(argv))
        status = _command(argv)
        if sys.stdout is not None:  # a shell closes it with >&-
            sys.stdout.flush()
        return status
    except KeyboardInterrupt as interrupt:  # Python's own has no arguments
        return BY_SIGNAL + int(interrupt.args[0] if interrupt.args else signal.SIGINT)
    except BrokenPipeError:
        return _pipe_closed()
    except RealtimeError as error:
        return _fail(error, str(error), error.exit_code)
    except MemoryError as error:
        return _fail(error, "there is not enough memory: close other programs or choose a smaller --size", 1)
    except Exception as error:
        if is_closed_pipe(error):
            return _pipe_closed()
        if is_full(error):
            _leave_stdout()
            return _fail(error, "the disk that the output goes to is full: free some space or send it elsewhere", 1)
        what = f"internal error ({type(error).__name__}: {error}); run again with --log-level debug for the details and report them"
        return _fail(error, what, 1)


def set_log_level(level: str) -> None:
    """Our own messages at this level and above go to stderr; those of libraries only when they are warnings."""
    logging.basicConfig(stream=sys.stderr, format="realtime: %(levelname)s: %(message)s", level=logging.WARNING)
    logging.getLogger("realtime").setLevel(level.upper())


def _command(argv: Sequence[str]) -> int:
    name, rest = ("run", argv) if not argv or argv[0].startswith("-") else (argv[0], argv[1:])
    if name == "help":
        name, rest = (rest[0], ["--help"]) if rest else ("run", ["--help"])
    if name != "run" and name not in COMMANDS:
        from realtime.values import near_miss

        hint = near_miss(name, tuple(COMMANDS)) or f" (the commands are {', '.join(COMMANDS)}; to swap a face: --source {name})"
        raise UsageError(f"unknown command '{name}'{hint}")
    module = importlib.import_module(f"realtime.commands.{name}")
    return int(module.main(rest))


def _log_level(argv: Sequence[str]) -> str:
    """What `--log-level` says, wherever it stands: needed before the command's own parser runs. Mistakes in it are left to that."""
    from realtime.config import LOG_LEVELS

    for option, value in zip(argv, [*argv[1:], ""], strict=False):
        asked = option.removeprefix("--log-level=") if option.startswith("--log-level=") else value if option == "--log-level" else ""
        if asked in LOG_LEVELS:
            return asked
    return "warning"


def _tolerant_streams() -> None:
    """A console that cannot show a character shows an escape instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _fail(error: BaseException, sentence: str, status: int) -> int:
    if logging.getLogger("realtime").isEnabledFor(logging.DEBUG):
        logging.getLogger("realtime").debug("what led to it:", exc_info=error)
    print(f"realtime: {sentence}", file=sys.stderr)
    return status


def _pipe_closed() -> int:
    """The reader of our output went away (`... | head`): leave quietly."""
    _leave_stdout()
    return BROKEN_PIPE


def _leave_stdout() -> None:
    """What is still to be printed goes nowhere: Python would try once more at its exit, and complain."""
    with contextlib.suppress(OSError, ValueError):  # a stream that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    raise SystemExit(main())
