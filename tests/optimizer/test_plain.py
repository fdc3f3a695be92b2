"""Optimizers as plain data: every kind comes back with its settings and updates alike."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.optimizer.base import optimizers
from rebind.optimizer.plain import from_plain, to_plain

OURS = sorted(name for name in optimizers if optimizers[name].__module__.startswith("rebind."))


def sent(optimizer: mx.optimizer.Optimizer) -> mx.optimizer.Optimizer:
    return from_plain(json.loads(json.dumps(to_plain(optimizer))))


@pytest.mark.parametrize("name", OURS)
def test_an_optimizer_that_was_sent_updates_as_before(name):
    names = {0: "a_weight", 1: "a_bias"}
    schedule = mx.lr_scheduler.MultiFactorScheduler([1, 3], factor=0.5, base_lr=0.1)
    wd = 0.0 if name == "groupadagrad" else 0.1  # which takes none
    made = mx.optimizer.create(name, learning_rate=0.1, wd=wd, param_idx2name=names, lr_scheduler=schedule)
    made.set_lr_mult({"a_bias": 0.5})
    weights = []
    for optimizer in made, sent(made):
        mx.random.seed(3)
        updater = mx.optimizer.get_updater(optimizer)
        weight = [mx.nd.ones((2, 3)), mx.nd.ones((3,))]
        for _ in range(3):
            updater([0, 1], [mx.nd.ones((2, 3)) * 0.5, mx.nd.ones((3,))], weight)
        weights.append([each.asnumpy() for each in weight])
        assert optimizer._all_index_update_counts[0] is optimizer._index_update_count
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_attributes_of_all_kinds():
    made = mx.optimizer.create("sgd", param_dict={"w": SimpleNamespace(lr_mult=2.0, wd_mult=3.0)})
    made.others = [1, (2.5, None), {"a", "b"}, {3: "x"}, np.float32(0.5)]
    made.arrays = [mx.nd.ones((2,)), torch.zeros(1, dtype=torch.float16), np.arange(2)]
    found = sent(made)
    assert found.others == [1, (2.5, None), {"a", "b"}, {3: "x"}, 0.5]
    assert [each.tolist() for each in (found.arrays[0].asnumpy(), *found.arrays[1:])] == [[1, 1], [0], [0, 1]]
    assert found.arrays[1].dtype is torch.float16
    assert (found.param_dict["w"].lr_mult, found.param_dict["w"].wd_mult) == (2, 3)


def holding(**attributes: object) -> mx.optimizer.Optimizer:
    made = mx.optimizer.create("sgd")
    vars(made).update(attributes)
    return made


class Unregistered(mx.optimizer.SGD):
    pass


class OwnSchedule(mx.lr_scheduler.LRScheduler):
    def __call__(self, num_update: int) -> float:
        return 0.5


@pytest.mark.parametrize(
    ("optimizer", "says"),
    [
        (holding(action=len), r"SGD.action must be a number, a text, .* got builtin_function_or_method"),
        (Unregistered(), r"the class of the optimizer must be registered, .*; got Unregistered"),
        (mx.optimizer.create("sgd", lr_scheduler=lambda count: 0.5), r"SGD.lr_scheduler must be .*; got function"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent(optimizer, says):
    with pytest.raises(TypeError, match=says):
        to_plain(optimizer)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"class": "Mine", "module": "__main__"}, r"the server must know the optimizer 'Mine' of the module __main__"),
        ({"class": "SGD", "module": "__main__"}, r"the server must know the optimizer 'SGD' of the module __main__"),
        ({"class": "Mine", "module": "no_such_module"}, r"must be able to import the module of the optimizer 'Mine'"),
    ],
)  # fmt: skip
def test_classes_that_a_server_does_not_know(changes, says):
    with pytest.raises(mx.MXNetError, match=says):
        from_plain(to_plain(mx.optimizer.create("sgd")) | changes)


def test_a_schedule_of_ones_own_is_found_in_its_module():
    found = sent(mx.optimizer.create("sgd", lr_scheduler=OwnSchedule()))
    assert isinstance(found.lr_scheduler, OwnSchedule)
    plain = to_plain(mx.optimizer.create("sgd", lr_scheduler=OwnSchedule()))
    plain["attributes"]["lr_scheduler"]["schedule"]["module"] = "__main__"
    with pytest.raises(mx.MXNetError, match="the server knows no schedule of learning rates 'OwnSchedule'"):
        from_plain(plain)
