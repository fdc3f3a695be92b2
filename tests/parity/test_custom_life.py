"""The life of a custom operator is that of MXNet: what is called when it is composed, inferred, bound and run."""

from __future__ import annotations

from typing import Any

import pytest

import rebind as mx
from rebind.ops.custom import CUSTOM_OPERATORS

from .custom_life import LIVES, Calls, Stages
from .golden import DATA, read_manifest

MANIFEST: dict[str, Stages] = read_manifest(DATA / "custom_life.json")["lives"]
STAGES = [(life, stage) for life, stages in MANIFEST.items() for stage in stages]

#: Called as often as in MXNet, with the same arguments: what they do counts.
EXACT = ("__init__", "create_operator", "forward", "backward")
#: Called at least once where MXNet calls them, with the same arguments; they only answer.
ASKED = (
    "infer_shape", "infer_type", "infer_storage_type", "infer_storage_type_backward", "declare_backward_dependency",
)  # fmt: skip
#: Asked once, with the constructor; MXNet asks again and again.
LISTS = ("list_arguments", "list_outputs", "list_auxiliary_states")
#: Here a network is known from before: only what is known in full is asked.
KNOWN_BEFORE = (("in modules", "forward of 4, 3"), ("in modules", "forward of bucket 2, 1"))
#: The storage types of a loop's body are asked when it runs.
NOT_ASKED = {("in a loop", "simple_bind"): ("infer_storage_type", "infer_storage_type_backward")}


@pytest.fixture(scope="module")
def lives() -> Any:
    before = dict(CUSTOM_OPERATORS)
    yield {name: life(mx) for name, life in LIVES.items()}
    CUSTOM_OPERATORS.clear()
    CUSTOM_OPERATORS.update(before)


def calls_of(calls: Calls, method: str, life: str) -> list[str]:
    found = [args for name, args in calls if name == method]
    if life == "in a loop" and method in ("forward", "backward"):
        return [""] * len(found)  # MXNet says there that it does not train, and adds to gradients itself
    return found


def recorded(calls: Calls, method: str, life: str) -> list[str]:
    """Return MXNet's calls, without what is known here and not there."""
    found = calls_of(calls, method, life)
    if method == "infer_storage_type_backward":  # of gradients that are yet to be made
        return [args.replace("undefined", "default") for args in found]
    # An output that nobody uses is written here, too.
    return [args.replace("'null'", "'write'") for args in found] if method == "forward" else found


@pytest.mark.parametrize(("life", "stage"), STAGES)
@pytest.mark.parametrize("method", EXACT)
def test_what_counts_is_called_as_often(life: str, stage: str, method: str, lives: dict[str, Stages]) -> None:
    assert calls_of(lives[life][stage], method, life) == recorded(MANIFEST[life][stage], method, life)


@pytest.mark.parametrize(("life", "stage"), STAGES)
def test_what_answers_is_asked(life: str, stage: str, lives: dict[str, Stages]) -> None:
    for method in ASKED:
        wanted = set(recorded(MANIFEST[life][stage], method, life))
        if (life, stage) in KNOWN_BEFORE:
            wanted = {args for args in wanted if not args.endswith((", []]", ", None]"))}
        if method in NOT_ASKED.get((life, stage), ()):
            assert not calls_of(lives[life][stage], method, life)
            continue
        assert wanted <= set(calls_of(lives[life][stage], method, life)), method
    assert "__init__" not in dict(lives[life][stage]) or set(LISTS) <= set(dict(lives[life][stage]))


@pytest.mark.parametrize(("life", "stage"), STAGES)
def test_the_order_is_that_of_mxnet(life: str, stage: str, lives: dict[str, Stages]) -> None:
    """By the last call of each method before the operator is created."""

    def order(calls: Calls) -> list[str]:
        names = [name for name, _ in calls]
        end = names.index("create_operator") + 1 if "create_operator" in names else len(names)
        known = [name for name in names[:end] if name in ASKED or name == "create_operator"]
        return sorted(set(known), key=lambda name: -known[::-1].index(name))

    left_out = NOT_ASKED.get((life, stage), ())
    wanted = [name for name in order(MANIFEST[life][stage]) if name not in left_out]
    assert [name for name in order(lives[life][stage]) if name in wanted] == wanted


def test_all_stages_are_recorded(lives: dict[str, Stages]) -> None:
    assert [(life, stage) for life, stages in lives.items() for stage in stages] == STAGES
