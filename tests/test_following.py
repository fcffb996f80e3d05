"""From what was asked to the tracker and the infer stage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from realtime import following
from realtime.errors import UsageError
from realtime.following import beside, infer_stage, references, tracking
from realtime.pipeline.controls import Controls
from realtime.pipeline.infer import Infer
from realtime.pipeline.pipeline import Halves
from realtime.pipeline.several import InferSeveral
from realtime.settings import Settings
from realtime.types import Frame
from tests.pipeline.people import PaintingSwapper
from tests.pipeline.people import Person as Identity
from tests.tracking.scene import Person, Scene, SceneDetector, SceneLandmarker, SceneRecogniser, reference, seated

SOURCES = ((Path("me.jpg"),), (Path("you.jpg"),))
LEFT, MIDDLE, RIGHT = 1, 2, 3


def stage(scene: Scene, known=(), patient=False, **options):
    settings = Settings(sources=SOURCES, **options)
    swapper = PaintingSwapper()
    networks = SceneDetector(scene), SceneLandmarker(scene), SceneRecogniser(scene)
    infer = infer_stage(settings, *networks, swapper, [Identity("me"), Identity("you")], Controls(), known, patient)
    return infer, swapper


@pytest.mark.parametrize("faces", ["main", "all"])
@pytest.mark.parametrize(
    ("device", "swapped_by", "threads"),
    [
        ("auto", "cpu", 1),
        ("auto", "openvino cpu int8", 1),
        ("auto", "onnxruntime cpu fp32", 1),
        ("auto", "onnxruntime cuda fp16", 2),
        ("0", "tensorrt-rtx NVIDIA A10 fp16", 2),
        ("0,1", "cpu", 2),
    ],
)
def test_every_frame_is_followed_where_the_swap_leaves_the_processor_free(device, swapped_by, threads, faces):
    infer, _ = stage(three(), faces=faces)
    run = beside(infer, Settings(sources=SOURCES, device=device), swapped_by)
    assert run == (Halves(infer.follow, infer.swap) if threads == 2 else infer)


def three() -> Scene:
    people = Person(seated(110, 240, 90), LEFT), Person(seated(320, 240, 120), MIDDLE), Person(seated(540, 240, 100), RIGHT)
    return Scene(list(people))


def swapped(infer, scene: Scene, seconds: float = 2.0) -> list[int]:
    """Where the patches of the last frame are: 1, 2, 3 from the left."""

    for i in range(round(30 * seconds)):
        scene.now = i / 30
        verdict = infer(Frame(i, i / 30, np.zeros((480, 640, 3), np.uint8)))
    return sorted(1 + int(patch.box.centre[0] // 213.4) for patch in verdict.patches)


def test_the_main_face_is_followed_by_the_tracker_of_one():
    infer, _ = stage(three())
    assert isinstance(infer, Infer)


RULES = {"all": [1, 2, 3], "largest": [2], "left": [1], "right": [3], "index:1": [1], "index:2": [2], "index:4": []}


@pytest.mark.parametrize(("faces", "wanted"), RULES.items())
def test_each_rule_swaps_whom_it_says(faces, wanted):
    scene = three()
    infer, _ = stage(scene, faces=faces)
    assert isinstance(infer, InferSeveral if faces == "all" else Infer)
    assert swapped(infer, scene) == wanted


def test_a_reference_swaps_that_person_with_the_chosen_source(tmp_path):
    scene, photo = three(), tmp_path / "right.jpg"
    photo.write_bytes(b"")
    infer, swapper = stage(scene, [reference(RIGHT)], faces=f"reference:{photo}")
    assert swapped(infer, scene) == [3] and swapper.used == ["me"]


def test_a_map_gives_each_person_their_source():
    scene = three()
    infer, swapper = stage(scene, [reference(RIGHT), reference(LEFT)], map=((1, Path("r.jpg")), (0, Path("l.jpg"))))
    assert swapped(infer, scene) == [1, 3]
    assert {tuple(each.used) for each in (swapper, *swapper.forks)} == {("me",), ("you",)}


def test_in_a_picture_all_is_found_out_at_once():
    scene = three()
    infer, _ = stage(scene, [reference(RIGHT), reference(LEFT)], patient=True, map=((1, Path("r.jpg")), (0, Path("l.jpg"))))
    assert swapped(infer, scene, 1 / 30) == [1, 3]
    infer, _ = stage(scene, patient=True, faces="all")
    assert swapped(infer, scene, 1 / 30) == [1, 2, 3]


def test_similarity_and_sizes_reach_the_tracker():
    found = tracking(Settings(sources=SOURCES, similarity=0.7, min_face=55, score=0.4, profile="quality"))
    assert (found.similarity, found.min_face, found.score, found.detect_every) == (0.7, 55, 0.4, 1.0)


def test_without_a_recogniser_people_cannot_be_looked_for(tmp_path):
    photo = tmp_path / "anna.jpg"
    photo.write_bytes(b"")
    settings = Settings(sources=SOURCES, map=((0, photo),))
    scene = three()
    with pytest.raises(UsageError, match="a network that knows faces"):
        references(settings, SceneDetector(scene), SceneLandmarker(scene), None, print)


def test_nobody_is_looked_for_without_being_asked():
    scene = three()
    assert references(Settings(sources=SOURCES, faces="all"), SceneDetector(scene), SceneLandmarker(scene), None, print) == []


def test_faces_beyond_the_most_are_hidden_and_it_is_said_once(caplog, monkeypatch):
    monkeypatch.setattr(following, "MOST_FACES", 2)
    scene = three()
    infer, _ = stage(scene, faces="all")
    assert len(swapped(infer, scene)) == 2
    assert caplog.messages == ["2 faces are swapped at most, the others are hidden"]


def test_as_many_faces_as_can_be_swapped_are_no_news(caplog, monkeypatch):
    monkeypatch.setattr(following, "MOST_FACES", 3)
    scene = three()
    infer, _ = stage(scene, faces="all")
    assert swapped(infer, scene) == [1, 2, 3]
    assert caplog.messages == []
