"""The compiled functions that a start warms up, as jobs that can be done in any order and side by side."""

from __future__ import annotations

from collections.abc import Callable

from realtime.backends import native
from realtime.compiled import prepare
from realtime.models.landmarks import mesh
from realtime.models.swappers.mesh_kernels import mesh_kernels
from realtime.tracking import warm_up
from realtime.vision import cover, crops, planes, sample, scenery, shift, warp, yuv

Job = Callable[[], object]
"""Compiles one kernel, or a few small ones; loads them when the cache has them."""


def jobs(kind: str) -> dict[str, Job]:
    """By name, the longest first. `kind`: "mesh" or "network", what swaps."""
    following: dict[str, Job] = {
        "native": native.warm_up,
        "follow": warm_up,
        "sample": lambda: prepare(sample.sample_planes),
        "planes": lambda: prepare(planes.fill_planes, planes.fill_normalised),
        "yuv": yuv.warm_up,
        "shift": shift.warm_up,
        "scenery": scenery.warm_up,
        "landmarks": mesh.warm_up,
        "cover": cover.warm_up,
    }
    if kind != "mesh":
        crop = (crops.write_levels, crops.write_pixels, crops.take_every, crops.put_every, crops.join, warp.draw_patch, warp.cut_out)
        return {**following, "crops": lambda: prepare(*crop), "paste": mesh_kernels()["paste"]}
    swap = mesh_kernels()
    large = ("look", "tint", "grid", "occlude", "grain")
    return {**{name: swap[name] for name in large}, **following, **swap}
