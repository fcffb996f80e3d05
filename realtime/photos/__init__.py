"""Source photos as people have them: any format, turned, grey, transparent, huge; with several faces, or a poor one."""

from realtime.photos.read import read_photo
from realtime.photos.source import load_source

__all__ = ["load_source", "read_photo"]
