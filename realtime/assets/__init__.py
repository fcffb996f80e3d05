"""The pictures that come with the package; none of the people in them exists."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
SOURCE: Final = FOLDER / "source.jpg"
"""The source photo of the demo."""
PERSON: Final = FOLDER / "person.jpg"
"""The person before the synthetic camera, 1280x720."""
