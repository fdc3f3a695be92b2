"""Help texts of update operators, composed from that of their rule and of what all rules share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Protocol

__all__ = ["describe"]

#: Of arrays and parameters that a rule's own text does not describe.
MEANINGS = {
    "weight": "The weight, of a floating type.",
    "grad": "Its gradient, of its shape and type.",
    "mean": "Running mean of the gradient; written in place.",
    "var": "Running mean of the squared gradient; written in place.",
    "weight32": "The copy of the weight, of float32; written in place.",
    "lr": "Learning rate.",
    "wd": "Weight decay.",
    "lrs": "Learning rates, one for each weight.",
    "learning_rates": "Learning rates, one for each weight.",
    "wds": "Weight decays, one for each weight.",
    "etas": "Multipliers of the steps, one for each weight.",
    "momentum": "The fraction of the last step that is added to the next.",
    "beta1": "The fraction of the running mean of gradients that remains at an update.",
    "beta2": "The fraction of the running mean of squared gradients that remains at an update.",
    "gamma1": "The fraction of the running means that remains at an update.",
    "epsilon": "Added to the denominator.",
    "t": "The number of this update, from 1.",
    "step_count": "The number of this update of each weight, from 1.",
    "rescale_grad": "The gradient is multiplied by it first.",
    "clip_gradient": "Each element of the rescaled gradient is cut to this size; a negative number cuts nothing.",
    "clip_weights": "Each element of the new weight is cut to this size; a negative number cuts nothing.",
    "lazy_update": "For sparse gradients: whether only their rows are updated. Dense ones are always updated whole.",
    "num_weights": "How many weights there are.",
    "num_tensors": "How many weights there are.",
}

_SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)


class Described(Protocol):
    """What `describe` asks of a form of a rule; `base_name` is the operator that it is a variant of, if it is one."""

    arrays: tuple[str, ...]
    trailing: tuple[str, ...]
    several: bool
    masters: bool
    preloaded: bool
    parameters: list[inspect.Parameter]

    base_name: str | None


def describe(form: Described, rule: Callable[..., object]) -> str:
    """Return the help text of one operator of a rule."""
    # `split` with a group gives the text before, then title and body by turns.
    summary, *rest = _SECTION.split(inspect.cleandoc(rule.__doc__ or ""))
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    # A rule's own words go before the common ones.
    meanings = MEANINGS | _meanings(sections.pop("Parameters", ""))
    names = [*form.arrays, *form.trailing]
    lines = []
    # One entry for all arrays: how many they are is known at the call only.
    if form.several:
        lines += ["data", f"    {_order_of_arrays(form)}"]
        names = []
    for name in (*names, *(parameter.name for parameter in form.parameters)):
        lines += [name, *(f"    {line}" for line in meanings[name].splitlines())]
    return f"{_difference(form)}{summary.strip()}\n\nParameters\n----------\n" + "\n".join(lines) + "\n"


def _difference(form: Described) -> str:
    """Return a paragraph that says what a form does otherwise than the rule."""
    if form.base_name is None:
        return ""
    ways = [" of several weights at once"] if form.several else []
    if form.masters:
        ways.append(
            " through copies in float32" if form.several else " through a copy in float32, `weight32`"
        )
    if form.preloaded:
        ways.append(" with learning rates and weight decays in arrays")
    return f"`{form.base_name}`{','.join(ways)}.\n\n"


def _order_of_arrays(form: Described) -> str:
    more = f"; at the end {', '.join(form.trailing)}, of float32" if form.trailing else ""
    return f"The arrays of the first weight, then those of the second, and so on: {', '.join(form.arrays)}{more}."


def _meanings(body: str) -> dict[str, str]:
    """Return what a section *Parameters* says of each name; ``a, b`` describes both."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in body.splitlines():
        if line and not line[0].isspace():
            names = [name.strip() for name in line.split(",")]
        elif line.strip():
            for name in names:
                found.setdefault(name, []).append(line.strip())
    return {name: "\n".join(lines) for name, lines in found.items()}
