"""The networks of `mx.models` as MXNet reads them: names, shapes, and what small variants compute."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

import rebind as mx

from .golden import assert_close, group, read_arrays
from .models import INTERFACES, OUTPUTS, VARIANTS, run, usual_shapes

RECORDED: dict[str, Any] = json.loads(gzip.decompress(INTERFACES.read_bytes()))["networks"]
RTOL = 1e-5


def test_every_network_is_recorded() -> None:
    assert sorted(RECORDED) == mx.models.list()


@pytest.mark.parametrize("name", RECORDED)
def test_names_and_shapes(name: str) -> None:
    symbol = mx.models.get(name)
    arguments, outputs, states = symbol.infer_shape(**usual_shapes(name))
    for names, shapes, part in (
        (symbol.list_arguments(), arguments, "arguments"),
        (symbol.list_auxiliary_states(), states, "auxiliary_states"),
        (symbol.list_outputs(), outputs, "outputs"),
    ):
        assert [[one, list(shape)] for one, shape in zip(names, shapes)] == [
            list(pair) for pair in RECORDED[name][part].items()
        ]
    assert mx.sym.load_json(symbol.tojson()).list_arguments() == symbol.list_arguments()


@pytest.mark.parametrize("name", VARIANTS)
def test_outputs(name: str) -> None:
    variant = VARIANTS[name]
    found = run(mx, name, getattr(mx.models, variant.model)(**variant.parameters))
    expected = group(read_arrays(OUTPUTS), name)
    assert list(found) == list(expected)
    assert all(value.std() > 0 for value in expected.values())
    for output, value in expected.items():
        assert_close(found[output], value, rtol=RTOL, what=output)
