"""Which face, where, how smooth, when to detect again.

Detect once, then follow: the mesh in one frame says where to look in the next. A detector runs again only when the mesh network is no
longer sure, at a slow interval, and while nobody is followed. After a loss a face is taken up at once where it was lost, or anywhere when
it is recognised; somebody else has to stay for a while first, and a picture on the wall, which never moves, never gets the swap.
"""

from realtime.tracking.state import Status, Tracked, TrackerSettings
from realtime.tracking.tracker import Tracker

__all__ = ["Status", "Tracked", "Tracker", "TrackerSettings"]
