"""Files as an enemy or a broken disk makes them: a good one with bytes changed, cut out, doubled, or its end missing."""

from __future__ import annotations

from hypothesis import strategies as st

Change = tuple[str, int, int, bytes]


def mutated(seed: bytes) -> st.SearchStrategy[bytes]:
    """Variants of a good file; changes near its beginning, where headers are, are as likely as all others together."""
    place = st.one_of(st.integers(0, min(200, len(seed) - 1)), st.integers(0, len(seed) - 1))
    change = st.tuples(st.sampled_from(("set", "cut", "double", "insert")), place, st.integers(1, 64), st.binary(min_size=1, max_size=8))
    end = st.one_of(st.just(len(seed)), st.integers(0, len(seed)))
    return st.builds(lambda changes, keep: apply(seed, changes)[:keep], st.lists(change, max_size=6), end)


def apply(data: bytes, changes: list[Change]) -> bytes:
    for kind, place, length, new in changes:
        head, tail = data[:place], data[place:]
        if kind == "set":
            data = head + new + tail[len(new) :]
        elif kind == "cut":
            data = head + tail[length:]
        elif kind == "double":
            data = head + tail[:length] + tail
        else:
            data = head + new + tail
    return data
