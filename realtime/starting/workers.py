"""The first start: several processes compile the kernels, each into the cache on disk that all share, while this one does something else.

Processes, because the compiler lets only one thread work at a time.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from subprocess import DEVNULL, Popen
from types import TracebackType
from typing import Final, Self

MOST: Final = 4
"""Processes: each takes 200 MB, and the longest jobs are as long as what four have to do."""
_CODE: Final = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from realtime.starting.workers import work; work(sys.argv[2])"


class Workers:
    """A context manager: the processes run from its beginning to its end at most.

    They draw the numbers of `jobs` from one pipe and write those that are done to another: no process waits for another, a write that
    fails ends whose parent has died, and what one of them could not do is simply compiled where it is first needed.
    """

    def __init__(self, kind: str, processes: int) -> None:
        """`kind`: as for `jobs`."""
        self._kind, self._count = kind, min(processes, MOST)
        self._processes: list[Popen[bytes]] = []
        self._jobs, self._done = 0, -1

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:  # Ctrl-C: `__exit__` is not called then
            self._end()
            raise
        return self

    def _begin(self) -> None:
        with ExitStack() as ends:
            todo, given = os.pipe()
            self._done, doing = os.pipe()
            for end in (todo, given, doing):
                ends.callback(os.close, end)
            self._start(todo, doing)
            from realtime.starting.kernels import jobs  # as long as the processes take to begin

            self._jobs = len(jobs(self._kind))
            os.write(given, bytes(range(self._jobs)))  # far less than a pipe holds

    def _start(self, todo: int, doing: int) -> None:
        command = [sys.executable or "python", "-P", "-c", _CODE, json.dumps(sys.path), self._kind]
        with suppress(OSError):  # no more processes: there are fewer then, or none
            for _ in range(self._count):
                self._processes.append(Popen(command, stdin=todo, stdout=doing, stderr=DEVNULL))

    def wait(self, progress: Callable[[int, int], None]) -> None:
        """Until every job is done, or no process is left that does any; `progress` is told how many of how many are done."""
        for done in range(1, self._jobs + 1):
            if not os.read(self._done, 1):
                return
            progress(done, self._jobs)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _end(self) -> None:
        for process in self._processes:
            process.kill()  # loses nothing: what the cache holds is whole, each file was renamed to its name
        for process in self._processes:
            process.wait()
        if self._done >= 0:
            os.close(self._done)


def work(kind: str) -> None:
    """In such a process: jobs, until there are no more."""
    from realtime.starting.kernels import jobs

    todo = list(jobs(kind).values())
    while number := os.read(0, 1):
        todo[number[0]]()
        os.write(1, number)
