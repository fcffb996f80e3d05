from __future__ import annotations

from realtime.buffers import KEPT, ImagePool


def test_a_buffer_in_use_is_never_handed_out_again():
    pool = ImagePool()
    held = [pool.take(4, 6) for _ in range(5)]
    assert len({id(buffer) for buffer in held}) == 5


def test_a_free_buffer_is_used_again():
    pool = ImagePool()
    first = pool.take(4, 6)
    address = first.ctypes.data
    del first
    assert pool.take(4, 6).ctypes.data == address
    assert len(pool) == 1


def test_a_view_keeps_its_buffer():
    pool = ImagePool()
    view = pool.take(4, 6)[1:]
    assert pool.take(4, 6).base is not view.base
    assert len(pool) == 2


def test_a_new_size_drops_the_old_buffers():
    pool = ImagePool()
    pool.take(4, 6)
    assert pool.take(8, 6).shape == (8, 6, 3)
    assert len(pool) == 1


def test_a_crowd_of_buffers_is_given_back_and_what_is_held_stays():
    pool = ImagePool()
    held = [pool.take(4, 6) for _ in range(20)]
    kept = held[11]
    kept[:] = 7
    del held
    taken = pool.take(4, 6)
    assert taken is not kept and (kept == 7).all()
    assert len(pool) == KEPT + 1
