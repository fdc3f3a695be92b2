"""One network on several devices: what is bound, where, and whose arrays it uses."""

import re

import pytest

import rebind as mx
from rebind import sym as S
from rebind.executor.group.replicas import (
    Devices,
    Network,
    Replicas,
    bind_replicas,
    groups_per_device,
    read_requests,
)
from rebind.io import DataDesc

NET = S.FullyConnected(S.var("data"), num_hidden=2, name="fc") + S.var("state")
CPUS = [mx.cpu(0), mx.cpu(1)]
NAMES = ["data", "weight", "bias"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("add", "null add null"),
        ({"bias": "add"}, "null write add"),
        ({"weight": "null", "data": "write"}, "write null null"),
        (["add", "write", "null"], "add write null"),
    ],
)
def test_requests(asked, expected):
    assert list(read_requests(asked, NAMES, {"weight"}).values()) == expected.split()


def network(**requests):
    arguments = NET.list_arguments()
    params = tuple(name for name in arguments if name.startswith("fc_"))
    return Network(NET, params, ("state",), {**dict.fromkeys(arguments, "null"), **requests})


def bind(size, shared=None, work_loads=None):
    devices = Devices.read(CPUS, work_loads)
    split, descs = devices.split(size), [DataDesc("data", (size, 3)), DataDesc("no_argument", (size,))]
    return Replicas(split, bind_replicas(network(fc_weight="write"), devices, split, descs, shared))


def test_names_come_from_the_graph():
    assert network().arg_names == ["data", "fc_weight", "fc_bias", "state"] and network().aux_names == []


@pytest.mark.parametrize(("work_loads", "sizes"), [([1, 2], (2, 4)), (None, (3, 3)), ([2, 1], (4, 2))])
def test_each_device_has_its_slice_and_gradients_that_are_asked_for(work_loads, sizes):
    split, executors = bind(6, work_loads=work_loads)
    assert split.sizes == sizes
    assert [exe.arg_dict["data"].shape for exe in executors] == [(size, 3) for size in sizes]
    assert [name for name, grad in executors[0].grad_dict.items() if grad is not None] == ["fc_weight"]


@pytest.mark.parametrize(("size", "state_is_shared"), [(4, True), (6, False)])
def test_parameters_are_shared_and_states_that_fit(size, state_is_shared):
    first = bind(4)
    second = bind(size, first)
    for one, other in zip(first.executors, second.executors, strict=True):
        for name in ("fc_weight", "fc_bias"):
            assert one.arg_dict[name] is other.arg_dict[name]
        assert one.grad_dict["fc_weight"] is other.grad_dict["fc_weight"]
        assert (one.arg_dict["state"] is other.arg_dict["state"]) == state_is_shared
        assert one.arg_dict["data"] is not other.arg_dict["data"]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (None, [{}, {}]),
        ({"a": mx.cpu(1)}, [{"a": mx.cpu(1)}] * 2),
        ({"a": [mx.cpu(1)]}, [{"a": mx.cpu(1)}] * 2),
        ({"a": [mx.cpu(2), mx.cpu(3)]}, [{"a": mx.cpu(2)}, {"a": mx.cpu(3)}]),
        ([{"a": mx.cpu(1)}, None], [{"a": mx.cpu(1)}, {}]),
    ],
)
def test_devices_of_groups(groups, expected):
    assert groups_per_device(groups, 2) == expected


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ({"a": [mx.cpu(0)] * 3}, "'a' must have a device for each of 2; got [cpu(0), cpu(0), cpu(0)]"),
        ([{"a": mx.cpu(1)}], "must hold a dict for each of 2 devices; got 1"),
        ({"a": [3, 4]}, "'a' must be a Device such as mx.cpu() or mx.gpu(0); got 3"),
        (3, "must be a dict from group to device or devices, or a list of dicts; got 3"),
    ],
)
def test_devices_of_groups_that_do_not_fit(groups, says):
    with pytest.raises((ValueError, TypeError), match=re.escape(f"group2ctxs: {says}")):
        groups_per_device(groups, 2)
