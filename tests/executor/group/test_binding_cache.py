"""`BindingCache`, with executors that only count."""

import pytest

from rebind.executor.group.binding_cache import BindingCache


class Executor:
    def __init__(self):
        self.released = self.created = 0

    def release(self):
        self.released += 1

    def create_operators(self):
        self.created += 1


@pytest.mark.parametrize("limit", [2, 3])
def test_shapes_that_come_again_are_not_bound_again(limit):
    cache = BindingCache(limit)
    first = cache.switch("a", lambda: [Executor()])
    second = cache.switch("b", lambda: [Executor()])
    assert cache.switch("a", lambda: 1 / 0) is first is cache.current
    assert [exe.released for exe in (*first, *second)] == [1, 1]
    assert [exe.created for exe in (*first, *second)] == [1, 0]  # custom operators begin again
    cache.switch("a", lambda: 1 / 0)
    assert first[0].released == 1  # it is the current one


@pytest.mark.parametrize(
    ("used", "limit", "bound"), [("ababc", 2, "bc"), ("abac", 2, "ac"), ("abc", 3, "abc"), ("abc", 1, "c")]
)
def test_the_least_recently_used_shapes_go_first(used, limit, bound):
    cache = BindingCache(limit)
    made = {key: cache.switch(key, lambda: [Executor()]) for key in used}
    assert len(cache) == len(bound) and set(cache) == {made[key][0] for key in bound}
    for key in set(used) - set(bound):
        assert cache.switch(key, lambda: [Executor()]) is not made[key]
