"""The sentences that users read are of one style, and say something."""

from __future__ import annotations

import ast
import errno
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from realtime import errors
from realtime.errors import is_closed_pipe, is_full, reason, room_for

PACKAGE = Path(errors.__file__).parent
OURS = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.RealtimeError)}


def sentences(folder: Path) -> Iterator[tuple[str, str]]:
    """Where an error of ours is made, and its sentence with a dash for each part that is filled in."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OURS and node.args:
                text = _text(node.args[0])
                if text is not None:
                    yield f"{file.relative_to(folder.parent)}:{node.lineno}", text


def _text(node: ast.expr) -> str | None:
    """None for what is not written out there."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "-" for part in node.values)


def fault(sentence: str) -> str:
    """What is wrong with the style of a sentence; empty when nothing is."""
    first = re.match(r"[\w-]*", sentence)
    word = first[0] if first else ""
    if word[:1].isupper() and word[1:] == word[1:].lower():  # a name has further capitals: ONNX, OpenVINO, SFace
        return "begins with a capital: write it so that it can follow `realtime: `"
    if sentence.rstrip().endswith((".", "!")):
        return "ends with a full stop: leave it out"
    return "" if " " in sentence else "is no sentence"


def test_all_begin_small_and_end_without_a_full_stop() -> None:
    found = list(sentences(PACKAGE))
    assert len(found) > 200, "errors are made in another way: mend this test"
    wrong = [f"{place} {complaint}: {text}" for place, text in found if (complaint := fault(text))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("sentence", "begins"),
    [("There is no GPU", "begins"), ("there is no GPU.", "ends"), ("nothing", "is no"), ("ONNX Runtime fails", ""), ("- is a folder", "")],
)
def test_what_counts_as_a_fault(sentence: str, begins: str) -> None:
    assert fault(sentence).startswith(begins) and bool(fault(sentence)) == bool(begins)


def test_a_file_that_may_not_grow_has_a_cure_of_its_own() -> None:
    full, large, denied = (OSError(number, "as the system says") for number in (errno.ENOSPC, errno.EFBIG, errno.EACCES))
    assert (is_full(full), is_full(large)) == (True, False)
    assert "free some space" in room_for(full) and "ulimit -f" in room_for(large) and room_for(denied) == ""
    assert (reason(full), reason(denied)) == ("the disk is full", "as the system says")
    assert reason(large) == "the file has reached the size that is allowed here"


def test_a_pipe_that_nobody_reads_any_more_is_known_on_windows_too():
    assert is_closed_pipe(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert is_closed_pipe(OSError(errno.EINVAL, "Invalid argument"), "win32")
    assert not is_closed_pipe(OSError(errno.EINVAL, "Invalid argument"), "linux")
    assert not is_closed_pipe(OSError(errno.EINVAL, "Invalid argument", "a:b.png"), "win32")
    assert not is_closed_pipe(OSError(errno.ENOSPC, "No space left"), "win32")
