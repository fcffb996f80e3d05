"""The triangles of the canonical face: read, turned the same way round, and closed over eyes and mouth. Of `make_topology.py`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

VERTICES = 468
FOREHEAD = 10
"""The landmark at the top of the oval, in its middle."""


def tessellation(source: str) -> Ints:
    """The triangles (n, 3) listed in the text of face_mesh_connections.py as three edges each: (a, b), (b, c), (c, a)."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FACEMESH_TESSELATION" and isinstance(node.value, ast.Call):
            edges = np.array(ast.literal_eval(node.value.args[0])).reshape(-1, 3, 2)
            break
    else:
        raise SystemExit("FACEMESH_TESSELATION is missing: is this another version of the wheel?")
    if not np.array_equal(edges[:, :, 1], np.roll(edges[:, :, 0], -1, 1)):
        raise SystemExit("the tessellation no longer lists its edges triangle by triangle")
    return edges[:, :, 0].astype(np.int64)


def oriented(triangles: Ints) -> Ints:
    """The same triangles, all turning the same way round: neighbours pass their shared edge in opposite directions."""
    by_edge: dict[frozenset[int], list[int]] = {}
    for t, corners in enumerate(triangles.tolist()):
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            by_edge.setdefault(frozenset((a, b)), []).append(t)
    if max(map(len, by_edge.values())) > 2:
        raise SystemExit("an edge has more than two triangles: the mesh is not a surface")
    result, seen, stack = triangles.copy(), {0}, [0]
    while stack:
        t = stack.pop()
        for a, b in zip(result[t].tolist(), np.roll(result[t], -1).tolist(), strict=True):
            for other in by_edge[frozenset((a, b))]:
                if other not in seen:
                    forward = {(p, q) for p, q in zip(result[other].tolist(), np.roll(result[other], -1).tolist(), strict=True)}
                    if (a, b) in forward:
                        result[other] = result[other][::-1]
                    seen.add(other)
                    stack.append(other)
    if len(seen) != len(triangles):
        raise SystemExit("the mesh is in pieces")
    return result


def borders(triangles: Ints) -> list[list[int]]:
    """The border loops, the longest first, each in the direction of its triangles."""
    directed = {(int(a), int(b)) for t in triangles for a, b in zip(t, np.roll(t, -1), strict=True)}
    follow = {a: b for a, b in directed if (b, a) not in directed}
    loops = []
    while follow:
        loop = [next(iter(sorted(follow)))]
        while (after := follow.pop(loop[-1], None)) not in (loop[0], None):
            loop.append(int(after or 0))
        loops.append(loop)
    return sorted(loops, key=len, reverse=True)


def closed(triangles: Ints, xyz: Reals) -> Ints:
    """The triangles with the holes of the eyes and the mouth filled by strips between upper and lower rim.

    The diagonals mirror each other on the two sides of the face.
    """
    added: list[tuple[int, int, int]] = []
    for loop in borders(triangles)[1:]:
        loop = loop[::-1]  # the filling passes the border edges the other way
        left, right = (int(f(xyz[loop, 0])) for f in (np.argmin, np.argmax))
        ring = loop[left:] + loop[:left]
        split = (right - left) % len(loop)
        one, two = ring[: split + 1], [ring[0], *ring[: split - 1 : -1]]
        if len(one) != len(two):
            raise SystemExit("the two rims of a hole have different numbers of vertices")
        added += strip(one, two, xyz)
    return oriented(np.concatenate([triangles, np.array(added)]))


def strip(one: list[int], two: list[int], xyz: Reals) -> Iterator[tuple[int, int, int]]:
    """Triangles between two rims that share their first and last vertex."""
    for i in range(len(one) - 1):
        a, b, c, d = one[i], one[i + 1], two[i], two[i + 1]
        if a == c:
            yield a, b, d
        elif b == d:
            yield a, b, c
        elif abs(xyz[[a, c], 0].sum()) < abs(xyz[[b, d], 0].sum()):  # from the top near the middle to the bottom farther out
            high, low = (a, d) if xyz[a, 1] > xyz[c, 1] else (c, b)
            yield from diagonal((a, b, d, c), high, low)
        else:
            high, low = (b, c) if xyz[b, 1] > xyz[d, 1] else (d, a)
            yield from diagonal((a, b, d, c), high, low)


def diagonal(quad: tuple[int, int, int, int], p: int, q: int) -> Iterator[tuple[int, int, int]]:
    """The quad cut along p-q."""
    for other in quad:
        if other not in (p, q):
            yield p, q, other
