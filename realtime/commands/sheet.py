"""The demo's picture: source, before and after, close-ups, and how old each frame was when it was sent.

Drawn with Pillow, which reads the source photos anyway and brings a legible font of its own: no plotting library is needed at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image as Pictures
from PIL import ImageDraw, ImageFont

from realtime.types import Image

WIDTH, MARGIN, GAP = 1760, 48, 16
INK, MUTED, LINE, PAPER, PANEL = "#1b1f24", "#667080", "#d8dde3", "#ffffff", "#f5f7f9"
BAR, MEDIAN, TAIL = "#3b82c4", "#1f4e79", "#c2571a"


@dataclass(frozen=True, slots=True)
class Pair:
    """The same moment as the camera gave it and as it was sent; BGR, of one size."""

    before: Image
    after: Image


@dataclass(frozen=True, slots=True)
class Sheet:
    source: Image
    """BGR."""
    wide: Pair
    """Shown as whole frames."""
    close: Sequence[Pair]
    """Shown as squares, in time order."""
    ages_ms: Sequence[float]
    title: str
    note: str
    """One line: the machine and the models."""
    facts: Sequence[tuple[str, str]]
    """(label, value) rows beside the histogram."""


def draw_sheet(sheet: Sheet) -> Pictures.Image:
    """An RGB picture WIDTH pixels wide."""
    canvas = Pictures.new("RGB", (WIDTH, 1700), PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.text((MARGIN, 36), sheet.title, INK, font=_font(38))
    draw.text((MARGIN, 90), sheet.note, MUTED, font=_font(20))
    y = _wide_row(canvas, draw, sheet, 138)
    y = _close_rows(canvas, draw, sheet.close, y + 28)
    y = _figures(draw, sheet, y + 36)
    return canvas.crop((0, 0, WIDTH, y + MARGIN))


def square(image: Image, centre_x: float, centre_y: float, side: float) -> Image:
    """The part of the picture in a square, moved inside where it would reach beyond the border."""
    height, width = image.shape[:2]
    size = int(min(side, width, height))
    x = int(np.clip(centre_x - size / 2, 0, width - size))
    y = int(np.clip(centre_y - size / 2, 0, height - size))
    return image[y : y + size, x : x + size]


def _wide_row(canvas: Pictures.Image, draw: ImageDraw.ImageDraw, sheet: Sheet, y: int) -> int:
    """Source photo, whole frame before, whole frame after: of one height, together as wide as the sheet."""
    height, width = sheet.wide.before.shape[:2]
    room = WIDTH - 2 * MARGIN - 2 * GAP
    tall = int(room / (1 + 2 * width / height))
    x = MARGIN
    side = min(sheet.source.shape[:2])
    pictures = (
        ("source photo", square(sheet.source, sheet.source.shape[1] / 2, side / 2, side)),
        ("camera", sheet.wide.before),
        ("sent", sheet.wide.after),
    )
    for label, image in pictures:
        wide = round(tall * image.shape[1] / image.shape[0])
        draw.text((x, y), label, MUTED, font=_font(20))
        _paste(canvas, image, x, y + 30, wide, tall)
        x += wide + GAP
    return y + 30 + tall


def _close_rows(canvas: Pictures.Image, draw: ImageDraw.ImageDraw, pairs: Sequence[Pair], y: int) -> int:
    count = max(len(pairs), 1)
    side = (WIDTH - 2 * MARGIN - (count - 1) * GAP) // count
    draw.text((MARGIN, y), "close up: camera above, sent below", MUTED, font=_font(20))
    y += 30
    for index, pair in enumerate(pairs):
        x = MARGIN + index * (side + GAP)
        _paste(canvas, pair.before, x, y, side, side)
        _paste(canvas, pair.after, x, y + side + GAP // 2, side, side)
    return y + 2 * side + GAP // 2


def _figures(draw: ImageDraw.ImageDraw, sheet: Sheet, y: int) -> int:
    """The histogram on the left, the table of facts on the right."""
    height, split = 330, MARGIN + 1030
    draw.rounded_rectangle((MARGIN, y, split, y + height), 10, fill=PANEL)
    draw.text((MARGIN + 24, y + 18), "Age of each frame when it was sent: milliseconds since its capture", INK, font=_font(22))
    _histogram(draw, np.asarray(sheet.ages_ms, float), (MARGIN + 24, y + 92, split - 24, y + height - 46))
    left = split + 32
    for index, (label, value) in enumerate(sheet.facts):
        row = y + 4 + index * 40
        draw.text((left, row), label, MUTED, font=_font(21))
        draw.text((WIDTH - MARGIN, row), value, INK, font=_font(21), anchor="ra")
        draw.line((left, row + 33, WIDTH - MARGIN, row + 33), LINE)
    return y + max(height, 40 * len(sheet.facts))


def _histogram(draw: ImageDraw.ImageDraw, ages: np.ndarray[Any, Any], area: tuple[int, int, int, int]) -> None:
    x0, y0, x1, y1 = area
    if not len(ages):
        draw.text((x0, (y0 + y1) // 2), "no frame was sent", MUTED, font=_font(21))
        return
    # Up to a little beyond p99: one frame that came late for a reason of its own must not squeeze all others into one bar.
    end = max(_nice(float(np.percentile(ages, 99)) * 1.15), 1.0)
    counts, _ = np.histogram(np.minimum(ages, end * 0.9999), bins=60, range=(0, end))
    step = (x1 - x0) / len(counts)
    for index, count in enumerate(counts):
        if count:
            top = y1 - max(round((y1 - y0) * count / counts.max()), 2)
            draw.rectangle((x0 + index * step + 1, top, x0 + (index + 1) * step - 1, y1), fill=BAR)
    draw.line((x0, y1, x1, y1), MUTED)
    for tick in np.linspace(0, end, 6):
        more = "+" if tick == end and ages.max() > end else ""
        draw.text((x0 + (x1 - x0) * tick / end, y1 + 10), f"{tick:g}{more}", MUTED, font=_font(18), anchor="ma")
    _percentiles(draw, ages, area, end)


def _percentiles(draw: ImageDraw.ImageDraw, ages: np.ndarray[Any, Any], area: tuple[int, int, int, int], end: float) -> None:
    """A line for p50, p95 and p99, each label on a height of its own where the next would touch it."""
    x0, y0, x1, y1 = area
    font, taken = _font(18), -1e9
    lift = 0
    for q, colour in ((50, MEDIAN), (95, TAIL), (99, TAIL)):
        value = float(np.percentile(ages, q))
        x = x0 + (x1 - x0) * min(value / end, 1)
        text = f"p{q} {value:.1f}"
        width = font.getlength(text)
        at = min(max(x, x0 + width / 2), x1 - width / 2)
        lift = lift + 1 if at - width / 2 < taken + 8 else 0
        taken = max(taken, at + width / 2)
        top = y0 - 4 - 22 * (lift % 2)
        draw.line((x, top + 2, x, y1), colour, 2)
        draw.text((at, top), text, colour, font=font, anchor="md")


def _nice(value: float) -> float:
    """The next round number, times a power of ten, for an axis to end on: five steps of it are legible numbers too."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-3)))
    return float(next(power * each for each in (1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10) if power * each >= value))


def _paste(canvas: Pictures.Image, image: Image, x: int, y: int, width: int, height: int) -> None:
    picture = Pictures.fromarray(np.ascontiguousarray(image[:, :, ::-1])).resize((width, height), Pictures.Resampling.LANCZOS)
    mask = Pictures.new("L", (width * 2, height * 2), 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width * 2 - 1, height * 2 - 1), 16, fill=255)
    canvas.paste(picture, (x, y), mask.resize((width, height)))


def _font(size: int) -> Any:
    return ImageFont.load_default(size)
