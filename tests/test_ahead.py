"""Work ahead: in order, a few at a time, and what goes wrong with one is told when its turn comes."""

import threading
import time

import pytest

from jaxids import ahead


def test_everything_comes_in_order():
    with ahead.made(lambda n: n * n, iter(range(50))) as found:
        assert [ready() for ready in found] == [n * n for n in range(50)]


def test_a_few_are_made_ahead_and_no_more():
    asked = []

    def things():
        for n in range(1000):
            asked.append(n)
            yield n

    with ahead.made(lambda n: n, things()) as found:
        for _ in range(3):
            next(found)()
        assert 3 <= len(asked) <= 3 + ahead.AHEAD


def test_they_are_made_while_the_first_is_used(monkeypatch):
    monkeypatch.setattr(ahead, "cores", lambda: 2)
    made = threading.Event()
    with ahead.made(lambda n: made.set() if n == 3 else None, range(4)) as found:
        next(found)()
        assert made.wait(10)  # nobody has asked for it


def test_a_mistake_comes_when_its_turn_does():
    def make(n):
        if n == 2:
            raise ValueError("n: got 2")
        return n

    with ahead.made(make, range(5)) as found:
        assert [next(found)() for _ in range(2)] == [0, 1]
        with pytest.raises(ValueError, match="n: got 2"):
            next(found)()


def test_stopping_early_waits_for_none():
    go, began = threading.Event(), time.monotonic()
    with pytest.raises(RuntimeError), ahead.made(lambda n: go.wait(30), range(100)):
        raise RuntimeError
    assert time.monotonic() - began < 5
    go.set()
