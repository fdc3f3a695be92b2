"""`BindingCache`, with executors that only count."""

from rebind.executor.group.binding_cache import BindingCache


class Executor:
    def __init__(self):
        self.released = 0

    def release(self):
        self.released += 1


def test_shapes_that_come_again_are_not_bound_again():
    cache = BindingCache(limit=2)
    first = cache.switch("a", lambda: [Executor()])
    second = cache.switch("b", lambda: [Executor()])
    assert cache.switch("a", lambda: 1 / 0) is first is cache.current
    assert [exe.released for exe in (*first, *second)] == [1, 1]
    cache.switch("a", lambda: 1 / 0)
    assert first[0].released == 1  # it is the current one


def test_the_shapes_that_were_used_longest_ago_go_first():
    cache = BindingCache(limit=2)
    made = {key: cache.switch(key, lambda: [Executor()]) for key in "abab"}
    cache.switch("c", lambda: [Executor()])
    assert len(cache) == 2 and made["a"][0] not in set(cache) and made["b"][0] in set(cache)
    again = cache.switch("a", lambda: [Executor()])
    assert again is not made["a"]
