"""From settings to what follows the swap: what is asked for, what a profile wishes for, and what is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from realtime import loading
from realtime.errors import ModelError
from realtime.finishing import Finishing, open_finishing, wishes
from realtime.models.base import Crop
from realtime.models.catalog import MODELS
from realtime.models.finishes import choice
from realtime.models.finishes.colour import COLOURS
from realtime.models.masks.base import MaskedSwapper
from realtime.models.masks.networks import REGIONS
from realtime.models.masks.select import BOX, MASKS
from realtime.models.swappers.fake import FakeSwapper
from realtime.models.swappers.select import SwapOptions, open_swapper
from realtime.opening import Opener
from realtime.profiles import PROFILES
from realtime.settings import Settings
from tests.models.swappers import scene
from tests.twins import enhancers, masks
from tests.twins import swappers as twins
from tests.twins.swappers import dfm_twin, encoder_twin, generator_twin, twin

SETTINGS = Settings(sources=())
TWINS = {
    "selfie": masks.person_twin(), "xseg_1": masks.occlusion_twin(), "occluder": masks.occluder_twin(),
    "bisenet_resnet_34": masks.region_twin(),
    "palm": masks.palm_twin((96, 126), (96, 66), 60), "hand": masks.hand_twin(), "gfpgan_1.4": enhancers.face_twin(),
}  # fmt: skip


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    """Opens twins in the place of the catalogue's models; `notify.said` keeps what the user is told."""
    for name, model in TWINS.items():
        onnx.save(model, tmp_path / f"{name}.onnx")
    said: list[str] = []
    store = SimpleNamespace(folder=tmp_path, has=lambda name: name in TWINS, path=lambda name: tmp_path / f"{name}.onnx")
    with ExitStack() as cleanup:
        made = Opener("onnxruntime", store, tmp_path / "engines", cleanup, said.append)  # type: ignore[arg-type]
        yield made


def said(opener: Opener) -> list[str]:
    return opener.notify.__self__  # type: ignore[attr-defined,no-any-return]


def finishing(opener: Opener, *, crops: bool = True, **asked: Any) -> Finishing:
    settings = replace(SETTINGS, **asked)
    return open_finishing(wishes(settings, opener.store.has), settings, opener, crops=crops)


def test_the_words_are_those_of_the_tables() -> None:
    assert set(choice.MASKS) == {BOX, *MASKS}
    assert set(choice.COLOURS) == set(COLOURS)
    assert set(choice.REGIONS) <= set(REGIONS)
    for row in MASKS.values():
        assert all(name in MODELS for choices in row.models for name in choices)
    for profile in PROFILES.values():
        assert set(profile.masks) <= set(choice.MASKS) and set(profile.colours) <= set(choice.COLOURS)
        assert all(name in (*MODELS, choice.OFF, choice.SHARPEN) for name in profile.enhancers)


def test_a_plain_run_is_sharpened_and_nothing_else(opener: Opener) -> None:
    made = finishing(opener)
    assert [step.name for step in made.steps] == ["sharpen"]
    swapper = FakeSwapper()
    assert finishing(opener, crops=False).around(swapper) is swapper
    assert said(opener) == []


def test_steps_come_in_order_masks_colours_enhancer(opener: Opener) -> None:
    made = finishing(opener, masks=tuple(choice.MASKS), colours=("lab", "motion"), enhance="gfpgan_1.4")
    names = [step.name for step in made.steps]
    assert names[0] == "box"
    assert set(names[1:-3]) == set(choice.MASKS) - {"box"}
    assert names[-3:] == ["lab", "motion", "gfpgan_1.4"]
    assert made.roles["xseg_1"]["backend"].startswith("onnxruntime")
    assert any("it forbids passing it on" in sentence for sentence in said(opener)), "the licence is shown at load"


def test_all_at_once_changes_a_real_crop(opener: Opener) -> None:
    """No step leaves something behind that another cannot take."""
    made = finishing(opener, masks=tuple(choice.MASKS), colours=tuple(choice.COLOURS), enhance="gfpgan_1.4")
    image, points = scene.picture("p006_studio")
    crop = scene.crop(image, scene.face(points))
    for step in made.steps:
        step.finish(crop)
        assert crop.mask.shape == crop.swapped.shape[:2] == crop.before.shape[:2]
    assert crop.swapped.shape == (512, 512, 3)
    for step in made.steps:
        step.fork().reset()


