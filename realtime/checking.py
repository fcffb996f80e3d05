"""What can be told of a run before anything large is loaded or compiled for it, so that a mistake is answered at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from realtime.faces import rule
from realtime.settings import Settings

if TYPE_CHECKING:
    from realtime.photos.album import Album


def check(settings: Settings) -> Album:
    """Look at where networks are to run, outputs, input and photos, and leave all as it was. The run takes the photos from the album.

    Cheapest first: each part imports what the run needs anyway, the later ones more of it. Raises RealtimeError as the run itself would.
    """
    from realtime.backends import select

    select.check(settings.backend, settings.device)
    from realtime.sinks.files import probe
    from realtime.sinks.select import check_output

    for text in settings.outputs:
        check_output(text, replace=settings.overwrite)
    for path in (settings.report, settings.frame_log):
        if path is not None and (path.is_file() or not path.exists()):  # a device takes it all
            probe(path, replace=True)
    from realtime.photos.album import Album

    album = Album()
    for path in _photos(settings):
        album.look(path)
    from realtime.sources.select import check_file, open_input

    open_input(settings.input, settings.size, settings.fps)
    check_file(settings.input)
    _check_models(settings)
    return album


def _check_models(settings: Settings) -> None:
    """That models which are named and no run fetches by itself are there, and what else a swap network needs; by a quick look."""
    from realtime.models.catalog import DEFAULTS, MODELS
    from realtime.storage import model_store

    asked = (settings.detector, settings.landmarker, settings.recogniser, settings.enhance or "", settings.enlarge)
    store = model_store()
    store.refuse_unfetched([name for name in asked if name in MODELS and name not in DEFAULTS])
    if settings.swapper == "mesh":
        return
    path = store.glance(settings.swapper) if settings.swapper in MODELS else Path(settings.swapper).expanduser()
    from realtime.models.swappers.select import SwapOptions  # here: the mesh does without all that it brings along
    from realtime.models.swappers.select import check as check_network

    def find(name: str) -> Path | None:
        return store.glance(name) if name in MODELS and store.status(name).bytes else None

    check_network(path, SwapOptions(settings.swap_contract), find)


def _photos(settings: Settings) -> Iterator[Path]:
    """Every photo of a person, each once."""
    named = [path for group in settings.sources for path in group]
    named += [path for path in (rule(settings.faces).photo, *(photo for _, photo in settings.map)) if path]
    yield from dict.fromkeys(named)
