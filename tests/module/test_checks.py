"""What programs import from `mxnet.module.base_module`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import rebind as mx
from rebind.module.checks import _check_input_names, _parse_data_desc

NET = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")


def test_names_and_descriptions_that_fit() -> None:
    _check_input_names(NET, ["data", "fc_weight"], "data", True)
    data, labels = _parse_data_desc(["data"], ["label"], [("data", (2, 3))], [("label", (2,))])
    assert [desc.shape for desc in data] == [(2, 3)]
    assert labels is not None
    assert [(desc.name, desc.layout) for desc in labels] == [("label", "NCHW")]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: _check_input_names(NET, ["dat"], "data", True),
            "no argument 'dat'; did you mean 'data'",
        ),
        (
            lambda: _parse_data_desc(["data"], [], [("image", (2, 3))], []),
            r"data_shapes: names must be data_names, \['data'\]; got \['image'\]",
        ),
    ],
    ids=["an unknown name", "another input"],
)
def test_what_is_an_error(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: _check_input_names(NET, ["label"], "label", False), "no argument 'label'"),
        (
            lambda: _parse_data_desc(["data"], ["label"], [("data", (2, 3))], None)[1],
            r"label_shapes: names must be label_names, \['label'\]; got \[\]",
        ),
    ],
    ids=["an unknown label", "no labels"],
)
def test_what_is_a_warning(call: Callable[[], object], says: str) -> None:
    with pytest.warns(UserWarning, match=says):
        assert call() is None
