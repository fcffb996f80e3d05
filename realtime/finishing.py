"""What follows the swap: masks, colour and enhancers, as the settings want them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from realtime.backends.base import Session
from realtime.machine import cores
from realtime.models.base import Finish, Swapper
from realtime.models.catalog import MODELS
from realtime.models.enhancers.gate import Gate, Gated
from realtime.models.finishes.choice import OFF, SHARPEN
from realtime.opening import Opener
from realtime.profiles import PROFILES
from realtime.settings import Settings

# The code of masks, colours and enhancers is loaded by those who use it: it would cost every start a twentieth of a second.
if TYPE_CHECKING:
    from realtime.models.enhancers.frame import FrameEnlarger
    from realtime.models.masks.base import FaceMask

_LARGE = 10_000_000
"""Bytes of a network from which on more than one core pays."""

Has = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the settings, or the profile where they say nothing, want after the swap."""

    masks: tuple[str, ...]
    colours: tuple[str, ...]
    enhancer: str
    enlarger: str = OFF

    def models(self, has: Has) -> tuple[str, ...]:
        """Names of the catalogue's models that they need."""
        return (*_models_of(self.masks, has), *(name for name in (self.enhancer, self.enlarger) if name in MODELS))


@dataclass(slots=True)
class Finishing:
    """Opened and ready."""

    masks: list[FaceMask] = field(default_factory=list)
    """Those that go with any swapper."""
    steps: list[Finish] = field(default_factory=list)
    """All, as steps of a swap network."""
    enhancer: Finish | None = None
    enlarger: FrameEnlarger | None = None
    gates: list[Gate] = field(default_factory=list)
    roles: dict[str, dict[str, str]] = field(default_factory=dict)

    def around(self, swapper: Swapper) -> Swapper:
        """A swapper that has no steps of its own, with what of them it can use."""
        if self.enhancer is not None:
            from realtime.models.finishes.patch import FinishedSwapper

            swapper = FinishedSwapper(swapper, [self.enhancer], lambda: any(gate.open for gate in self.gates))
        if not self.masks:
            return swapper
        from realtime.models.masks.base import MaskedSwapper

        return MaskedSwapper(swapper, self.masks)

    def warm_up(self, *, crops: bool) -> None:
        """Run what will be run on each frame once, all but the enhancer, which has been timed. `crops`: as for `open_finishing`."""
        if not (self.masks or self.enhancer is not None or (crops and self.steps)):
            return
        from realtime.models.finishes.warm import warm_up
        from realtime.models.masks.base import MaskStep

        masks: list[Finish] = [MaskStep(mask) for mask in self.masks]
        warm_up([step for step in self.steps if step is not self.enhancer] if crops else masks)

    def opened(self, *, live: bool, fps: float) -> list[str]:
        """The input is known now: what of it all is too slow for it is turned off. Sentences about that."""
        said = [gate.decide(live=live, fps=fps) for gate in self.gates]
        if self.enlarger is not None and live:
            said.append(f"--enlarge {self.enlarger.name} is not for cameras: off, for pictures and videos only")
        return [sentence for sentence in said if sentence]


def wishes(settings: Settings, has: Has) -> Wishes:
    """What is wanted. A profile only wishes for models that are there; what the user names must be."""
    profile = PROFILES[settings.profile]
    masks = settings.masks if settings.masks is not None else _there(profile.masks, has)
    colours = settings.colours if settings.colours is not None else profile.colours
    enhancer = settings.enhance or next((name for name in profile.enhancers if name not in MODELS or has(name)), OFF)
    return Wishes(masks, colours, enhancer, settings.enlarge)


def _there(masks: tuple[str, ...], has: Has) -> tuple[str, ...]:
    return tuple(mask for mask in masks if all(has(name) for name in _models_of((mask,), has)))


def _models_of(masks: tuple[str, ...], has: Has) -> tuple[str, ...]:
    if not masks:
        return ()
    from realtime.models.masks.select import models_of

    return models_of(masks, has)


