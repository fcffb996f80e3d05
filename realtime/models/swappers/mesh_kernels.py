"""The mesh swapper's kernels one by one, so that they can be compiled side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from realtime.models.swappers.glasses import Glasses
from realtime.models.swappers.mesh import HOLES, region
from realtime.types import Patch
from realtime.vision.blend import paste
from realtime.vision.mesh import shade
from realtime.vision.mesh.atlas import blank_atlas
from realtime.vision.mesh.beard import border, new_beard, show_hairs
from realtime.vision.mesh.grain import match_grain
from realtime.vision.mesh.grey import is_grey
from realtime.vision.mesh.holes import cut_hole
from realtime.vision.mesh.occlusion import uncovered
from realtime.vision.mesh.paint import paint
from realtime.vision.mesh.raster import CHANNELS, draw_grid, new_grid
from realtime.vision.mesh.shape import reshape
from realtime.vision.mesh.topology import load_topology


def mesh_kernels() -> dict[str, Callable[[], object]]:
    """By name, the longest to compile first: each calls one kernel with arguments of the kinds that a swap gives it, which no other uses.

    A kernel that is forgotten here, or called with another kind, is compiled later, by one process alone.
    """
    topology, single = load_topology(), np.float32
    count, image = len(topology.uv), np.full((160, 160, 3), 128, np.uint8)
    points = topology.xyz * np.array([6, -6, -6], single) + np.array([80, 80, 0], single)
    mesh, atlas, grid = shade.new_mesh(topology), blank_atlas(count), new_grid(40, 40)
    history, seen, shaded = shade.new_history(count), shade.new_seen(count), shade.new_shaded(count)
    attributes, state = np.zeros((count, CHANNELS), single), np.full(2, -1, single)
    colour, alpha = np.zeros((32, 32, 3), np.uint8), np.zeros((32, 32), np.uint8)
    glasses, mean = Glasses(topology), (history.age, history.shape, history.looks)
    return {
        "look": lambda: shade.look(image, points, mesh, atlas.source, history, seen, shaded),
        "tint": lambda: shade.tint(mesh, atlas.source, seen, history, True, shaded),
        "grid": lambda: draw_grid(points, attributes, topology.triangles, 0, 0, 4, grid, 1.0, 3),
        "shape": lambda: reshape(
            points, mesh.xyz, mesh.rigid, shaded.rotation, shaded.scale[0], atlas.source.shape, *mean, np.zeros_like(points)
        ),
        "occlude": lambda: shade.occlude(mesh, seen, history, True),
        "uncovered": lambda: uncovered(mesh.skin, mesh.hairline, seen.front, seen.likeness, history),
        "grain": lambda: match_grain(image, points, topology.skin, 0, 0, colour, alpha, True, state),
        "beard": lambda: show_hairs(image, points, border(topology), 0, 0, 0.0, new_beard(), colour, alpha),
        "holes": lambda: cut_hole(alpha, points, HOLES[0][0], 0, 0, *HOLES[0][1:], 1),
        "rims": lambda: glasses.see(image, points),
        "frames": lambda: glasses.warm_up(image, points, Patch(0, 0, colour, alpha)),
        "paint": lambda: paint(grid.nodes, 1, atlas.levels[0], shaded.curve, colour, alpha),
        "paste": lambda: paste(image, 0, 0, colour, alpha),
        "grey": lambda: is_grey(image, points),
        "region": lambda: region(points, 160, 160),
    }
