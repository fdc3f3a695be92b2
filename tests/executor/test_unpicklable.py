"""A bound executor does not pickle, and says what to pickle instead."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

import rebind as mx
from rebind.errors import MXNetError

SAYS = (
    r"^Executor: what is pickled .* must not be bound to arrays; got a bound Executor\. Pickle its symbol and"
)


@pytest.mark.parametrize("error", [MXNetError, TypeError, ValueError])
@pytest.mark.parametrize(
    "use", [pickle.dumps, copy.deepcopy, lambda exe: pickle.dumps({"exe": exe}, protocol=0)]
)
def test_pickling_says_what_to_do(use: Callable[[object], object], error: type[Exception]) -> None:
    exe = (mx.sym.var("x") * 2).bind(mx.cpu(), {"x": mx.nd.ones((3,))})
    with pytest.raises(error, match=SAYS):
        use(exe)


def test_shallow_copy_works_on_the_same_arrays() -> None:
    exe = (mx.sym.var("x") * 2).bind(mx.cpu(), {"x": mx.nd.ones((3,))})
    assert copy.copy(exe).forward()[0].tolist() == [2, 2, 2]


def test_its_parts_pickle() -> None:
    exe = (mx.sym.var("x") * 2).bind(mx.cpu(), {"x": mx.nd.ones((3,))})
    symbol, arrays = pickle.loads(pickle.dumps((exe._symbol, dict(exe.arg_dict))))
    assert symbol.bind(mx.cpu(), arrays).forward()[0].tolist() == [2, 2, 2]
