"""Certain people, each known by a photo: who is swapped, who is seen, and who is hidden because nobody knows yet."""

from __future__ import annotations

import numpy as np
import pytest

from realtime.tracking import Gallery, SeveralTracked
from realtime.tracking.gallery import RELAXED, TURNED
from realtime.tracking.moment import Moment
from tests.tracking.scene import MESH, Crowd, Path, Person, Scene, SceneRecogniser, at, between, either, reference, seated, walk

ANNA, BEN, CARL = 1, 2, 3
LIMIT = SceneRecogniser.same_person


def people(run: Crowd, tracked: SeveralTracked) -> dict[int, int | None]:
    """Whom each of those in view is swapped as, by number in the gallery."""
    return {run.at(chosen.face.box) or 0: chosen.person for chosen in tracked.faces}


def three(ben: Path | None = None) -> list[Person]:
    return [Person(seated(120, 240, 100), ANNA), Person(ben or seated(320, 240, 130), BEN), Person(seated(530, 240, 90), CARL)]


def test_each_gets_the_person_of_their_photo():
    run = Crowd.looking_for(CARL, ANNA, people=three())
    answer = run.until(2.0)[-1]
    assert people(run, answer) == {CARL: 0, ANNA: 1}


def test_who_is_nobodys_is_seen_but_not_before_that_is_known():
    run = Crowd.looking_for(ANNA, people=three())
    answers = run.until(3.0)
    assert run.raw(answers[0]) == set() and run.raw(answers[1]) == set()
    assert run.raw(answers[-1]) == {BEN, CARL}


def test_recognition_is_run_when_a_face_comes_up_not_on_every_frame():
    run = Crowd.looking_for(ANNA, BEN, people=three())
    looks = []
    for i in range(300):
        before = run.scene.looks
        run.step(i / 30)
        looks.append(run.scene.looks - before)
    assert max(looks) == 1
    assert sum(looks[:60]) <= 8 and sum(looks[60:]) <= 12


def test_a_face_that_is_only_just_unlike_is_not_swapped_and_one_just_alike_is():
    for cosine, wanted in ((LIMIT - 0.02, {}), (LIMIT + 0.02, {ANNA: 0})):
        run = Crowd.looking_for(ANNA, people=[Person(seated(320, 240, 120), ANNA, cosine=cosine)])
        assert people(run, run.until(2.0)[-1]) == wanted


@pytest.mark.parametrize(("similarity", "wanted"), [(0.7, {}), (0.5, {ANNA: 0})])
def test_the_similarity_asked_for_counts(similarity, wanted):
    run = Crowd.looking_for(ANNA, people=[Person(seated(320, 240, 120), ANNA, cosine=0.6)], similarity=similarity)
    assert people(run, run.until(2.0)[-1]) == wanted


@pytest.mark.parametrize(("yaw", "wanted"), [(0.0, {}), (40.0, {}), (50.0, {ANNA: 0}), (-50.0, {ANNA: 0})])
def test_a_turned_face_is_judged_less_strictly(yaw, wanted):
    cosine = LIMIT * (1 + RELAXED) / 2
    run = Crowd.looking_for(ANNA, people=[Person(seated(320, 240, 120), ANNA, score=0.95, cosine=cosine, yaw=yaw)])
    assert people(run, run.until(2.0)[-1]) == wanted


def test_a_turned_face_never_proves_that_it_is_nobodys():
    turning = Person(seated(320, 240, 120), BEN, yaw=lambda t: 60.0 if t < 3 else 0.0)
    run = Crowd.looking_for(ANNA, people=[Person(seated(100, 240, 100), ANNA), turning])
    assert all(run.raw(run.step(i / 30)) == set() for i in range(90))
    assert run.raw(run.until(4.0, 3.0)[-1]) == {BEN}


def test_one_who_is_known_to_be_nobodys_may_turn_away():
    run = Crowd.looking_for(ANNA, people=[Person(seated(320, 240, 120), BEN, yaw=lambda t: 60.0 if t > 2 else 0.0)])
    assert run.raw(run.until(2.0)[-1]) == {BEN}
    assert run.raw(run.until(8.0, 2.0)[-1]) == {BEN}


