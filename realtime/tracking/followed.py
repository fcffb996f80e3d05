"""The face that is followed: its mesh, smoothed, and what tells that it is a face and still the same one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import perf_counter

import numpy as np

from realtime.models.base import Landmarker
from realtime.tracking.confirm import TURNED, Confirmation
from realtime.tracking.follow import Follower, Miss
from realtime.tracking.identity import Watch
from realtime.tracking.moment import Moment
from realtime.tracking.others import Other, near
from realtime.tracking.state import TrackerSettings
from realtime.types import Box, Detection, Face, Floats, Landmarks
from realtime.vision import geometry, pose
from realtime.vision.filters import LandmarkFilter
from realtime.vision.sample import colours_change

_SURE_ENOUGH = 0.9
"""Presence of a mesh, or score of a detection, below which a second opinion is asked; 0.97 and 0.8 are the least usual."""
_UPRIGHT = 60.0
"""Roll in degrees from which a mesh is asked about every `_ASK_ODD` seconds: the detector sees no such face, or sees it upside down.
The same for one that is turned aside (`TURNED`): it may have taken a profile for a face that is turned less."""
_ASK_ODD = 0.3
_TURN = 25.0
"""Degrees of roll in one frame from which a mesh may have flipped over."""
_LOOK = 30.0
"""Mean difference in colour, of 255, at the mesh's points from what they have been like: another face, or another picture altogether.
Measured: up to 10 in talking and turning, 18 under a passing hand, 40 at a cut."""
_PARTLY, _SAME = 0.25, 12.0
"""Share of those points that stay within so many levels when something comes before the face, and the face is still the same behind it.
Measured: a light hand over the mouth of a dark face .35 to .5 (a mean of 41), somebody who walks by .4 to .5, a lamp that flickers .1."""
_EVERY = 24
"""Of how many points of the mesh one is looked at for that."""


def warm_up() -> None:
    """Compile or load the machine code of following, otherwise done at the first two meshes: seconds the first time ever."""
    LandmarkFilter.warm_up()
    geometry.bounds(np.zeros((1, 3), np.float32))
    colours_change(np.zeros((1, 1, 3), np.uint8), np.zeros((1, 3), np.float32), 1, 1.0, _SAME, np.zeros((1, 3), np.float32))


class Followed:
    """One face at a time, followed or lost. Several may share the landmarker and the detector that confirms."""

    def __init__(self, landmarker: Landmarker, confirmation: Confirmation, settings: TrackerSettings, numbers: Iterator[int]) -> None:
        """`numbers`: where track numbers come from, each used once."""
        self._confirmation = confirmation
        self._settings = settings
        self._follower = Follower(landmarker, settings.presence)
        self._filter = LandmarkFilter(settings.smoothing) if settings.smoothing is not None else None
        self._numbers = numbers
        self.watch = Watch(settings.identify_every)
        self.track = 0
        self.reset()

    def reset(self) -> None:
        """Forget the face, and where it was."""
        self._follower.forget()
        self.face: Face | None = None
        self.box: Box | None = None
        """The face's last box: what there is to hide."""
        self.since = -math.inf
        """When the present track began."""
        self.lost_at = -math.inf
        self._next_ask = -math.inf  # when a tilted or turned mesh is asked about again
        self._colours: Floats | None = None  # at some of the mesh's points, lately
        self._looks = self.track  # see `Face.looks`
        self._partly = False  # what looked new was only a part of the face

    def reschedule(self, at: float) -> None:
        """Time stood still or went back: what was planned for the old times is due now."""
        self._next_ask = at
        self.watch.next_look = min(self.watch.next_look, at + 1.0)
        self.lost_at, self.since = min(self.lost_at, at), min(self.since, at)

    def ahead(self, at: float) -> Box | None:
        """Where the face may be by now if it went on as it did."""
        return None if self.box is None else self._follower.ahead(self.box, at)

    # -- following -------------------------------------------------------------------------------------------

    def step(self, moment: Moment) -> Landmarks | Miss:
        """The mesh in this frame, not kept yet. A face must be followed."""
        start = perf_counter()
        mesh = self._follower.step(moment.image, moment.at)
        moment.spent("follow", start)
        return mesh

    def follow(self, moment: Moment) -> Face | Miss:
        """The face in this frame, kept; one that looks like another all of a sudden is a new track. A face must be followed."""
        mesh = self.step(moment)
        if isinstance(mesh, Miss):
            return mesh
        if self.odd(mesh, moment.at) and not self.confirmed(moment, mesh):
            return Miss("not on a face")
        face = self.keep(moment, mesh)
        if not self.looks_new(moment, mesh.points):
            return face
        return self.take(moment, mesh, unproven=True, behind=self._partly) if self.confirmed(moment, mesh) else Miss("looks new")

    def keep(self, moment: Moment, mesh: Landmarks) -> Face:
        """Smooth the mesh and remember it as where the followed face is."""
        box = self._follower.box
        if self._filter is not None:
            self._filter.apply(mesh.points, moment.at, box.side)
            box = geometry.bounds(mesh.points)
        self._follower.keep(mesh.points, box, moment.at)
        self.box = box
        self.face = Face(mesh, box, self.track, looks=self._looks)
        return self.face

    def start(self, moment: Moment, detection: Detection) -> Landmarks | Miss:
        """The mesh of a detected face, not kept yet; one that is upside down is none."""
        start = perf_counter()
        mesh = self._follower.start(moment.image, detection, strict=True)
        moment.spent("follow", start)
        # Only upright faces score high, and one that is upside down is seen as one that is not.
        if isinstance(mesh, Landmarks) and _doubtful(mesh, detection) and not self.confirmed(moment, mesh):
            return Miss("not as the detector sees it")
        return mesh

    def take(self, moment: Moment, mesh: Landmarks, unproven: bool = False, behind: bool = False) -> Face:
        """Follow another face than before: a new track. `behind`: or the same, with something before it, so that its looks hold."""
        self.track = next(self._numbers)
        if not behind:
            self._looks = self.track
        self.since = moment.at
        self.watch.begin(moment.at, unproven)
        self._colours = None
        self._begin_anew()
        return self.keep(moment, mesh)

    def again(self, moment: Moment, mesh: Landmarks) -> Face:
        """Carry on from a detection: neither smoothing nor velocity may drag the mesh back to where it was wrongly."""
        self._begin_anew()
        if self.looks_new(moment, mesh.points):
            return self.take(moment, mesh, unproven=True, behind=self._partly)
        self.watch.question(moment.at)
        return self.keep(moment, mesh)

    def lose(self, at: float) -> None:
        self.face, self.lost_at = None, at
        self.watch.suspects = []
        self._follower.forget()

    def _begin_anew(self) -> None:
        self._follower.forget()
        if self._filter is not None:
            self._filter.reset()

    # -- is it a face, and the same one? ---------------------------------------------------------------------

    def odd(self, mesh: Landmarks, at: float) -> bool:
        """Whether there is a reason to ask if the mesh, though it stays where it is, really lies on a face."""
        assert self.face is not None
        left, right = geometry.OUTER_EYE_CORNERS
        roll = geometry.roll(mesh.points[left], mesh.points[right])
        if mesh.presence < _SURE_ENOUGH or self._follower.passes > 2:
            return True
        before = self.face.landmarks.points
        if abs((roll - geometry.roll(before[left], before[right]) + 180.0) % 360.0 - 180.0) > _TURN:
            return True
        return at >= self._next_ask and (abs(roll) > _UPRIGHT or abs(pose.yaw(mesh.points)) > TURNED)

    def confirmed(self, moment: Moment, mesh: Landmarks) -> bool:
        """The detector's opinion on the mesh."""
        start = perf_counter()
        answer = self._confirmation.ask(moment.image, mesh.points)
        moment.spent("detect", start)
        moment.detected = True
        self._next_ask = moment.at + _ASK_ODD
        return answer

    def looks_new(self, moment: Moment, points: Floats) -> bool:
        """Whether the face's colours are suddenly others; they are remembered."""
        if self._colours is None:
            self._colours = np.zeros((-(-len(points) // _EVERY), 3), np.float32)
            colours_change(moment.image, points, _EVERY, 1.0, _SAME, self._colours)
            return False
        change, same = colours_change(moment.image, points, _EVERY, 0.3, _SAME, self._colours)
        self._partly = change > _LOOK and same >= _PARTLY
        return change > _LOOK

    def in_place(self, other: Other, reach: float = 0.6) -> bool:
        """Whether a face lies where the followed one was last, and turned up there: it was not in view before, nor came from elsewhere."""
        if self.box is None or other.first < self.since or other.stranger:
            return False
        return near(other.detection.box, self.box, reach) and near(other.anchor, self.box, reach)


def _doubtful(mesh: Landmarks, detection: Detection) -> bool:
    return min(detection.score, mesh.presence) < _SURE_ENOUGH or abs(pose.yaw(mesh.points)) > TURNED
