"""The guard of cached runs, and the cache that drops them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import rebind as mx
from rebind.executor.cache import Guard, RunCache


def write(array: Any, objects: list[object]) -> None:
    array[:] = 7


def read(array: Any, objects: list[object]) -> None:
    array.asnumpy()


def exchange(array: Any, objects: list[object]) -> None:
    array.exchange(mx.nd.zeros(array.shape).tensor)


def reorder(array: Any, objects: list[object]) -> None:
    array.storage.put_channels_last()


def replace_object(array: Any, objects: list[object]) -> None:
    objects[0] = object()


@pytest.mark.parametrize(
    ("change", "holds"),
    [(write, True), (read, True), (exchange, False), (reorder, False), (replace_object, False)],
)
def test_what_a_guard_compares(change: Callable[..., None], holds: bool) -> None:
    array, objects = mx.nd.ones((2, 3, 4, 4)), [object()]
    guard = Guard.of([array], lambda: tuple(objects))
    assert guard.holds()
    change(array, objects)
    assert guard.holds() == holds


def test_arrays_that_are_recorded_have_no_guard() -> None:
    x = mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        assert Guard.of([y], tuple) is None


def run(holds: bool = True) -> Any:
    return SimpleNamespace(guard=SimpleNamespace(holds=lambda: holds))


def test_a_run_that_was_used_is_made_again_after_it_was_dropped() -> None:
    cache: RunCache[Any] = RunCache()
    first = cache.find(run)
    assert cache.note(done=True) and cache.find(run) is first
    first.guard.holds = lambda: False
    assert cache.find(run) is None  # this run is a plain one
    second = cache.find(run)
    assert second is not None and second is not first


def test_a_run_that_was_never_of_use_is_not_made_again() -> None:
    cache: RunCache[Any] = RunCache()
    assert cache.find(lambda: run(holds=False)) is not None
    assert cache.find(run) is None and cache.find(run) is None and not cache.may_make


def test_where_nothing_can_be_cached_that_is_asked_once() -> None:
    cache: RunCache[Any] = RunCache()
    asked = []
    for _ in range(3):
        assert cache.find(lambda: asked.append(1)) is None
    assert len(asked) == 1
