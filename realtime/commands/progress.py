"""Progress of work that takes its time. Of a fetch: a bar on a terminal, a line for each new step elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from realtime.commands.output import console, notify

if TYPE_CHECKING:
    from rich.progress import Progress


def _ready() -> str:
    from realtime.models.store import MODELS_READY  # here: whoever calls has loaded the store, help is to be instant

    return MODELS_READY


class _Bar:
    """A bar that is shown from its first figure on, and taken away at the end of the block."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()

    def _begin(self, bar: Progress, total: int | None) -> Progress:
        self._bar, self._task = bar, bar.add_task("", total=total)
        bar.start()
        return bar

    def _close(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.stop()


class FetchBar(_Bar):
    """A context manager to be called with a text, the bytes that have come and those in all. Shows nothing until then."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""

    def __call__(self, text: str, done: int, total: int) -> None:
        shown = self._bar or self._open(total)
        if shown is None:
            self._line(text)
            return
        shown.update(self._task, description=text, completed=done, total=total or None)
        if text == _ready():
            self._close()

    def _open(self, total: int) -> Progress | None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        out = console(stderr=True)
        if not out.is_terminal:
            return None
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        return self._begin(Progress(*columns, console=out), total or None)

    def _line(self, text: str) -> None:
        if text != self._text:
            notify(text)
            self._text = text


class CountBar(_Bar):
    """A context manager to be called with how many steps of how many (None: unknown) are done.

    Shows nothing until then, nor where there is no terminal, and leaves nothing: what came of the steps is said by whoever took them.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def __call__(self, done: int, total: int | None) -> None:
        shown = self._bar or self._open()
        shown.update(self._task, completed=done, total=total)

    def _open(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # here: most runs count nothing

        out = console(stderr=True)
        columns = (TextColumn(self._text, markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        return self._begin(Progress(*columns, console=out, disable=not out.is_terminal, transient=True), None)
