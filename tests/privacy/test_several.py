"""Several faces in view, each with the mark on it: one that is not swapped is hidden while others are."""

from __future__ import annotations

import numpy as np
import pytest

from realtime.pipeline.controls import Controls
from realtime.pipeline.several import InferSeveral
from realtime.types import Box, Image, State
from tests.pipeline.people import FACE, SIZE, Chosen, Gone, PaintingSwapper, Person, ScriptedCrowd, Seen, face
from tests.pipeline.test_pipeline import build, run
from tests.privacy.harness import Watch, paint

LEFT = Box(6, 20, 22, 42)
RIGHT = Box(72, 20, 88, 42)
ALL = (LEFT, FACE, RIGHT)


def told(followed: str, lost: str = "", others: str = "", since: float = 0.0) -> Seen:
    """By places: l, m and r for the face on the left, in the middle and on the right."""
    at = dict(zip("lmr", ALL, strict=True))
    seen = tuple(Chosen(face(track, at[place])) for track, place in enumerate("lmr") if place in followed)
    return Seen(seen, tuple(Gone((at[place],), since) for place in lost), tuple(at[place] for place in others))


class Forking(PaintingSwapper):
    """Those that it forks fail at every nth call, each way in turn."""

    def __init__(self, nth: int = 10**9) -> None:
        self._nth, self._calls = nth, 0
        super().__init__(self._now)

    def fork(self) -> Forking:
        return Forking(max(self._nth - 1, 2) if self._nth < 10**9 else self._nth)

    def _now(self) -> object:
        self._calls += 1
        if self._calls % self._nth:
            return True
        if self._calls // self._nth % 2:
            raise RuntimeError("device lost")
        return None


def crowd() -> Image:
    image = np.full((SIZE[1], SIZE[0], 3), 90, np.uint8)
    for box in ALL:
        paint(image, box)
    return image


SCRIPTS: dict[str, list[Seen | Exception]] = {
    "all are swapped": [told("lmr")],
    "one is lost, then another": [told("lmr"), told("lm", "r"), told("l", "mr"), told("lmr")],
    "some are not to be swapped and not to be seen": [told("m", others="lr")],
    "nobody can be followed": [told("lmr"), told("", "lmr"), told("", "lmr")],
    "they come in one by one": [told("", others="lmr"), told("l", others="mr"), told("lm", others="r"), told("lmr")],
    "the tracker raises": [told("lmr"), RuntimeError("boom"), told("lmr"), RuntimeError("boom")],
}


@pytest.mark.parametrize("on_lost", ["hide", "freeze"])
@pytest.mark.parametrize("nth", [10**9, 4], ids=["swappers work", "swappers fail"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_no_face_comes_out(name, nth, on_lost):
    watch, controls = Watch(), Controls()
    infer = InferSeveral(ScriptedCrowd(SCRIPTS[name]), Forking(nth), [Person("anna")], controls)
    steps = (crowd() for _ in range(24))
    assert run(build(steps, [watch], live=False, infer=infer, controls=controls, on_lost=on_lost)) is None
    assert watch.count == 24
    assert watch.leaks == []
    if nth > 24 and name not in ("nobody can be followed", "the tracker raises"):
        assert watch.states[-1] is State.SWAPPED


def test_a_pause_hides_them_all():
    watch, controls = Watch(), Controls()
    controls.paused = True
    infer = InferSeveral(ScriptedCrowd([told("lm", "r"), told("m", others="lr")]), Forking(), [Person("anna")], controls)
    assert run(build((crowd() for _ in range(6)), [watch], live=False, infer=infer, controls=controls, on_lost="pass")) is None
    assert watch.leaks == [] and set(watch.states) == {State.PAUSED}