def open_finishing(wished: Wishes, settings: Settings, opener: Opener, *, crops: bool) -> Finishing:
    """Open the networks, whose models must be in the store. `crops`: for a swap network, not one that makes patches by itself."""
    found = Finishing()

    def open_(name: str) -> Session:
        if MODELS[name].forbids:
            opener.notify(MODELS[name].terms)
        session = _open(name, opener.store.path(name), opener)
        found.roles[name] = {"model": name, "backend": session.backend}
        return session

    if wished.masks:
        _add_masks(found, wished.masks, settings, opener, open_, crops=crops)
    _add_colours(found, wished, settings, opener, crops=crops)
    _add_enhancer(found, wished, settings, opener, open_)
    if wished.enlarger != OFF:
        from realtime.models.enhancers.frame import FrameEnlarger

        found.enlarger = FrameEnlarger(open_(wished.enlarger), wished.enlarger)
    return found


def _open(name: str, path: Path, opener: Opener) -> Session:
    """Beside the swapper. A large network gets every core, a small one would only wait for them."""
    threads = cores() if path.stat().st_size > _LARGE else 1
    return opener.open({name: path}, threads, opener.swapping)[name]


def _add_masks(
    found: Finishing, masks: tuple[str, ...], settings: Settings, opener: Opener, open_: Callable[[str], Session], *, crops: bool
) -> None:
    from realtime.models.masks.select import BOX, MASKS, MaskOptions, make_masks, make_steps

    top, right, bottom, left = (each / 100 for each in settings.mask_padding)
    options = MaskOptions((top, right, bottom, left), settings.mask_blur, settings.keep)
    usable = [name for name in masks if crops or (name != BOX and MASKS[name].any_swapper)]
    if len(usable) < len(masks):
        rest = ", ".join(name for name in masks if name not in usable)
        opener.notify(f"--mask {rest}: only for swap networks, the mesh has an outline of its own and leaves the mouth open")
    found.masks = make_masks(usable, open_, opener.store.has, options)
    found.steps = make_steps(usable, found.masks, options)


def _add_colours(found: Finishing, wished: Wishes, settings: Settings, opener: Opener, *, crops: bool) -> None:
    if wished.colours and not crops:
        if settings.colours:
            opener.notify("--colour is for swap networks: the mesh matches the frame's light by itself")
        return
    if wished.colours:
        from realtime.models.finishes.colour import COLOURS
    for name in wished.colours:
        row = COLOURS[name]
        gate = Gate(f"--colour {name}", 0.0 if row.live else math.inf)
        found.steps.append(row.make() if row.live else Gated(row.make(), gate))
        found.gates += [] if row.live else [gate]


def _add_enhancer(found: Finishing, wished: Wishes, settings: Settings, opener: Opener, open_: Callable[[str], Session]) -> None:
    if wished.enhancer == SHARPEN:
        from realtime.models.finishes.sharpen import Sharpen

        found.steps.append(Sharpen())
    if wished.enhancer in (OFF, SHARPEN):
        return
    from realtime.models.enhancers.face import TEMPLATES, FaceEnhancer
    from realtime.models.peek import Peek

    row = MODELS.get(wished.enhancer)
    path = Path(wished.enhancer).expanduser()
    if row is None:
        Peek(path)  # says what is wrong with a file in one sentence; backends say it at length
    session = open_(wished.enhancer) if row else _open(path.stem, path, opener)
    contract = row.contract if row and row.contract in TEMPLATES else "ffhq_512"
    enhancer = FaceEnhancer(session, contract, wished.enhancer, settings.enhance_blend, settings.fidelity)
    gate = Gate(f"--enhance {wished.enhancer}", enhancer.seconds(time.perf_counter))
    found.enhancer = Gated(enhancer, gate)
    found.steps.append(found.enhancer)
    found.gates.append(gate)
