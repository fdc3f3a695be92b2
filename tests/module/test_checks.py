"""What programs import from `mxnet.module.base_module`."""

from __future__ import annotations

import pytest

import rebind as mx
from rebind.module.checks import _check_input_names, _parse_data_desc


def test_check_input_names() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    _check_input_names(net, ["data", "fc_weight"], "data", True)
    with pytest.raises(ValueError, match="no argument 'dat'; did you mean 'data'"):
        _check_input_names(net, ["dat"], "data", True)
    with pytest.warns(UserWarning, match="no argument 'label'"):
        _check_input_names(net, ["label"], "label", False)


def test_parse_data_desc() -> None:
    data, labels = _parse_data_desc(["data"], ["label"], [("data", (2, 3))], [("label", (2,))])
    assert [desc.shape for desc in data] == [(2, 3)]
    assert labels is not None
    assert [(desc.name, desc.layout) for desc in labels] == [("label", "NCHW")]
    with pytest.raises(
        ValueError, match=r"data_shapes: names must be data_names, \['data'\]; got \['image'\]"
    ):
        _parse_data_desc(["data"], [], [("image", (2, 3))], [])
    with pytest.warns(UserWarning, match=r"label_shapes: names must be label_names, \['label'\]; got \[\]"):
        assert _parse_data_desc(["data"], ["label"], [("data", (2, 3))], None)[1] is None