def test_while_one_of_the_people_is_lost_everybody_is_in_doubt_again():
    run = Crowd.looking_for(ANNA, people=[Person(between(0, 2, seated(120, 240, 100)), ANNA), *three()[1:]])
    assert run.raw(run.until(2.0)[-1]) == {BEN, CARL}
    assert run.raw(run.step(2.0)) == set()
    assert run.raw(run.until(4.0, 2.03)[-1]) == {BEN, CARL}


def test_one_of_the_people_who_comes_up_in_a_strangers_place_is_not_seen():
    # Ben is known to be nobody; he is gone, and Anna is there half a face beside, as if he had moved.
    run = Crowd.looking_for(ANNA, people=[Person(between(0, 3, at(300, 240, 100)), BEN), Person(between(3, 99, at(336, 240, 100)), ANNA)])
    assert run.raw(run.until(3.0)[-1]) == {BEN}
    run.scene.presence = 0.1  # so that nobody can be asked about
    assert all(run.raw(run.step(3.0 + i / 30)) == set() for i in range(20))


def test_one_of_the_people_who_changes_places_with_a_stranger_is_not_seen():
    # Ben steps aside and Anna is where he was.
    ben = either(between(0, 3, at(300, 240, 100)), between(3, 99, at(358, 240, 100)))
    run = Crowd.looking_for(ANNA, people=[Person(between(3, 99, at(298, 240, 100)), ANNA), Person(ben, BEN)])
    assert run.raw(run.until(3.0)[-1]) == {BEN}
    run.scene.presence = 0.1
    assert all(ANNA not in run.raw(run.step(3.0 + i / 30)) for i in range(20))


def test_the_person_is_known_anywhere_on_return():
    path = either(between(0, 2, seated(120, 240, 100)), between(4, 99, seated(420, 240, 100)))
    run = Crowd.looking_for(ANNA, people=[Person(path, ANNA)])
    run.until(4.0)
    for i in range(20):
        answer = run.step(4.0 + i / 30)
        assert run.raw(answer) == set()
    assert people(run, answer) == {ANNA: 0} and answer.lost == ()


def test_whoever_touches_one_of_the_people_is_hidden_until_known_again():
    # Carl walks up to Anna, stays behind her, and leaves.
    run = Crowd.looking_for(ANNA, people=[Person(seated(320, 240, 110), ANNA), Person(walk(600, 400, 240, 100, 0.0, 4.0), CARL)])
    seen = [run.raw(run.step(i / 30)) for i in range(118)]
    assert seen[60] == {CARL} and seen[-1] == set()


def test_people_who_cross_end_up_with_their_own_again():
    def left_to_right(t: float):
        return 100 + 110 * t, 240.0, 100.0

    def right_to_left(t: float):
        x = 540 - 110 * t
        return None if abs(x - (100 + 110 * t)) < 60 else (x, 250.0, 100.0)

    run = Crowd.looking_for(ANNA, BEN, people=[Person(left_to_right, ANNA), Person(right_to_left, BEN)])
    for i in range(120):
        answer = run.step(i / 30)
        assert run.raw(answer) == set()
    assert people(run, answer) == {ANNA: 0, BEN: 1}


def test_a_cut_that_changes_places_is_put_right_and_shows_nobody():
    change = either(between(0, 2, seated(200, 240, 100)), between(2, 99, seated(450, 240, 100)))
    back = either(between(0, 2, seated(450, 240, 100)), between(2, 99, seated(200, 240, 100)))
    run = Crowd.looking_for(ANNA, BEN, people=[Person(change, ANNA), Person(back, BEN)])
    assert people(run, run.until(2.0)[-1]) == {ANNA: 0, BEN: 1}
    for i in range(300):
        answer = run.step(2.0 + i / 30)
        assert run.raw(answer) == set()
    assert people(run, answer) == {ANNA: 0, BEN: 1}


