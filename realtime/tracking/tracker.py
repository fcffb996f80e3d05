"""The tracker: one decision a frame."""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np

from realtime.models.base import Detector, Landmarker, Recogniser
from realtime.tracking.confirm import Confirmation
from realtime.tracking.follow import Follower, Miss, clipped, inside
from realtime.tracking.identity import Enrolment, Finding, Watch
from realtime.tracking.others import GAP, Other, Others, main_score, near
from realtime.tracking.state import Status, Tracked, TrackerSettings
from realtime.types import Box, Detection, Face, Floats, Image, Landmarks
from realtime.vision import geometry
from realtime.vision.filters import LandmarkFilter

_STALLED = 1.0
"""Seconds without a frame after which a followed mesh is checked against a detection at once."""
_SURE_ENOUGH = 0.9
"""Presence of a mesh, or score of a detection, below which a second opinion is asked; 0.97 and 0.8 are the least usual."""
_UPRIGHT = 60.0
"""Roll in degrees from which a mesh is asked about every `_ASK_TILTED` seconds: the detector sees no such face, or sees it upside down."""
_ASK_TILTED = 0.3
_TURN = 25.0
"""Degrees of roll in one frame from which a mesh may have flipped over."""
_LOOK = 30.0
"""Mean difference in colour, of 255, at the mesh's points from what they have been like: another face, or another picture altogether.
Measured: up to 10 in talking and turning, 18 under a passing hand, 40 at a cut."""
_HELD = 0.3
"""Seconds that a face in view stays hidden after it was seen last while the person is lost."""
_ON_FACE = 0.3
"""Overlap from which a detection and a mesh's box show the same face; 0.6 to 0.8 is usual."""


