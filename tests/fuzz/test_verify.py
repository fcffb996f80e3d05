"""Files that lie to `verify`: an answer or one sentence, and no mark where none is."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image as Pil

from realtime.errors import RealtimeError
from realtime.trust import credentials
from realtime.trust.verify import credentials_of, metadata_of
from realtime.trust.xmp import BY_AI, declare, source_types
from tests.fuzz.mutations import mutated

QUICK = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def picture(kind: str) -> bytes:
    file = io.BytesIO()
    Pil.fromarray(np.random.default_rng(3).integers(0, 256, (24, 32, 3), np.uint8)).save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_metadata(kind, tmp_path):
    suffix = f".{kind.lower()}"
    path = tmp_path / f"photo{suffix}"
    marked = declare(picture(kind), suffix)

    @QUICK
    @given(mutated(marked))
    def attack(data):
        path.write_bytes(data)
        assert all(isinstance(name, str) and "\n" not in name for name in source_types(path))
        finding = metadata_of(path)
        assert finding.status in ("found", "not_found", "inconclusive")

    path.write_bytes(marked)
    assert set(source_types(path)) & set(BY_AI)
    attack()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_nothing_but_a_value_error_comes_of_a_damaged_picture(kind):
    @QUICK
    @given(mutated(picture(kind)))
    def attack(data):
        try:
            declare(data, f".{kind.lower()}")
        except ValueError as error:
            assert "\n" not in str(error)

    attack()


@pytest.mark.skipif(not credentials.available(), reason="c2pa-python is not installed")
def test_credentials(tmp_path):
    from datetime import UTC, datetime

    from realtime.trust.signing import make_key

    plain, signed, path = tmp_path / "plain.jpg", tmp_path / "signed.jpg", tmp_path / "photo.jpg"
    plain.write_bytes(picture("JPEG"))
    credentials.sign(plain, signed, make_key(datetime.now(UTC)))

    @QUICK
    @given(mutated(signed.read_bytes()))
    def attack(data):
        path.write_bytes(data)
        try:
            assert credentials_of(path).status in ("found", "not_found", "inconclusive")
        except RealtimeError as error:
            assert "\n" not in str(error)

    attack()