def test_a_stranger_in_the_place_of_one_of_the_people_is_found_out():
    # A cut puts Carl where Anna was; the swap stays on him for a while, then he is asked about anew.
    run = Crowd.looking_for(
        ANNA, people=[Person(between(0, 2, seated(320, 240, 100)), ANNA), Person(between(2, 99, seated(320, 240, 100)), CARL)]
    )
    run.until(2.0)
    answers = run.until(20.0, 2.0)
    assert people(run, answers[5]) == {CARL: 0}
    assert people(run, answers[-1]) == {} and run.raw(answers[-1]) == {CARL}


def test_a_picture_less_like_the_person_does_not_get_the_swap():
    run = Crowd.looking_for(ANNA, people=[Person(seated(120, 240, 100), ANNA), Person(at(450, 200, 100), ANNA, cosine=0.5)])
    answers = run.until(6.0)
    assert [run.at(chosen.face.box) for chosen in answers[-1].faces] == [ANNA]
    assert answers[-1].faces[0].face.box.centre[0] < 200
    assert len(answers[-1].others) == 1  # whoever is like her is never seen either


def test_the_better_match_takes_the_person_over():
    # First a poster of Anna is taken for her; then she comes in.
    run = Crowd.looking_for(ANNA, people=[Person(at(450, 200, 100), ANNA, cosine=0.5), Person(between(1, 99, seated(120, 240, 100)), ANNA)])
    assert run.until(1.0)[-1].faces[0].face.box.centre[0] > 400
    answer = run.until(6.0, 1.0)[-1]
    assert [chosen.face.box.centre[0] < 200 for chosen in answer.faces] == [True]


def look(gallery: Gallery, scene: Scene, yaw: float = 0.0):
    points = MESH * np.float32(100) + np.float32((320, 240, 0))
    points[:, 2] += np.float32(np.tan(np.radians(yaw))) * (points[:, 0] - 320)
    return gallery.look(Moment(np.zeros((480, 640, 3), np.uint8), 0.0), points)


def test_two_alike_are_kept_apart_when_turned():
    scene = Scene([Person(at(320, 240, 100), ANNA)])
    alike = reference(ANNA) * np.float32(0.95) + reference(BEN) * np.float32(np.sqrt(1 - 0.95**2))
    gallery = Gallery(SceneRecogniser(scene), [reference(ANNA), alike])
    front, turned = look(gallery, scene), look(gallery, scene, TURNED + 5)
    assert front is not None and turned is not None
    assert gallery.match(front) == 0 and gallery.match(turned) is None


def test_numbers_that_are_none_tell_nothing():
    scene = Scene([Person(at(320, 240, 100), ANNA, cosine=float("nan"))])
    assert look(Gallery(SceneRecogniser(scene), [reference(ANNA)]), scene) is None


def test_learned_looks_help_and_are_forgotten_on_reset():
    scene = Scene([Person(at(320, 240, 100), ANNA, cosine=0.6)])
    gallery = Gallery(SceneRecogniser(scene), [reference(ANNA)])
    first = look(gallery, scene)
    assert first is not None
    gallery.learn(0, first)
    again = look(gallery, scene)
    assert again is not None and again.cosines[0] == pytest.approx(1.0)
    gallery.reset()
    later = look(gallery, scene)
    assert later is not None and later.cosines[0] == pytest.approx(0.6)


def test_somebody_must_be_looked_for():
    with pytest.raises(ValueError, match="at least one person"):
        Gallery(SceneRecogniser(Scene([])), [])


@pytest.mark.parametrize(("cosine", "seen"), [(LIMIT + 0.05, {BEN}), (LIMIT + 0.2, set())])
def test_one_who_looks_a_little_like_the_person_in_view_is_nobody(cosine, seen):
    # BEN matches the photo of Anna, but Anna is here, and much more like it.
    run = Crowd.looking_for(ANNA, people=[Person(seated(120, 240, 100), ANNA)])
    alike = reference(ANNA) * np.float32(cosine) + reference(BEN) * np.float32(np.sqrt(1 - cosine**2))
    run.scene.people.append(Person(seated(420, 240, 100), BEN, embedding=alike))
    answer = run.until(3.0)[-1]
    assert people(run, answer) == {ANNA: 0} and run.raw(answer) == seen
