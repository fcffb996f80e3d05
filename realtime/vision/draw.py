"""Pictures drawn by the program itself: the placeholder card and the patch that hides a face."""

from __future__ import annotations

import cv2
import numpy as np
from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from realtime.types import Box, Image


def text_sprite(text: str, height: int, colour: tuple[int, int, int] = (255, 255, 255)) -> Pil.Image:
    """`text` in one line as an RGBA picture about `height` pixels high, transparent around the letters. Colour is RGB."""
    font = ImageFont.load_default(max(height, 8))
    left, top, right, bottom = font.getbbox(text)
    sprite = Pil.new("RGBA", (max(int(right - left), 1), max(int(bottom - top), 1)))
    ImageDraw.Draw(sprite).text((-left, -top), text, font=font, fill=(*colour, 255))
    return sprite


def placeholder(width: int, height: int, text: str) -> Image:
    """The card shown instead of a picture that must not be shown: a dark ground, a head's outline and one line of text."""
    rows = np.linspace(58, 28, height, dtype=np.float32)[:, None, None]
    ground = np.broadcast_to(rows * np.array([0.80, 0.86, 1.0], np.float32), (height, width, 3)).astype(np.uint8)
    card = Pil.fromarray(np.ascontiguousarray(ground))
    _head(ImageDraw.Draw(card), width / 2, height * 0.42, min(width, height) * 0.16)
    sprite = text_sprite(text, max(height // 24, 10), (214, 220, 232))
    card.paste(sprite, ((width - sprite.width) // 2, int(height * 0.8)), sprite)
    return np.ascontiguousarray(np.asarray(card)[..., ::-1])


def _head(draw: ImageDraw.ImageDraw, x: float, y: float, r: float) -> None:
    """Head and shoulders, r being the radius of the head."""
    colour = (104, 114, 134)
    draw.ellipse((x - 0.62 * r, y - r, x + 0.62 * r, y + 0.6 * r), fill=colour)
    draw.pieslice((x - 1.35 * r, y + 0.75 * r, x + 1.35 * r, y + 3.2 * r), 180, 360, fill=colour)


def pixels(box: Box, width: int, height: int) -> tuple[int, int, int, int]:
    """The whole pixels a box touches inside a picture: x0, y0, x1, y1, with x1 and y1 exclusive."""
    x0, x1 = (int(np.clip(v, 0, width)) for v in (np.floor(box.x0), np.ceil(box.x1)))
    y0, y1 = (int(np.clip(v, 0, height)) for v in (np.floor(box.y0), np.ceil(box.y1)))
    return x0, y0, x1, y1


def covers(box: Box, width: int, height: int) -> bool:
    """Whether the box takes in (nearly) the whole picture: there is nothing left to show around it."""
    x0, y0, x1, y1 = pixels(box, width, height)
    return (x1 - x0) * (y1 - y0) >= 0.9 * width * height


def hide(image: Image, box: Box) -> None:
    """Paint over the box in place with one colour, the mean of its border, so that nothing of the content can be won back.

    Blur and mosaic are not used because both leave enough for a recogniser.
    """
    height, width = image.shape[:2]
    x0, y0, x1, y1 = pixels(box, width, height)
    if x0 >= x1 or y0 >= y1:
        return
    above, below = image[max(y0 - 1, 0), x0:x1], image[min(y1, height - 1), x0:x1]
    left, right = image[y0:y1, max(x0 - 1, 0)], image[y0:y1, min(x1, width - 1)]
    mean = np.concatenate((above, below, left, right)).mean(axis=0)
    colour = tuple(float(v) for v in mean * 0.75 + 20)
    cv2.rectangle(image, (x0, y0), (x1 - 1, y1 - 1), colour, cv2.FILLED)
