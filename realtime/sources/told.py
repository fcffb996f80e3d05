"""What a source has to say of itself while it runs."""

from __future__ import annotations

import logging


class Told:
    """Warns with a sentence, and with the same one only once: what is wrong with a camera is wrong in every frame."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._sentences: set[str] = set()

    def __call__(self, sentence: str) -> None:
        if sentence not in self._sentences:
            self._sentences.add(sentence)
            self._log.warning(sentence)
