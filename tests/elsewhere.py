"""The program as on another system, as far as that can be had on this one: `python -m tests.elsewhere win32|darwin COMMAND ...`.

The modules of the standard library that Windows lacks cannot be imported, what its `os`, `signal` and `time` lack is gone, and
`sys.platform` is the other's; libraries are loaded before that, for they are those of this system. As Windows has it, a file that is
open here can be neither removed, nor renamed, nor replaced, and no name has one of `<>:"|?*` in it. Each COMMAND is one line of
arguments. It shows what of ours takes this system for granted: not what the other's drivers do.
"""

from __future__ import annotations

import errno
import importlib
import os
import pkgutil
import shlex
import signal
import ssl
import sys
import time
import types
from pathlib import Path

LIBRARIES = (
    "asyncio", "av", "c2pa", "concurrent.futures", "cryptography", "ctypes.util", "cv2", "cv2_enumerate_cameras", "importlib.metadata",
    "llvmlite.binding", "multiprocessing", "numba", "numba.extending", "numpy", "onnx.shape_inference", "onnxruntime", "openvino",
    "PIL.Image", "pillow_heif", "platform", "platformdirs", "psutil", "pygame", "pyvirtualcam.camera", "rich.console",
    "rich.progress", "rich.table", "subprocess", "tempfile", "tflite", "urllib.request", "zipfile",
)  # fmt: skip
MODULES = ("fcntl", "grp", "pty", "pwd", "readline", "resource", "termios", "tty")
GONE = {
    os: ("O_NONBLOCK", "fchmod", "fork", "geteuid", "getloadavg", "getuid", "killpg", "mkfifo", "sched_getaffinity", "sysconf", "uname"),
    signal: ("SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "pause", "pthread_kill", "setitimer"),
    time: ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC", "clock_gettime"),
}
"""Not SIGKILL: the children are still this system's."""


FORBIDDEN = frozenset('<>:"|?*')
"""In names of files: learn.microsoft.com/windows/win32/fileio/naming-a-file."""


def held(path: str) -> bool:
    """Whether this process has the file open or mapped into its memory."""
    there = os.path.realpath(path)
    handles = Path("/proc/self/fd")
    if not handles.is_dir():  # macOS
        return False
    links = [str(entry.readlink()) for entry in handles.iterdir() if entry.is_symlink()]
    return there in links or f" {there}\n" in Path("/proc/self/maps").read_text()


class FileSystem:
    """An audit hook (PEP 578) that refuses what Windows would. It looks at files itself, which it is not asked about."""

    def __init__(self) -> None:
        self._looking = False

    def __call__(self, event: str, given: tuple[object, ...]) -> None:
        if self._looking or event not in ("open", "os.mkdir", "os.remove", "os.rename"):
            return
        self._looking = True
        try:
            paths = [os.fsdecode(path) for path in given[: 2 if event == "os.rename" else 1] if isinstance(path, (str, bytes, os.PathLike))]
            self._refuse(event, paths)
        finally:
            self._looking = False

    def _refuse(self, event: str, paths: list[str]) -> None:
        for path in paths:
            if FORBIDDEN & set(path) and not path.startswith(("/proc", "/sys", "/dev")):
                raise OSError(errno.EINVAL, "Invalid argument", path)
            if event in ("os.remove", "os.rename") and held(path):
                raise PermissionError(errno.EACCES, "The process cannot access the file because it is being used by another process", path)


def _no_key(*given: object) -> None:
    raise FileNotFoundError(errno.ENOENT, "The system cannot find the file specified")


def become(system: str) -> None:
    for name in LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:  # an optional one
            continue
    sys.platform = system
    if system != "win32":
        return
    sys.modules.update(dict.fromkeys(MODULES))  # importing what is None raises ImportError
    for module, names in GONE.items():
        for name in names:
            vars(module).pop(name, None)
    vars(ssl)["enum_certificates"] = lambda store: []  # asked for where a connection may be made
    locks = types.ModuleType("msvcrt")
    vars(locks).update(LK_NBLCK=2, locking=lambda *given: None)
    sys.modules["msvcrt"] = locks
    registry = types.ModuleType("winreg")
    vars(registry).update(HKEY_CLASSES_ROOT=0, OpenKey=_no_key, CloseKey=lambda key: None)
    sys.modules["winreg"] = registry
    sys.addaudithook(FileSystem())


def main(system: str, *commands: str) -> int:
    become(system)
    import realtime
    from realtime import cli

    for module in pkgutil.walk_packages(realtime.__path__, "realtime."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return max([cli.main(shlex.split(command)) for command in commands], default=0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
