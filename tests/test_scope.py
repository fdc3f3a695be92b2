"""Names and attributes from `with` statements."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import rebind as mx


def test_names() -> None:
    x = mx.sym.var("x")
    with mx.name.NameManager() as manager:
        assert mx.name.NameManager.current is manager
        assert [mx.sym.relu(x).name for _ in range(2)] == ["relu0", "relu1"]
        with mx.name.NameManager():
            assert mx.sym.relu(x).name == "relu0"
        assert mx.sym.relu(x).name == "relu2"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            lambda x: mx.sym.FullyConnected(x, num_hidden=1).list_arguments()[1],
            "net_fullyconnected0_weight",
            id="automatic",
        ),
        pytest.param(lambda x: mx.sym.FullyConnected(x, num_hidden=1, name="fc").name, "net_fc", id="given"),
        pytest.param(lambda x: (x + 1).name, "net__plusscalar0", id="arithmetic"),
    ],
)
def test_prefix(name, expected) -> None:
    with mx.name.Prefix("net_"):
        assert name(mx.sym.var("x")) == expected


def test_attributes() -> None:
    with mx.AttrScope(ctx_group="a", __x__="1"):
        with mx.AttrScope(ctx_group="b", __y__="2") as scope:
            assert mx.AttrScope.current is scope
            assert mx.AttrScope.current.get({"z": "3"}) == {
                "ctx_group": "b",
                "__x__": "1",
                "__y__": "2",
                "z": "3",
            }
            net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=1, name="fc")
        assert mx.sym.var("y").attr("ctx_group") == "a"
    assert {name: said["__ctx_group__"] for name, said in net.attr_dict().items()} == dict.fromkeys(
        ["x", "fc_weight", "fc_bias", "fc"], "b"
    )
    assert mx.AttrScope.current.get(None) == {}


def test_scopes_belong_to_a_thread() -> None:
    seen = []
    with mx.AttrScope(ctx_group="a"):
        thread = threading.Thread(target=lambda: seen.append(mx.AttrScope.current.get(None)))
        thread.start()
        thread.join()
    assert seen == [{}]


def test_attributes_are_strings() -> None:
    with pytest.raises(ValueError, match="must be a string"):
        mx.AttrScope(lr_mult=0.1)


def test_one_object_serves_several_threads() -> None:
    device, scope, barrier, seen = mx.cpu(3), mx.AttrScope(a="1"), threading.Barrier(2), {}

    def run(name: str, first: bool) -> None:
        with device, scope, mx.AttrScope(**{name: "x"}):
            barrier.wait()
            inside = mx.current_context(), mx.AttrScope.current.get(None)
            barrier.wait()
            if not first:
                barrier.wait()  # leaves after the other one has left
        if first:
            barrier.wait()
        automatic = mx.sym.relu(mx.sym.var("x")).name
        seen[name] = (*inside, mx.current_context(), mx.AttrScope.current.get(None), automatic)

    threads = [
        threading.Thread(target=run, args=("p", True)),
        threading.Thread(target=run, args=("q", False)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {name: (mx.cpu(3), {"a": "1", name: "x"}, mx.cpu(0), {}, "relu0") for name in ("p", "q")}


@pytest.mark.parametrize(
    ("kind", "new"),
    [(mx.name.NameManager, mx.name.Prefix("mine_")), (mx.AttrScope, mx.AttrScope(x="1"))],
    ids=["names", "attributes"],
)
def test_innermost_scope_can_be_replaced(kind: Any, new: Any) -> None:
    """By the name that MXNet's own code has for it, which programs took over."""
    before = kind._current.value
    assert before is kind.current
    try:
        kind._current.value = new
        assert kind.current is new
        with kind():
            kind._current.value = before
            assert kind.current is before
        assert kind.current is new
    finally:
        kind._current.value = before
