"""Mistakes in calls of every part of the library: each meets a sentence that says who, which argument and what it got.

The tables beside this file hold them: a call with one wrong value, and what the message must say. ``...`` in it stands
for any text.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import rebind as mx
from rebind import nd, sym
from rebind.checks import COUNT, FLAG, INT, NUMBER, PATH, check_kind
from rebind.errors import MXNetError

from . import arrays, data, modules, operators, symbols, tools, training
from .things import arguments, batches, bound, module, net, ready, var

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    f"{table.__name__.rpartition('.')[2]}: {name}": mistake
    for table in (arrays, data, modules, operators, symbols, tools, training)
    for name, mistake in table.MISTAKES.items()
}


@pytest.mark.parametrize(("call", "says"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.filterwarnings("ignore")
def test_a_mistake_meets_a_sentence(call: Callable[[], object], says: str) -> None:
    # Python itself has the sentence where an operator such as + is not defined between two types.
    kinds = TypeError if says.startswith(("unsupported operand", "'>' not supported")) else MXNetError
    with pytest.raises(kinds) as caught, mx.name.NameManager():  # automatic names count from 0
        call()
    text, at = str(caught.value), 0
    for part in says.split(" ... "):
        assert part in text[at:], text
        at = text.index(part, at) + len(part)


def test_there_are_at_least_two_hundred() -> None:
    assert len(MISTAKES) >= 200


WARNED: dict[str, tuple[Callable[[], object], str]] = {
    **tools.WARNED,
    "kvstore near": (
        lambda: (made := bound(), made.init_params(), made.init_optimizer(kvstore="locla")),
        "kvstore: no store 'locla'; did you mean 'local'",
    ),
    "a module's grad_req of a near name": (
        lambda: bound(grad_req={"fc1_wieght": "null"}),
        "Module.bind: grad_req: no argument 'fc1_wieght'; did you mean 'fc1_weight'",
    ),
    "an unknown last_batch_handle": (
        lambda: batches(last_batch_handle="padd"),
        "NDArrayIter: last_batch_handle must be one of 'pad', 'discard', 'roll_over'; got 'padd'",
    ),
    "a batch of more arrays than inputs": (
        lambda: ready().forward(mx.io.DataBatch([nd.ones((4, 4))] * 2, [nd.ones((4,))])),
        r"Module.forward: the batch must hold \['data'\]; got 2 arrays. The first are used",
    ),
    "more head gradients than outputs": (
        lambda: (lambda e: (e.forward(True), e.backward([nd.ones((2,))] * 2)))(
            (var() * 2).simple_bind(mx.cpu(), v=(2,))
        ),
        "backward: out_grads must hold 1 arrays, .*; got 2. The first are used",
    ),
    "grad_req of a near name": (
        lambda: net().bind(mx.cpu(), arguments(), arguments(), grad_req={"fc1_wieght": "write"}),
        "Symbol.bind: grad_req: no argument 'fc1_wieght'; did you mean 'fc1_weight'",
    ),
}


@pytest.mark.parametrize(("call", "says"), WARNED.values(), ids=WARNED)
def test_what_ran_in_mxnet_is_warned_of(call: Callable[[], object], says: str) -> None:
    with pytest.warns(UserWarning, match=says):
        call()


#: What MXNet 1.9.1 takes with sensible results.
TAKEN: dict[str, Callable[[], object]] = {
    "full of a list": lambda: nd.full((2, 2), [1, 2]),
    "full of an array": lambda: nd.full((2,), nd.array([5])),
    "full of a NumPy number": lambda: nd.full((2,), np.float32(7)),
    "a device's number of NumPy": lambda: mx.cpu(np.int64(1)),
    "a shape as text": lambda: sym.var("a", shape="(2, 3)"),
    "a shape as a number": lambda: sym.var("a", shape=3),
    "a factor as text": lambda: sym.var("a", lr_mult="2"),
    "a device as text": lambda: nd.ones((2,)).copyto("cpu"),
    "shares": lambda: module(work_load_list=[1]),
    "a whole float of batches": lambda: list(mx.io.ResizeIter(batches(), 2.0)),
    "a NumPy number of batches": lambda: ready().predict(batches(), num_batch=np.int64(1)),
    "half a batch more": lambda: ready().predict(batches(), num_batch=1.5),
    "flags as numbers": lambda: bound(for_training=1, inputs_need_grad=np.bool_(False)),
    "flags as None": lambda: ready().forward(next(iter(batches())), is_train=None),
    "settings as pairs": lambda: (
        made := bound(),
        made.init_params(),
        made.init_optimizer(optimizer_params=[("learning_rate", 0.1)]),
    ),
    "factors as pairs": lambda: mx.optimizer.SGD().set_wd_mult([("a", 1)]),
    "a size of NumPy's": lambda: mx.image.resize_short(nd.zeros((8, 8, 3), dtype="uint8"), np.int64(4)),
    "a size of floats": lambda: mx.image.center_crop(nd.zeros((8, 8, 3), dtype="uint8"), (4.0, 4.0)),
    "the least area": lambda: mx.image.random_size_crop(
        nd.zeros((8, 8, 3), dtype="uint8"), (4, 4), 0.5, (0.5, 1)
    ),
    "steps of a loop as text": lambda: sym.contrib.while_loop(
        lambda a: a < 3, lambda a: (a, [a]), [var()], max_iterations="5"
    ),
    "sentences of NumPy": lambda: mx.rnn.BucketSentenceIter(np.ones((4, 2)), 2, buckets=[3]),
    "an update that is a float": lambda: mx.lr_scheduler.FactorScheduler(2)(5.0),
    "no monitor": lambda: net().simple_bind(mx.cpu(), data=(4, 4)).set_monitor_callback(None),
    "a seed of NumPy's": lambda: mx.random.seed(np.int64(3)),
}


@pytest.mark.parametrize("call", TAKEN.values(), ids=TAKEN)
def test_what_mxnet_takes_is_taken(call: Callable[[], object]) -> None:
    call()


def test_a_type_of_none_is_float32_as_in_mxnet() -> None:
    assert nd.array([1], dtype="int32").astype(None).dtype is np.float32  # MXNet 1.9.1 answers so


def test_full_repeats_a_list() -> None:
    assert nd.full((2, 2), [1, 2]).asnumpy().tolist() == [[1, 2], [1, 2]]  # MXNet 1.9.1 answers so


def test_kinds_take_what_counts_as_such() -> None:
    check_kind("f", INT, a=np.int64(3), b=True)
    check_kind("f", COUNT, a=np.int32(1))
    check_kind("f", NUMBER, a=np.float32(1), b=np.array(1), c=nd.array([1]))
    check_kind("f", FLAG, a=None, b=1, c=np.bool_(True))
    check_kind("f", PATH, a="p", b=b"p")
