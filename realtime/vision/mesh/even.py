"""The light of the source photo itself, taken off its texture: the frame's is put on later, by adding to colours."""

from __future__ import annotations

from typing import Final, NamedTuple

import cv2
import numpy as np

from realtime.types import Array, Floats, Image
from realtime.vision.mesh import indices
from realtime.vision.mesh.describe import SIDE, at_texels, distance, spread
from realtime.vision.mesh.topology import Topology, smoothstep

BRIGHTNESS_KEPT, COLOUR_KEPT = 0.35, 0.06
"""Natural logarithms of the differences in brightness and in the mix of colours that belong to the face, not to its light."""
SIDES_KEPT = 0.2
"""The same of brightness for the sides of a face: the dark edge that a light from the front leaves there is a grey patch in any other."""
BETWEEN_BROWS: Final = (8, 168, 193, 417, 55, 285)
"""Vertices above the root of the nose."""
BETWEEN_KEPT = 0.12
"""The same of brightness there. In even light no portrait of ours is darker than the mean of its face by more; one lit from above is by
0.6, a dark patch in any other light."""
WARM_KEPT, GREEN_KEPT = 0.06, 0.02
"""Logarithms by which fine detail may be more orange, and greener, than the skin around it."""


class Areas(NamedTuple):
    """Where on the texture what is done; (SIDE, SIDE) float32, 0..1."""

    skin: Floats
    """As in `Topology`."""
    sides: Floats
    """Near the border."""
    between: Floats
    """Between the brows."""
    warm: Floats
    """No feature that is redder than skin; half of the brows, which may be red hair."""
    plain: Floats
    """Neither eyes nor lips."""


def even_light(texture: Floats, topology: Topology) -> Image:
    """Take strong light of the photo's own off the skin: differences of brightness, and of colour, beyond what faces have.

    A photo lit hard from one side or in two colours would turn blotchy in another light. Colours are followed more closely than
    brightness, which makes the shape: shaded parts of dark skin are much redder than lit ones, and would be orange patches on a pale face.
    """
    areas = _areas(topology)
    small = cv2.resize(texture, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    broad, near = _around(small, areas.skin, (6.0, 14.0)), _around(small, areas.skin, (2.5, 6.0, 14.0))
    mean = (broad * areas.skin[..., None]).sum((0, 1)) / areas.skin.sum()
    colour = np.log(mean / near)
    shadow = colour.mean(2)
    gain = _even_brightness(np.log(mean / broad).mean(2), shadow, areas)[..., None] + _beyond(colour - shadow[..., None], COLOUR_KEPT)
    gain += _even_detail(np.log((small + 4) / near) + gain, areas)
    full = cv2.resize(np.exp(gain).astype(np.float32), texture.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.clip(texture * full + 0.5, 0, 255).astype(np.uint8))


def _areas(topology: Topology) -> Areas:
    brows = smoothstep(0.6, 0.3, distance(topology, indices.LEFT_BROW + indices.RIGHT_BROW))
    eyes, lips = (distance(topology, part) for part in (indices.LEFT_EYE + indices.RIGHT_EYE, indices.OUTER_LIPS + indices.INNER_LIPS))
    plain = smoothstep(0.1, 0.5, lips) * smoothstep(0.0, 0.4, eyes)
    between = smoothstep(1.6, 0.4, distance(topology, BETWEEN_BROWS))
    warm = smoothstep(0.1, 0.6, lips) * smoothstep(0.2, 0.8, eyes) * smoothstep(0.1, 0.5, topology.depth) * (1 - 0.5 * brows)
    warm = np.maximum(warm, between * smoothstep(0.0, 0.4, eyes))
    drawn, inside = at_texels(np.column_stack([topology.skin, smoothstep(5.0, 2.0, topology.depth), between, warm, plain]), topology)
    drawn = np.clip(drawn, 0, inside[..., None])
    return Areas(*(np.ascontiguousarray(drawn[..., n]) for n in range(5)))


def _around(values: Floats, skin: Floats, sigmas: tuple[float, ...]) -> Floats:
    """The skin's mean level around each texel, and a little more, so that it has a logarithm."""
    weight = skin + np.float32(1e-4)
    reached = spread(np.ones_like(values), weight, sigmas)
    return np.asarray(spread(values, weight, sigmas) / np.maximum(reached, 1e-3) + 4)


def _even_brightness(broad: Floats, shadow: Floats, areas: Areas) -> Floats:
    """Logarithm of the gain, from how much darker than the face's mean a wide area is, and a small one.

    Narrow shadows are left but between the brows: those at the sides belong to a likeness, recognisers and people know a face by them.
    """
    limit = BRIGHTNESS_KEPT + areas.sides * (SIDES_KEPT - BRIGHTNESS_KEPT)
    gain = np.clip(broad - np.clip(broad, -BRIGHTNESS_KEPT, limit), -np.log(2), np.log(2))
    beyond = cv2.GaussianBlur(shadow, (0, 0), 1.5) - gain - BETWEEN_KEPT
    return np.asarray(gain + areas.between * np.clip(beyond, 0, np.log(2)))


def _even_detail(colour: Floats, areas: Areas) -> Floats:
    """Logarithm of the gains of blue, green and red that take exaggerated colour off shadows and hair, which a paler face would show.

    colour: (SIDE, SIDE, 3) logarithm of each texel's colour as a share of the skin's around it.
    """
    fine = cv2.GaussianBlur(colour - colour.mean(2, keepdims=True), (0, 0), 1.0)
    warm = np.maximum((fine[..., 2] - fine[..., 0]) / 2 - WARM_KEPT, 0) * areas.warm
    green = np.maximum(fine[..., 1] - GREEN_KEPT, 0) * areas.plain
    return np.dstack([warm + green / 2, -green, green / 2 - warm])


def _beyond(values: Array, limit: float) -> Array:
    """What exceeds the limit either way, at most a factor of two (in logarithms)."""
    return np.asarray(np.clip(values - np.clip(values, -limit, limit), -np.log(2), np.log(2)))
