"""An interrupt that a library's callback has lost comes again."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator

import pytest

from realtime.commands.signals import end_on_signals


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    names = [name for name in ("SIGTERM", "SIGHUP", "SIGALRM", "SIGBREAK") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names}
    hook = sys.unraisablehook
    yield
    sys.unraisablehook = hook
    for number, handler in before.items():
        signal.signal(number, handler)


def lose(error: BaseException) -> None:
    """Raise an exception where Python cannot pass it on: here in a finaliser, in a compiler in its callbacks."""

    class Careless:
        def __del__(self) -> None:
            raise error

    Careless()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
@pytest.mark.parametrize(("given", "number"), [((), signal.SIGINT), ((signal.SIGTERM,), signal.SIGTERM)])
def test_an_interrupt_lost_in_a_callback_is_raised_after_it(given: tuple[int, ...], number: int) -> None:
    end_on_signals()
    lose(KeyboardInterrupt(*given))
    with pytest.raises(KeyboardInterrupt) as caught:
        time.sleep(5)
    assert caught.value.args == (number,)


def test_other_exceptions_are_printed_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    end_on_signals()
    lose(ValueError("odd"))
    assert "ValueError: odd" in capsys.readouterr().err
