"""Lines that assign elements by indices: what they compute, and what is no such line."""

from __future__ import annotations

import numpy as np
import pytest
from tools.operator_formulas import evaluate, is_code

A = np.arange(6.0).reshape(2, 3)
B = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "line, expected",
    [
        ("out[i, j] = sum(a[i, k] * b[k, j])", A @ B),
        ("out[j, i] = a[i, j]", A.T),
        ("out[i] = max(a[i, j])", A.max(1)),
        ("out[i] = mean(a[i, j] for j in range(1, 3))", A[:, 1:].mean(1)),
        ("out[i] = sum(a[i, j] for j in range(3) if j != i)", A.sum(1) - A.diagonal()),
        ("out[i] = argmax(-a[i, j] for j in range(3))", [0, 0]),
        ("out[i, j] = a[i, j] if i <= j < 2 else -1", np.where([[1, 1, 0], [0, 1, 0]], A, -1)),
        ("out[..., i] = sum(b[..., j] * a[i, j % 3])", B @ A[:, [0, 1, 2, 0]].T),
        ("out[j, ...] = sum(a[i, j]) * b[j, ...]", A.sum(0)[:, None] * B),
    ],
)
def test_what_a_line_computes(line: str, expected: np.ndarray) -> None:
    values = {"a": A, "b": B}
    assert is_code([line], set(values))
    np.testing.assert_array_equal(evaluate([line], values)["out"], expected)


def test_outside_of_an_array_is_nothing() -> None:
    values = {"x": np.array([1.0, 2.0, -3.0])}
    lines = {
        "out[i] = x[i] + sum(x[i + k] for k in range(1, 3))": [0, -1, -3],
        "out[i] = mean(x[i + k] for k in range(2))": [1.5, -0.5, -3],
        "out[i] = max(x[i + k] for k in range(1, 3))": [2, -3, -np.inf],
    }
    for line, expected in lines.items():
        np.testing.assert_array_equal(evaluate([line], values, {"out": (3,)})["out"], expected)


def test_what_is_added_goes_to_the_places_on_the_left() -> None:
    values = {"x": np.array([1.0, 2.0, 3.0]), "at": np.array([2.0, 0.0, 2.0])}
    found = evaluate(["out[at[i]] += x[i]", "out[i] += 1"], values, {"out": (4,)})["out"]
    np.testing.assert_array_equal(found, [3, 1, 5, 1])
    # What lies outside is dropped.
    found = evaluate(["out[at[i] + 1] += x[i]"], values, {"out": (3,)})["out"]
    np.testing.assert_array_equal(found, [0, 2, 0])


def test_an_array_with_another_number_of_axes_is_refused() -> None:
    with pytest.raises(IndexError, match=r"a\[i\]: the array has 2 axes"):
        evaluate(["out[i] = a[i]"], {"a": A})


@pytest.mark.parametrize(
    "line", ["out = unknown", "out[i] = a[i] + unknown", "print(a)", "out is the sum of a"]
)
def test_what_is_no_code(line: str) -> None:
    assert not is_code([line], {"a"})


def test_lines_may_have_conditions_and_loops() -> None:
    lines = ["out = 0", "for x, y in a:", "    if x > 1:", "        out = out + x * y"]
    assert is_code(lines, {"a"})
    assert evaluate(lines, {"a": [(1, 2), (3, 4), (5, 6)]})["out"] == 42
