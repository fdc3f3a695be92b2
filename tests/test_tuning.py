"""The record of tuning values: it is changed for a while, and plans follow the one of their target."""

import dataclasses
import re
from pathlib import Path

import pytest

import rebind as mx
from rebind import tuning
from rebind.executor import lower
from rebind.graph import Target


def test_values_are_changed_within_a_block_only():
    before = tuning.current()
    with pytest.raises(KeyError), tuning.changed(cuda_graph_sizes=1):
        with tuning.changed(cuda_graph_captures=2):
            assert (tuning.current().cuda_graph_sizes, tuning.current().cuda_graph_captures) == (1, 2)
        assert tuning.current().cuda_graph_captures == before.cuda_graph_captures
        raise KeyError
    assert tuning.current() is before


def test_a_name_that_does_not_exist_is_an_error():
    with pytest.raises(TypeError, match="explicit_bytes"), tuning.changed(explicit_bytes=1):
        pass


def test_plans_are_shared_under_equal_values_only():
    graph = (mx.sym.var("x") * 2).graph
    plan = lower(graph, Target())
    with tuning.changed(recomputed_products=1):
        other = lower(graph, Target())
    assert other is not plan and other.target.tuning.recomputed_products == 1
    assert lower(graph, Target()) is plan


def test_every_value_is_a_number_at_least_0():
    values = dataclasses.asdict(tuning.Tuning())
    forms = dict(values.pop("exchange_forms"))  # a table of names
    assert all(value >= 0 for value in values.values())
    assert forms.keys() == {"gloo", "nccl"} and {*forms.values()} <= {"staged", "collective"}


def test_every_value_decides_something():
    package = Path(mx.__file__).parent
    text = "".join(path.read_text() for path in package.rglob("*.py") if path.name != "tuning.py")
    names = [each.name for each in dataclasses.fields(tuning.Tuning)]
    assert [name for name in names if not re.search(rf"\.{name}\b", text)] == []
