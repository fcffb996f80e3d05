"""Another program that reads a virtual camera and tells how old the frames are that it gets; a small one, so that it starts soon.

    python -m tests.rig.onlooker DEVICE SECONDS

Prints JSON: `begin` and `end`, of `time.perf_counter`; `ages` of the new frames in milliseconds; `back`, frames older than one seen before.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import cv2

from benchmarks import stamp

FIRST = 3
"""Frames that do not count: they lay in the driver's buffers before somebody looked."""


def look(device: str, seconds: float) -> dict[str, Any]:
    camera, newest, ages, back = cv2.VideoCapture(device, cv2.CAP_V4L2), -1, [], 0
    for _ in range(FIRST):
        camera.read()
    begin = time.perf_counter()
    while time.perf_counter() < begin + seconds:
        there, image = camera.read()
        now = time.perf_counter()
        if not there:
            break
        luma = cv2.cvtColor(image[: stamp.side(image.shape[1])], cv2.COLOR_BGR2GRAY)
        stamped, age = stamp.read(luma), stamp.age(luma, now)
        if stamped is None or age is None or stamped == newest:
            continue
        back += stamped < newest
        newest = max(stamped, newest)
        ages.append(round(age * 1e3, 3))
    camera.release()
    return {"begin": begin, "end": time.perf_counter(), "ages": ages, "back": back}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device")
    parser.add_argument("seconds", type=float)
    print(json.dumps(look(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
