"""Vertex numbers of the parts of the 468-point face mesh (MediaPipe's published numbering), in order along each contour."""

from __future__ import annotations

from typing import Final

# fmt: off
OVAL: Final = (
    10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377,
    152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109,
)
LEFT_EYE: Final = (263, 249, 390, 373, 374, 380, 381, 382, 362, 398, 384, 385, 386, 387, 388, 466)
RIGHT_EYE: Final = (33, 7, 163, 144, 145, 153, 154, 155, 133, 173, 157, 158, 159, 160, 161, 246)
INNER_LIPS: Final = (78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308, 324, 318, 402, 317, 14, 87, 178, 88, 95)
MOUTH: Final = (61, 184, 42, 81, 82, 13, 312, 311, 272, 408, 291, 307, 319, 402, 317, 14, 87, 178, 89, 77)
"""The inner lips, but out to the corners of the outer ones."""
OUTER_LIPS: Final = (61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291, 375, 321, 405, 314, 17, 84, 181, 91, 146)
RIGHT_BROW: Final = (70, 63, 105, 66, 107, 55, 65, 52, 53, 46)
LEFT_BROW: Final = (300, 293, 334, 296, 336, 285, 295, 282, 283, 276)

NOSE_RIDGE: Final = (197, 195, 5)

RIGID: Final = (
    4, 6, 10, 33, 54, 67, 117, 119, 121, 127, 129, 132, 133, 143, 263, 284, 297, 346, 348, 350, 356, 358, 361, 362, 372,
)
"""Points that expressions hardly move: nose, forehead, temples, cheekbones, eye corners."""
# fmt: on
