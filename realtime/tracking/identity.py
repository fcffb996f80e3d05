"""Who is being followed: a few embeddings of one person, taken while the face is steady."""

from __future__ import annotations

import math
from enum import Enum, auto
from time import perf_counter

import numpy as np

from realtime.models.base import Recogniser
from realtime.tracking.moment import Moment
from realtime.tracking.others import Other
from realtime.types import Box, Floats
from realtime.vision import geometry
from realtime.vision.pose import turn

STEADY = 0.3
"""Seconds a face must be followed before it is enrolled."""
_MOST = 4
_NEW_POSE = 0.75
"""Cosine below which another look at the same person is worth keeping: it shows a pose or light not seen yet."""

_SURE = 0.27
"""How far above the same-person cosine, on the way to 1, a face must lie to be recognised after a loss. Within one session, one camera and
light, a person matches with 0.6 to 1; strangers alike in age and looks reach the bare limit, one pair of portraits 0.50 of the 0.53 that
this makes of SFace's limit, and are asked again and again."""
_DOUBTS = 3
"""Looks in a row below the same-person cosine that make a followed face a stranger: a hand or a shadow fails one."""
_PROOFS = 3
"""Looks in a row above the same-person cosine, but not surely so, that make an unproven face the person."""
_FRONTAL = 0.35
"""How far a face may be turned for a look to tell who it is, see `pose.turn`."""
_UNTOLD = 4
"""Looks after which a face that never showed itself to the camera, or is too small for a mesh, counts as somebody else: 3 s."""
_SOON = 0.2
"""Seconds between looks at an unproven face."""
_CROWD = 7.0
"""How many times as often identity is checked with several faces in view."""


class Enrolment:
    """The person followed. Compared by the best match over the embeddings kept, since one pose says little about another."""

    def __init__(self, recogniser: Recogniser | None, similarity: float | None = None) -> None:
        """`similarity`: the cosine from which a face is the same person; the recogniser's own when None."""
        self._recogniser = recogniser
        self._similarity = similarity
        self._kept: list[Floats] = []

    @property
    def possible(self) -> bool:
        return self._recogniser is not None

    @property
    def known(self) -> bool:
        return bool(self._kept)

    @property
    def count(self) -> int:
        return len(self._kept)

    @property
    def same_person(self) -> float:
        """Cosine below which a followed face is doubted."""
        if self._recogniser is None:
            return 1.0
        return self._recogniser.same_person if self._similarity is None else self._similarity

    @property
    def sure(self) -> float:
        """Cosine from which a face is recognised after a loss."""
        return self.same_person + _SURE * (1.0 - self.same_person)

    def look(self, moment: Moment, points: Floats, learn: bool) -> float:
        """Cosine of the mesh (468, 3)'s face with the person enrolled; 1 when nobody is yet, 0 when the network gave nothing usable.

        With `learn`, a face that is nobody else's is kept.
        """
        if self._recogniser is None:
            return 1.0
        start = perf_counter()
        embedding = self._recogniser.embed(moment.image, geometry.five_points(points))
        moment.spent("identify", start)
        if not np.isfinite(embedding).all():
            return 0.0
        cosine = max((float(kept @ embedding) for kept in self._kept), default=1.0)
        if learn and self._welcome(cosine):
            self._kept.append(embedding.copy())
        return cosine

    def recognises(self, moment: Moment, points: Floats, other: Other) -> bool:
        """Whether this mesh of a face in view is the person enrolled, without a doubt; the look is booked."""
        same = self.look(moment, points, learn=False) >= self.sure
        other.looked(moment.at, same)
        return same

    def once_more(self, moment: Moment, points: Floats | None, other: Other) -> None:
        """See whether a face in view is the person enrolled a second time: a mirror, a screen, two shots in one picture. No mesh, or a
        turned one, tells nothing; the look is booked all the same."""
        telling = points is not None and abs(turn(geometry.five_points(points))) <= _FRONTAL
        cosine = self.look(moment, points, learn=False) if points is not None and telling else 0.0
        other.looked(moment.at, cosine >= self.same_person if telling else False)
        other.likely += cosine >= self.same_person
        other.suspect |= cosine >= self.sure or other.likely >= _PROOFS
        other.told |= (telling and cosine < self.same_person) or other.looks >= _UNTOLD

    def clear(self) -> None:
        self._kept.clear()

    def _welcome(self, cosine: float) -> bool:
        if len(self._kept) < 2:
            return cosine >= self.same_person or not self._kept
        return len(self._kept) < _MOST and self.same_person <= cosine < _NEW_POSE


class Finding(Enum):
    SAME = auto()
    UNSURE = auto()
    INTRUDER = auto()
    """Taken up unchecked where the person was lost, and now seen to be somebody else."""
    STRANGER = auto()
    """Has been followed all along and is somebody else now: the mesh slipped over, or the picture was cut."""


class Watch:
    """When to look at the followed face's identity, and what the looks add up to."""

    def __init__(self, every: float) -> None:
        self._every = every
        self.begin(-math.inf)

    def begin(self, at: float, unproven: bool = False) -> None:
        """A new track. `unproven`: it is only taken to be the same person, so look soon and judge strictly."""
        self._doubts = 0
        self._proofs = 0
        self._unproven = unproven
        self.stranger_since: float | None = None
        self.stranger_box: Box | None = None  # where the stranger was when found out
        self.suspects: list[Other] = []  # faces that may be the person whom the mesh has slipped off
        self.next_look = at if unproven else at + STEADY

    @property
    def unproven(self) -> bool:
        """Whether somebody else may be followed: since something odd happened no look has told."""
        return self._unproven

    @property
    def doubted(self) -> bool:
        """The same, or the last look did not find the person."""
        return self._unproven or self._doubts > 0

    def question(self, at: float) -> None:
        """Something odd happened: look at the next chance."""
        self._unproven, self._proofs = True, 0
        self.next_look = min(self.next_look, at)

    def frontal_enough(self, points: Floats, at: float, known: bool) -> bool:
        """Whether a look would tell anything; puts it off when not. A first look decides what all others are compared with."""
        if abs(turn(geometry.five_points(points))) <= (_FRONTAL if known else 0.25):
            return True
        self.next_look = at + 0.2
        return False

    def judge(self, cosine: float, same_person: float, at: float, again: float, sure: float = 0.0) -> Finding:
        """Book a look. `again` is the time to the next one when all is well; an unproven face is proven by a `sure` look, or by several."""
        if cosine >= same_person:
            self._proofs += 1
            self._unproven = self._unproven and cosine < sure and self._proofs < _PROOFS
            self._doubts, self.stranger_since = 0, None
            self.next_look = at + (_SOON if self._unproven else again)
            return Finding.SAME
        self._proofs = 0
        self._doubts += 1
        self.next_look = at + (_SOON if self._unproven else 0.5)
        if self._unproven and self._doubts >= 2:
            return Finding.INTRUDER
        if self._doubts < _DOUBTS:
            return Finding.UNSURE
        if self.stranger_since is None:
            self.stranger_since = at
        return Finding.STRANGER

    def interval(self, count: int, crowd: bool) -> float:
        """Time between looks: the second embedding soon, since one alone is a poor judge; and often among several people."""
        if count < 2:
            return min(2.0, self._every)
        return self._every / (_CROWD if crowd else 1.0)
