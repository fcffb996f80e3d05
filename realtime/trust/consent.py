"""What a user is told once, and again in a line with every face: swap in your own face, or one whose owner has agreed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

NOTICE = """\
Before the first swap, once:

  - Use your own face, or the face of somebody who has agreed to this use of it.
  - Do not use it to pass for somebody else, to deceive, to harass, or to get past a check of identity. In many places that is a crime.
  - Tell the people you talk to. What you send is marked as AI-modified: visibly, unless you turn the badge off, and invisibly always.

USAGE_POLICY.md says more. Everything runs on this machine; no picture leaves it but by the outputs that you choose.
"""
_MARKER = "notice-1.txt"
"""The number is that of the notice: a new one is shown again."""


def is_known(folder: Path) -> bool:
    """Whether the notice was shown to this user already, as `remember` notes in `folder`."""
    return (folder / _MARKER).is_file()


def remember(folder: Path) -> bool:
    """False when it cannot be kept: the notice then comes again."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _MARKER).write_text(NOTICE, encoding="utf-8")
    except OSError:
        return False
    return True


def reminder(photos: Sequence[Path]) -> str:
    """The line about a source face that is loaded."""
    names = ", ".join(photo.name for photo in photos)
    return f"source face {names}: use your own face, or one whose owner has agreed"