def network(folder: Path, name: str) -> tuple[Path, SwapOptions]:
    """The twin of a swap network with what goes beside it, and all options that it takes."""
    scene.companions(folder)
    if name == "dfm":
        return scene.save(folder, "somebody.dfm", dfm_twin()), SwapOptions(morph=0.5)
    if name == "latent":
        scene.save(folder, "my_encoder.onnx", encoder_twin())
        return scene.save(folder, "my_generator.onnx", generator_twin()), SwapOptions(layers=(0, 5, 17))
    return scene.save(folder, f"{name}.onnx", twin(name)), SwapOptions(size=256 if twins.TWINS[name].size == 128 else None)


@pytest.mark.parametrize("name", [*twins.DISTINCT, "dfm", "latent"])
def test_every_swap_network_goes_with_all_options_at_once(opener: Opener, tmp_path: Path, name: str) -> None:
    """Larger face, every mask, colour and an enhancer; nothing outside of the face changes, and each step has its say."""
    asked = {"mask_padding": (5.0, 10.0, 5.0, 10.0), "mask_blur": 0.2, "keep": ("glasses",), "enhance_blend": 0.5}
    steps = {"masks": tuple(choice.MASKS), "colours": tuple(choice.COLOURS), "enhance": "gfpgan_1.4"}
    path, options = network(tmp_path, name)
    photo, points = scene.picture("p006_studio")
    image = np.asarray(photo // 16 + np.uint8([204, 0, 122]), np.uint8)  # none of the masks' twins hides such a face altogether
    patches = []
    for more in ({}, {"masks": ("box",)}, steps):
        made = finishing(opener, **{"masks": (), "colours": (), "enhance": "off", **more}, **asked)
        made.opened(live=False, fps=30)
        swapper = open_swapper(path, options, scene.surroundings(tmp_path, finishes=made.steps))
        swapper.use(swapper.fit([] if name == "dfm" else [scene.photo("p001_studio")]))
        patch = swapper.swap(image, scene.face(points))
        assert patch is not None and patch.alpha.any()
        patches.append((patch.alpha.sum(dtype=float), scene.shown(image, patch)))
    (whole, bare), (boxed, _), (masked, all_) = patches
    assert whole > boxed > masked > 0, "each mask takes something away"
    assert (bare != image).any() and (all_ != image).any()
    np.testing.assert_array_equal(all_[:20], image[:20])
    np.testing.assert_array_equal(all_[:, :20], image[:, :20])


def test_the_mesh_takes_what_it_can_use(opener: Opener) -> None:
    made = finishing(opener, crops=False, masks=("box", "hull", "hands"), colours=("lab",), enhance="sharpen")
    swapper = made.around(FakeSwapper())
    assert isinstance(swapper, MaskedSwapper)
    assert [mask.name for mask in made.masks] == ["hands"]
    first, second = said(opener)
    assert first.startswith("--mask box, hull: only for swap networks")
    assert second.startswith("--colour is for swap networks")


class Recorder:
    """A step that notes what is asked of it."""

    name = "recorder"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def finish(self, crop: Crop) -> None:
        assert crop.mask.any() and crop.face.landmarks.points[:, :2].max() <= len(crop.mask)
        self.asked.append("finish")

    def reset(self) -> None:
        self.asked.append("reset")

    def fork(self) -> Recorder:
        return self


def test_what_is_run_on_each_frame_was_run_once_before_the_first(opener: Opener) -> None:
    """Or that one would wait, the first time ever, for seconds of compiling; the enhancer has been timed already."""
    made, step, enhancer = finishing(opener), Recorder(), Recorder()
    made.steps[:], made.enhancer = [step, enhancer], enhancer
    made.warm_up(crops=True)
    assert step.asked == ["finish", "reset"] and enhancer.asked == []
    made.warm_up(crops=False)  # the mesh has no use for steps of a crop
    assert step.asked == ["finish", "reset"]


@pytest.mark.parametrize("crops", [True, False])
def test_every_step_there_is_can_be_run_on_the_face_that_warms_it_up(opener: Opener, crops: bool) -> None:
    finishing(opener, crops=crops, masks=(BOX, *MASKS), colours=tuple(COLOURS), enhance="gfpgan_1.4").warm_up(crops=crops)


@pytest.mark.parametrize("asked", [{}, {"masks": ("person",)}], ids=["mesh", "mesh with a mask"])
def test_the_swapper_of_a_run_is_warmed_up_with_what_follows_it(
    opener: Opener, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    warmed: list[bool] = []
    monkeypatch.setattr(Finishing, "warm_up", lambda self, *, crops: warmed.append(crops))
    loading._swapper(replace(SETTINGS, **asked), opener)
    assert warmed == [False]


def test_a_profile_wishes_only_for_what_is_there(opener: Opener) -> None:
    rich = wishes(replace(SETTINGS, profile="quality"), opener.store.has)
    assert (rich.masks, rich.colours, rich.enhancer) == (("occlusion", "region"), ("light",), "gfpgan_1.4")
    poor = wishes(replace(SETTINGS, profile="quality"), lambda name: False)
    assert (poor.masks, poor.colours, poor.enhancer) == ((), ("light",), "sharpen")
    assert wishes(replace(SETTINGS, profile="light"), opener.store.has).enhancer == "off"


def test_an_option_overrides_its_profile(opener: Opener) -> None:
    own = wishes(replace(SETTINGS, profile="quality", masks=(), colours=(), enhance="off"), opener.store.has)
    assert (own.masks, own.colours, own.enhancer) == ((), (), "off")


def test_what_is_named_is_needed_though_it_is_not_there() -> None:
    asked = wishes(replace(SETTINGS, masks=("occlusion", "hands"), enhance="codeformer"), lambda name: False)
    assert asked.models(lambda name: False) == ("xseg_1", "palm", "hand", "codeformer")
    assert asked.models(lambda name: name == "xseg_3")[0] == "xseg_3", "any of its kind will do"


def test_a_camera_is_told_what_does_not_fit(opener: Opener) -> None:
    made = finishing(opener, colours=("poisson",), enhance="gfpgan_1.4")
    made.gates[1].seconds = 1.0
    one, two = made.opened(live=True, fps=30)
    assert one == "--colour poisson is not for cameras: off, for pictures and videos only"
    assert two.startswith("--enhance gfpgan_1.4 takes 1000 ms a face here and the camera leaves 17 ms: off")
    assert made.opened(live=False, fps=30) == []
    assert all(gate.open for gate in made.gates)


def test_a_truncated_enhancer_is_one_sentence(opener: Opener, tmp_path: Path) -> None:
    path = tmp_path / "mine.onnx"
    path.write_bytes(enhancers.face_twin().SerializeToString()[:-20])
    with pytest.raises(ModelError, match=r"^mine\.onnx is no ONNX file, or a truncated one: get it anew$"):
        finishing(opener, enhance=str(path))


def test_an_enhancer_of_the_users_own(opener: Opener, tmp_path: Path) -> None:
    path = tmp_path / "mine.onnx"
    onnx.save(enhancers.face_twin(), path)
    assert finishing(opener, enhance=str(path)).steps[-1].name == str(path)


@pytest.mark.parametrize(
    ("parse", "value", "expected"),
    [
        (choice.names(choice.MASKS), "box, hull,box", ("box", "hull")),
        (choice.names(choice.MASKS), ["Hands"], ("hands",)),
        (choice.names(choice.MASKS), "off", ()),
        (choice.parse_padding, "5", (5, 5, 5, 5)),
        (choice.parse_padding, 5, (5, 5, 5, 5)),
        (choice.parse_padding, "1,2,3,4", (1, 2, 3, 4)),
        (choice.parse_padding, [1, 2, 3, 4], (1, 2, 3, 4)),
        (choice.parse_enhancer, "gfpgan", "gfpgan_1.4"),
        (choice.parse_enhancer, "off", "off"),
    ],
)
def test_words_are_read(parse: Any, value: Any, expected: Any) -> None:
    assert parse(value) == expected


@pytest.mark.parametrize(
    ("parse", "value", "sentence"),
    [
        (choice.names(choice.MASKS), "hulll", r"there is no 'hulll' here; did you mean 'hull'\?"),
        (choice.names(choice.MASKS), "", None),
        (choice.names(choice.MASKS), 3, None),
        (choice.names(choice.MASKS), "box,,hull", None),
        (choice.parse_padding, "1,2", None),
        (choice.parse_padding, 61, None),
        (choice.parse_padding, True, None),
        (choice.parse_enhancer, "gfpgam", r"no enhancer 'gfpgam'; did you mean 'gfpgan'\?"),
        (choice.parse_enhancer, "real_esrgan_x2", "no enhancer 'real_esrgan_x2'"),
        (choice.parse_enhancer, "nowhere.onnx", "does not exist"),
        (choice.parse_enhancer, None, None),
    ],
)
def test_other_words_are_refused(parse: Any, value: Any, sentence: str | None) -> None:
    if sentence is None:
        with pytest.raises((ValueError, TypeError)):
            parse(value)
    else:
        with pytest.raises(choice.UsageError, match=sentence):
            parse(value)
