"""The pages of operators: an example for each that prints what MXNet printed, and a page that says all."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.parity.coverage import LEFT_OUT
from tests.sampling import sampled
from tools.onnx_table import names_by_operator
from tools.operator_comparison import Comparison
from tools.operator_differences import differences
from tools.operator_examples import programs, session
from tools.operator_pages import (
    Facts,
    first_name,
    index,
    names_page,
    page,
    printed_by_mxnet,
    same_as_mxnet,
)
from tools.operator_topics import topics

import rebind as mx
from rebind.ops import find
from rebind.ops.frontend import documentation, split_docstring

OPERATORS = {first_name(names[0]): names for names in names_by_operator().values()}
HERE = [name for name in OPERATORS if name not in LEFT_OUT]

#: Examples that print other numbers than MXNet's, with the reason; docs/differences has both.
OTHERWISE = {
    "RNN": "MXNet without oneDNN, as it was recorded, gives zeros; with it the same numbers",
    "_image_flip_left_right": "MXNet leaves out the middle of an odd number of columns",
    "_image_random_color_jitter": "MXNet gives zeros when all amounts are 0",
}
#: What is drawn is PyTorch's.
RANDOM = ("_random_", "_sample_", "_shuffle")


def test_each_operator_has_an_example_and_a_topic() -> None:
    assert set(programs()) == set(HERE)
    assert sorted(name for names in topics(HERE).values() for name in names) == sorted(HERE)


TOPIC = {name: topic for topic, names in topics(HERE).items() for name in names}
EXAMPLES = [
    pytest.param(name, id=name, marks=marks) for name, marks in sampled(sorted(HERE), kind=TOPIC.__getitem__)
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_mxnet_printed(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = session(mx, programs()[name])
    if printed_by_mxnet()[name] is None or name.startswith(RANDOM):
        assert shown
    else:
        assert same_as_mxnet(name, shown) == (name not in OTHERWISE), shown


def test_few_examples_fail_in_mxnet() -> None:
    assert sum(text is None for text in printed_by_mxnet().values()) <= 18


def test_a_page_has_all_that_a_reader_asks_for() -> None:
    measured = Comparison(calls=3, types={"float32"}, outputs=2e-8, gradients=0.0)
    rows = differences(["LeakyReLU"])
    text = page("LeakyReLU", ["LeakyReLU"], Facts({"LeakyReLU": measured}, {"LeakyReLU": "LeakyRelu"}, rows))
    for part in (
        "mx.sym.LeakyReLU(", "| `slope` | a float, default 0.25 |", "## Shapes", "## Formula", "## Gradient",
        ">>> mx.nd.LeakyReLU(",
        "MXNet 1.9.1 prints the same numbers.", "## Storage types", "## ONNX\n\nExported as LeakyRelu.",
        "`LeakyReLU(act_type='selu')`",
        "3 recorded calls", "Largest difference of outputs: 2e-08. All gradients are equal.",
    ):  # fmt: skip
        assert part in text


#: What unrolls them writes their parameters; nobody else does.
LOOPS = {"_foreach", "_while_loop", "_cond"}


def test_each_parameter_has_a_meaning() -> None:
    missing = []
    for name in HERE:
        _, sections = split_docstring(documentation(find(name), "array", ""))
        entries = re.split(r"^(?=\S)", sections.get("Parameters", ""), flags=re.MULTILINE)
        without = [entry.strip() for entry in entries if entry and "\n " not in entry]
        missing += [f"{name}: {entry}" for entry in without if not re.search(" : arrays?", entry)]
    assert [each for each in missing if each.partition(":")[0] not in LOOPS] == []


def test_the_style_of_the_site_names_sections_that_are_there() -> None:
    docs = Path(__file__).parents[2] / "docs"
    pages = [path.read_text(encoding="utf-8") for path in docs.glob("*.md")]
    pages.append(page("relu", ["relu"], Facts({"relu": Comparison()}, {"relu": "Relu"}, {})))
    titles = [title for text in pages for title in re.findall(r"^#+ (.+)", text, re.MULTILINE)]
    ids = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    style = (docs / "_static" / "site.css").read_text(encoding="utf-8")
    assert set(re.findall(r"section#([\w-]+)", style)) <= ids
    for start in re.findall(r'section\[id\^="([\w-]+)"\]', style):
        assert any(each.startswith(start) for each in ids), start


def test_a_page_without_a_recorded_call_says_why() -> None:
    text = page("_shuffle", ["_shuffle"], Facts({}, {"_shuffle": "TopK"}, {}))
    assert "No single call is recorded: its numbers are random" in text
    assert "(`tests/ops/test_sampling.py`)." in text


def test_a_comparison_sees_a_difference() -> None:
    comparison = Comparison()
    comparison.add("outputs", np.float32([1, 2]), np.float32([1, 2.2]))
    comparison.add("gradients", np.int32([1, 2]), np.int32([1, 3]))
    assert comparison.outputs == pytest.approx(0.2 / 2.2) and comparison.gradients == 1.0


def test_the_indexes_name_every_name() -> None:
    by_name = names_page(OPERATORS)
    assert all(f"| `{name}` |" in by_name for names in OPERATORS.values() for name in names)
    overview = index(OPERATORS, topics(HERE))
    assert "591 of MXNet 1.9.1's 593 names" in overview
    assert all(f"| `{name}` | " in overview for name in LEFT_OUT)
