"""The README's picture from the demo's: `python scripts/readme_picture.py demo.png docs/demo.jpg`."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

WIDTH = 1100


def main(source: str, target: str) -> None:
    with Image.open(source) as picture:
        small = picture.convert("RGB").resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)
    small.save(target, quality=84, optimize=True, progressive=True)
    print(f"{target}: {Path(target).stat().st_size // 1024} KB")


if __name__ == "__main__":
    main(*sys.argv[1:3])