class Tracker:
    """Follows the main face from frame to frame. Not thread-safe; deterministic: the only clock is `at`."""

    def __init__(self, detector: Detector, landmarker: Landmarker, recogniser: Recogniser | None, settings: TrackerSettings) -> None:
        self._detector = detector
        self._confirmation = Confirmation(detector)
        self._settings = settings
        self._follower = Follower(landmarker, settings.presence)
        self._filter = LandmarkFilter(settings.smoothing) if settings.smoothing is not None else None
        self._enrolment = Enrolment(recogniser)
        self._watch = Watch(settings.identify_every)
        self._others = Others()
        self._track = 0
        self.reset()

    def reset(self) -> None:
        """Forget everybody, the enrolled person too. Track numbers go on counting, so that no two faces ever share one."""
        self._enrolment.clear()
        self._others.clear()
        self._follower.forget()
        self._shape: tuple[int, ...] = (0, 0)
        self._at = -math.inf
        self._face: Face | None = None
        self._box: Box | None = None  # the face's last box: what there is to hide
        self._since = -math.inf  # when the present track began
        self._lost_at = -math.inf
        self._next_detect = -math.inf
        self._suspects: list[Other] = []  # faces that may be the person whom the mesh has slipped off
        self._in_view: tuple[Box, ...] = ()  # every face the detector saw last, the small ones too
        self._viewed_at = -math.inf
        self._next_ask = -math.inf  # when a tilted mesh is asked about again
        self._colours: Floats | None = None  # at some of the mesh's points, lately
        self._own: Detection | None = None  # the followed face, as the detector saw it last
        self._stranger_box: Box | None = None  # where a followed stranger was when found out
        self._detected = False
        self._times: dict[str, float] = {}

    def track(self, image: Image, at: float) -> Tracked:
        """Find the main face in the next frame, captured `at` (seconds, any origin, growing). The image is not kept."""
        self._detected = False
        self._times = {"detect": 0.0, "follow": 0.0, "identify": 0.0}
        if not 0 <= at - self._at <= _STALLED:
            self._reschedule(at)
        self._at = at
        if self._face is not None and image.shape[:2] != self._shape:
            self._lose("frame size changed")
        self._shape = image.shape[:2]
        return self._follow(image) if self._face is not None else self._search(image)

    def _reschedule(self, at: float) -> None:
        """Time stood still, or went back (a file played again): what was planned for the old times is due now."""
        self._next_detect = self._next_ask = at
        self._watch.next_look = min(self._watch.next_look, at + 1.0)
        self._lost_at, self._since = min(self._lost_at, at), min(self._since, at)
        if at < self._at:
            self._others.clear()

    # -- taking a face up and losing it ----------------------------------------------------------------------

    def _take(self, mesh: Landmarks, unproven: bool = False) -> Face:
        """Follow another face than before: a new track."""
        self._track += 1
        self._since = self._at
        self._watch.begin(self._at, unproven)
        self._suspects = []
        self._colours = None
        self._follower.forget()
        if self._filter is not None:
            self._filter.reset()
        return self._keep(mesh)

    def _keep(self, mesh: Landmarks) -> Face:
        """Smooth the mesh and remember it as where the followed face is."""
        box = self._follower.box
        if self._filter is not None:
            self._filter.apply(mesh.points, self._at, max(box.width, box.height))
            box = geometry.bounds(mesh.points)
        self._follower.keep(mesh.points, box, self._at)
        self._box = box
        self._face = Face(mesh, box, self._track)
        return self._face

    def _lose(self, reason: str) -> str:
        self._face, self._lost_at, self._suspects = None, self._at, []
        self._next_detect = self._at + self._settings.detect_lost_every if self._detected else self._at
        self._follower.forget()
        return reason

    def _reject(self) -> str:
        """Lose a face because it is somebody else: nothing found in its place counts as the person then."""
        self._since = math.inf
        return self._lose("another person")

    def _found(self, image: Image, face: Face, state: Status = Status.FOLLOWED, reason: str = "") -> Tracked:
        if state is Status.DETECTED:
            self._next_detect = self._at + self._settings.detect_every
        return Tracked(face, state, reason, self._detected, clipped(face.box, image), self._times)

    def _missing(self, image: Image, reason: str) -> Tracked:
        if self._box is None:
            return Tracked(None, Status.NONE, reason, self._detected, None, self._times)
        last = self._to_hide(image, self._box)
        hidden = [self._follower.ahead(self._box, self._at)]
        if self._at - self._viewed_at <= max(_HELD, self._settings.detect_lost_every):
            hidden += self._in_view
        return Tracked(None, Status.LOST, reason, self._detected, last, self._times, tuple(clipped(box, image) for box in hidden))

    def _to_hide(self, image: Image, last: Box) -> Box:
        """Where the lost face was, together with every face in view that may be the person, misjudged: all but known pictures."""
        boxes = [last]
        boxes += [other.detection.box for other in self._others.faces if other.last == self._at and (other.moved or not other.stranger)]
        low_x, low_y, high_x, high_y = zip(*boxes, strict=True)
        return clipped(Box(min(low_x), min(low_y), max(high_x), max(high_y)), image)

    # -- following -------------------------------------------------------------------------------------------

    def _follow(self, image: Image) -> Tracked:
        start = perf_counter()
        mesh = self._follower.step(image, self._at)
        self._times["follow"] += perf_counter() - start
        if isinstance(mesh, Miss):
            return self._recover(image, mesh.reason)
        if self._odd(mesh) and not self._confirmed(image, mesh):
            return self._recover(image, "not on a face")
        face = self._keep(mesh)
        if self._looks_new(image, mesh.points):
            if not self._confirmed(image, mesh):
                return self._recover(image, "looks new")
            face = self._take(mesh, unproven=True)
        if max(face.box.width, face.box.height) < 0.8 * self._settings.smallest(*image.shape[:2]):
            return self._missing(image, self._lose("too small"))
        # At most one slow look a frame: a detection and an embedding together could cost a frame.
        if self._suspects:
            return self._check_suspect(image, face)
        if self._at >= self._watch.next_look:
            return self._check_identity(image, face)
        if self._at >= self._next_detect:
            return self._check_place(image, face)
        return self._found(image, face)

    def _recover(self, image: Image, reason: str) -> Tracked:
        """The mesh is gone: detect in the same frame, and carry on when the face is still in its place."""
        for other in self._look_around(image):
            if self._in_place(other):
                mesh = self._start(image, other)
                if isinstance(mesh, Landmarks):
                    return self._found(image, self._again(image, mesh), Status.DETECTED, reason)
        return self._missing(image, self._lose(reason))

    def _odd(self, mesh: Landmarks) -> bool:
        """Whether there is a reason to ask if the mesh, though it stays where it is, really lies on a face."""
        assert self._face is not None
        left, right = geometry.OUTER_EYE_CORNERS
        roll = geometry.roll(mesh.points[left], mesh.points[right])
        if mesh.presence < _SURE_ENOUGH or self._follower.passes > 2:
            return True
        before = self._face.landmarks.points
        if abs((roll - geometry.roll(before[left], before[right]) + 180.0) % 360.0 - 180.0) > _TURN:
            return True
        return abs(roll) > _UPRIGHT and self._at >= self._next_ask

    def _confirmed(self, image: Image, mesh: Landmarks) -> bool:
        start = perf_counter()
        answer = self._confirmation.ask(image, mesh.points)
        self._times["detect"] += perf_counter() - start
        self._detected = True
        self._next_ask = self._at + _ASK_TILTED
        return answer

    def _looks_new(self, image: Image, points: Floats) -> bool:
        """Whether the face's colours are suddenly others; they are remembered."""
        height, width = image.shape[:2]
        at = points[::24, :2].astype(np.intp)
        np.minimum(np.maximum(at, 0, out=at), (width - 1, height - 1), out=at)
        colours = image[at[:, 1], at[:, 0]].astype(np.float32)
        if self._colours is None:
            self._colours = colours
            return False
        change = colours - self._colours
        self._colours += 0.3 * change
        return float(np.abs(change).sum()) > _LOOK * change.size

    def _again(self, image: Image, mesh: Landmarks) -> Face:
        """Carry on from a detection: neither smoothing nor velocity may drag the mesh back to where it was wrongly."""
        self._follower.forget()
        if self._filter is not None:
            self._filter.reset()
        if self._looks_new(image, mesh.points):
            return self._take(mesh, unproven=True)
        self._watch.question(self._at)
        return self._keep(mesh)

    def _in_place(self, other: Other, reach: float = 0.6) -> bool:
        """Whether a face lies where the followed one was last, and turned up there: it was not in view before, nor came from elsewhere."""
        if self._box is None or other.first < self._since or other.stranger:
            return False
        return near(other.detection.box, self._box, reach) and near(other.anchor, self._box, reach)

    def _check_place(self, image: Image, face: Face) -> Tracked:
        """The slow detection: is the mesh where a face is, and is this still the main face?"""
        seen = self._look_around(image, apart_from=face)
        for other in seen:
            drifted = self._own is None and self._in_place(other, reach=1.0)
            if not (drifted or self._challenged(other, face, image)):
                continue
            mesh = self._start(image, other)
            if isinstance(mesh, Miss):
                continue
            if drifted:
                return self._found(image, self._again(image, mesh), Status.DETECTED, "drift")
            self._enrolment.clear()
            return self._found(image, self._take(mesh), Status.DETECTED, "challenged")
        if self._own is None and not self._confirmed(image, face.landmarks):
            return self._missing(image, self._lose("not on a face"))
        if self._watch.stranger_since is not None and not self._suspects:
            self._suspects = [other for other in seen if self._at >= other.next_look][:2]
        return self._found(image, face)

    def _challenged(self, other: Other, face: Face, image: Image) -> bool:
        """Whether another face has beaten the followed one clearly, several checks in a row; a picture, which never moves, cannot."""
        # Unseen by the detector, the followed face counts half: it may be a mesh that holds on to nothing.
        box, sure = (self._own.box, self._own.score) if self._own is not None else (face.box, 0.5 * face.landmarks.presence)
        ahead = other.moved and other.score > self._settings.challenge_ratio * main_score(box, sure, *image.shape[:2])
        other.wins = other.wins + 1 if ahead else 0
        return other.wins >= self._settings.challenge_checks

    # -- who is followed -------------------------------------------------------------------------------------

    def _check_identity(self, image: Image, face: Face) -> Tracked:
        """Enrol the followed face, or see whether it still is the person enrolled."""
        watch, enrolment = self._watch, self._enrolment
        if not enrolment.possible:
            watch.next_look = math.inf
        elif watch.frontal_enough(face.landmarks.points, self._at, enrolment.known):
            cosine = self._look(image, face.landmarks, learn=True)
            crowd = any(self._at - other.last < GAP for other in self._others.faces)
            finding = watch.judge(cosine, enrolment.same_person, self._at, watch.interval(enrolment.count, crowd))
            if finding is Finding.INTRUDER:
                return self._missing(image, self._reject())
            if finding is Finding.STRANGER:
                return self._stranger(image, face)
        return self._found(image, face)

    def _stranger(self, image: Image, face: Face) -> Tracked:
        """The followed face is somebody else. They have the swap already and keep it while the person is looked for elsewhere; after a
        while it is theirs, unless they are a picture."""
        since = self._watch.stranger_since
        if since is None or since == self._at:
            self._stranger_box = face.box
            self._next_detect = self._at
        elif self._at - since >= self._settings.takeover:
            if self._stranger_box is not None and _moved(face.box, self._stranger_box) < 0.02:
                return self._missing(image, self._reject())
            self._enrolment.clear()
            self._watch.begin(self._at)
        return self._found(image, face)

    def _check_suspect(self, image: Image, face: Face) -> Tracked:
        """A stranger is followed: is this other face the person?"""
        other = self._suspects.pop(0)
        mesh = self._start(image, other, remove=False)
        if isinstance(mesh, Landmarks) and self._recognised(image, mesh, other):
            self._others.remove(other)
            return self._found(image, self._take(mesh), Status.DETECTED, "person seen elsewhere")
        return self._found(image, face)

    # -- nobody followed -------------------------------------------------------------------------------------

    def _search(self, image: Image) -> Tracked:
        if self._at < self._next_detect:
            return self._missing(image, "waiting")
        seen = self._look_around(image)
        reason = self._none_reason
        for other in sorted(seen, key=self._urgency)[:2]:
            mesh, reason = self._take_up(image, other, seen)
            if mesh is not None:
                self._others.remove(other)
                return self._found(image, self._take(mesh, unproven=self._resumes(other)), Status.DETECTED, reason)
            if self._times["identify"] > 0:
                break  # one embedding a frame
        return self._missing(image, reason)

    def _urgency(self, other: Other) -> tuple[bool, bool]:
        """Sort key: where the face was lost first, then those not looked at lately; else by main-face score, as they come."""
        return not self._resumes(other), self._at < other.next_look

    def _resumes(self, other: Other) -> bool:
        """Whether this must be the face just lost: a moment later and in its place."""
        return self._at - self._lost_at <= self._settings.resume_within and self._in_place(other)

    def _take_up(self, image: Image, other: Other, seen: list[Other]) -> tuple[Landmarks | None, str]:
        """The mesh of a face that may be followed from now on, or None and why not."""
        allowed = self._resumes(other) or (not self._enrolment.known and self._welcome(other))
        if not (allowed or self._enrolment.known):
            return None, "still picture"
        takes_over = not allowed and self._takes_over(other, seen)
        if not (allowed or takes_over) and self._at < other.next_look:
            return None, "another person"
        mesh = self._start(image, other, remove=False)
        if isinstance(mesh, Miss):
            return None, mesh.reason
        if allowed or self._recognised(image, mesh, other):
            return mesh, ""
        if not takes_over:
            return None, "another person"
        self._enrolment.clear()
        return mesh, "taken over"

    def _welcome(self, other: Other) -> bool:
        """With nobody enrolled: anyone at first; after a loss a face that moves, that is about where the loss was, or that stays."""
        if self._box is None:
            return True
        staying = self._at - max(other.since, self._lost_at) >= self._settings.takeover
        return other.moved or staying or near(other.detection.box, self._box, reach=1.5)

    def _takes_over(self, other: Other, seen: list[Other]) -> bool:
        """Somebody else gets the swap after being the main face for a while: moving, still there, and the best of those who move."""
        alive = [face for face in seen if face.moved]
        alone = len(alive) == 1 and self._at - self._lost_at >= self._settings.long_loss
        wait = self._settings.takeover_alone if alone else self._settings.takeover
        staying = self._at - max(other.since, self._lost_at) >= wait
        return staying and other.stranger and bool(alive) and alive[0] is other

    # -- running the networks --------------------------------------------------------------------------------

    def _look_around(self, image: Image, apart_from: Face | None = None) -> list[Other]:
        """Run the detector; the faces in view that are big and sure enough, the best first, without the one that is being followed.

        Leaves that one's detection in `_own`, and in `_none_reason` why there may be nobody.
        """
        start = perf_counter()
        found = self._detector.detect(image)
        self._times["detect"] += perf_counter() - start
        self._detected = True
        self._next_detect = self._at + (self._settings.detect_every if apart_from is not None else self._settings.detect_lost_every)
        self._viewed_at = self._at
        height, width = image.shape[:2]
        sure = [face for face in found if face.score >= self._settings.score and _sane(face, image)]
        self._in_view = tuple(face.box for face in sure)
        big = [face for face in sure if max(face.box.width, face.box.height) >= self._settings.smallest(height, width)]
        self._none_reason = "too small" if sure else "no detection"
        self._own = _best_match(big, apart_from.box) if apart_from is not None else None
        scored = [(face, main_score(face.box, face.score, height, width)) for face in big if face is not self._own]
        return self._others.update(scored, self._at, max(height, width))

    def _start(self, image: Image, other: Other, remove: bool = True) -> Landmarks | Miss:
        """The mesh of a face in view; with `remove` it is no longer one of the others when there is one."""
        start = perf_counter()
        mesh = self._follower.start(image, other.detection, strict=True)
        self._times["follow"] += perf_counter() - start
        # Only upright faces score high, and one that is upside down is seen as one that is not.
        doubtful = isinstance(mesh, Landmarks) and min(other.detection.score, mesh.presence) < _SURE_ENOUGH
        if isinstance(mesh, Landmarks) and doubtful and not self._confirmed(image, mesh):
            mesh = Miss("upside down")
        if remove and isinstance(mesh, Landmarks):
            self._others.remove(other)
        return mesh

    def _look(self, image: Image, mesh: Landmarks, learn: bool) -> float:
        start = perf_counter()
        cosine = self._enrolment.look(image, mesh.points, learn)
        self._times["identify"] += perf_counter() - start
        return 0.0 if math.isnan(cosine) else cosine

    def _recognised(self, image: Image, mesh: Landmarks, other: Other) -> bool:
        same = self._look(image, mesh, learn=False) >= self._enrolment.sure
        other.looked(self._at, same)
        return same


def _sane(detection: Detection, image: Image) -> bool:
    """A detector's answer that can be worked with: finite and at least in part within the frame."""
    return all(map(math.isfinite, (*detection.box, detection.score))) and inside(detection.box, image) > 0.3


def _best_match(found: list[Detection], box: Box) -> Detection | None:
    best = max(found, key=lambda face: geometry.overlap(face.box, box), default=None)
    return best if best is not None and geometry.overlap(best.box, box) >= _ON_FACE else None


def _moved(a: Box, b: Box) -> float:
    """Distance of the centres in face sizes."""
    (ax, ay), (bx, by) = a.centre, b.centre
    return math.hypot(ax - bx, ay - by) / max(a.width, a.height)
