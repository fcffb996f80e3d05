"""The people looked for, each by embeddings: the reference photos first, then how they look in this picture."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from realtime.models.base import Recogniser
from realtime.tracking.moment import Moment
from realtime.types import Floats
from realtime.vision import geometry
from realtime.vision.pose import yaw

TURNED = 45.0
"""Degrees of yaw beyond which an embedding says less: a person then matches their own frontal photo badly, if at all."""
RELAXED = 0.75
"""What the limit is multiplied by beyond that. A person's cosine falls with yaw and a stranger's does not rise, so relaxing misses fewer
of the people to be swapped; the lead that is asked for keeps two of them apart."""
LEAD = 0.08
"""Beyond that the best match must lead the second best by so much."""
_LEARNED = 3
"""Embeddings kept of each person beside the reference."""
_SURE = 0.2
"""How far above the limit, on the way to 1, a look must lie to be learned from: what is learned wrongly stays."""
_CLEAR = 0.15
"""Difference of two cosines with one photo that tells two people apart who are both in view."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a face in view."""

    embedding: Floats
    cosines: tuple[float, ...]
    """With each of the people; the best over what is kept of them."""
    references: tuple[float, ...]
    """With their reference photos alone."""
    turned: bool
    """Beyond 45 degrees of yaw."""


class Gallery:
    """Compares faces with the people looked for."""

    def __init__(self, recogniser: Recogniser, references: Sequence[Floats], similarity: float | None = None) -> None:
        """`references`: an embedding (d,) of length 1 for each person. `similarity`: the recogniser's own limit when None."""
        if not references:
            raise ValueError("expected at least one person to look for, got none")
        self._recogniser = recogniser
        self._references = tuple(references)
        self._limit = recogniser.same_person if similarity is None else similarity
        self._sure = self._limit + _SURE * (1.0 - self._limit)
        self.reset()

    def __len__(self) -> int:
        return len(self._references)

    def reset(self) -> None:
        """Forget what was learned; the references stay."""
        self._learned: list[list[Floats]] = [[] for _ in self._references]

    def limit(self, turned: bool) -> float:
        """Cosine from which a face is one of the people."""
        return self._limit * (RELAXED if turned else 1.0)

    def look(self, moment: Moment, points: Floats) -> Look | None:
        """One embedding of the mesh (468, 3)'s face, compared with everybody; None when the network gave nothing usable."""
        start = perf_counter()
        embedding = self._recogniser.embed(moment.image, geometry.five_points(points))
        moment.spent("identify", start)
        if not np.isfinite(embedding).all():
            return None
        first = tuple(float(reference @ embedding) for reference in self._references)
        best = tuple(max((cosine, *(float(kept @ embedding) for kept in more))) for cosine, more in zip(first, self._learned, strict=True))
        return Look(embedding.copy(), best, first, abs(yaw(points)) > TURNED)

    def match(self, look: Look, among: Collection[int] | None = None) -> int | None:
        """Who of these it is; None when nobody."""
        order = sorted(range(len(look.cosines)), key=lambda n: -look.cosines[n])
        best = order[0]
        if look.cosines[best] < self.limit(look.turned) or (among is not None and best not in among):
            return None
        if look.turned and len(order) > 1 and look.cosines[best] - look.cosines[order[1]] < LEAD:
            return None
        return best

    def is_nobody(self, look: Look) -> bool:
        """Whether the face is certainly none of the people: a turned one never is."""
        return not look.turned and max(look.cosines) < self._limit

    def is_second(self, look: Look, person: int, held: float) -> bool:
        """Whether somebody who looks like this person is not them, because they are here already: `held` is how like the photo that one is.
        Asked for is a clear distance between the two, and no more than a likeness: a mirror image has more."""
        return look.cosines[person] < self._sure and held - look.references[person] >= _CLEAR

    def learn(self, person: int, look: Look) -> None:
        """Keep a sure look that shows the person in a way not seen yet."""
        learned, cosine = self._learned[person], look.cosines[person]
        if not look.turned and len(learned) < _LEARNED and self._sure <= cosine < 0.9:
            learned.append(look.embedding)
