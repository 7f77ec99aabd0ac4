"""A lock is taken when it looks free, by one thread at a time, and nobody looks for ever; callers go first."""

import threading

import pytest

from memotel.locks import REST_S, Callers, calm

PATIENCE_S = 20.0


def test_a_free_lock_is_taken_at_once() -> None:
    lock = threading.Lock()
    with calm(lock) as is_taken:
        assert is_taken
        assert lock.locked()
    assert not lock.locked()


def test_who_has_looked_often_enough_queues_up() -> None:
    lock = threading.Lock()
    taken = threading.Event()

    def take() -> None:
        with calm(lock):
            taken.set()

    with lock:
        assert calm(lock) is lock  # it has looked in vain, and comes back
        waiting = threading.Thread(target=take)
        waiting.start()
        calm(lock)
        assert not taken.is_set()
    assert taken.wait(PATIENCE_S)
    waiting.join(PATIENCE_S)


def test_one_thread_at_a_time_has_it() -> None:
    lock, start = threading.Lock(), threading.Barrier(8)
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        start.wait(PATIENCE_S)
        for _ in range(500):
            with calm(lock):
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert set(most) == {1}
    assert len(most) == 8 * 500


def test_the_background_rests_only_while_a_caller_is_amid_its_step() -> None:
    rests: list[float] = []
    callers = Callers(rests.append)
    callers.go_first()
    assert rests == []
    with callers:
        callers.go_first()
        with callers:
            pass
        callers.go_first()
    callers.go_first()
    assert rests == [REST_S, REST_S]


def test_a_caller_that_fails_is_amid_nothing_any_more() -> None:
    rests: list[float] = []
    callers = Callers(rests.append)
    with pytest.raises(OSError, match="the disk is gone"), callers:
        raise OSError("the disk is gone")
    callers.go_first()
    assert rests == []


def test_callers_of_many_threads_are_all_counted_out() -> None:
    rests: list[float] = []
    callers, start = Callers(rests.append), threading.Barrier(8)

    def work() -> None:
        start.wait(PATIENCE_S)
        for _ in range(2_000):
            with callers:
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    callers.go_first()
    assert rests == []
