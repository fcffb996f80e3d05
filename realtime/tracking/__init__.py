"""Which face, where, how smooth, when to detect again.

Detect once, then follow: the mesh in one frame says where to look in the next. A detector runs again only when the mesh network is no
longer sure, at a slow interval, and while nobody is followed. After a loss a face is taken up at once where it was lost, or anywhere when
it is recognised; somebody else has to stay for a while first, and a picture on the wall, which never moves, never gets the swap.

`Tracker` does that for one face: the main one, the largest, the leftmost. `SeveralTracker` follows the faces that a rule chooses, all or
certain people. They share what a followed face is, and how it is confirmed.
"""

from realtime.tracking.choice import Everyone
from realtime.tracking.followed import warm_up
from realtime.tracking.gallery import Gallery
from realtime.tracking.people import People
from realtime.tracking.preference import Ranked, largest, left, nth, right
from realtime.tracking.several import SeveralTracked, SeveralTracker
from realtime.tracking.state import Status, Tracked, TrackerSettings
from realtime.tracking.tracker import Tracker

__all__ = [
    "Everyone", "Gallery", "People", "Ranked", "SeveralTracked", "SeveralTracker", "Status", "Tracked", "Tracker", "TrackerSettings",
    "largest", "left", "nth", "right", "warm_up",
]  # fmt: skip
