"""What completion shows of objects: MXNet's names, and those of rebind's that programs call."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.parity.test_names import CLASSES

import rebind as mx


def network() -> mx.sym.Symbol:
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")


#: What is shown, by MXNet's class; and what rebind adds to it. Another name of rebind's is for programs, or hidden
#: (`rebind.completion.hides`).
SHOWN = {
    "module.module.Module": (
        lambda: mx.mod.Module(network()),
        "clear_gradients describe gradients_by_device loss_scaler optimizers parameter_names pull_weights "
        "trained_gradients trained_params "
        # MXNet sets them in objects, so that its class does not have them:
        "binded for_training inputs_need_grad logger optimizer_initialized params_initialized",
    ),
    "ndarray.ndarray.NDArray": (
        lambda: mx.nd.ones((2,)),
        "as_in_ctx device item std tensor to_device to_torch tolist var wait_to_write",
    ),
    "symbol.symbol.Symbol": (
        network,
        "backend get_optimized_symbol graph num_outputs recompute with_backend with_recompute",
    ),
    "executor.Executor": (
        lambda: network().simple_bind(mx.cpu(), data=(2, 3)),
        "describe is_compiled memory_summary release set_observer arg_arrays aux_arrays grad_arrays outputs",
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_objects_show_what_programs_call(name: str) -> None:
    make, ours = SHOWN[name]
    shown: Any = {each for each in dir(make()) if not each.startswith("_")}
    assert shown - {*CLASSES[name].split()} == {*ours.split()}


def test_classes_of_programs_show_their_own_names() -> None:
    class Mine(mx.mod.Module):
        def train_well(self) -> None: ...

    assert {"train_well", "fit"} <= {*dir(Mine(network()))}


def bound(statements: list[ast.stmt]) -> Iterator[str]:
    """The names that a module's text binds, whether it is run or only read by a type checker."""
    for node in statements:
        if isinstance(node, ast.If):
            yield from bound([*node.body, *node.orelse])
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (each.asname or each.name.split(".")[0] for each in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


PACKAGES = {
    name: module
    for name in ("", *sorted(mx.__all__))
    if isinstance(module := getattr(mx, name, mx), ModuleType) and hasattr(module, "__path__")
}


@pytest.mark.parametrize("name", PACKAGES)
def test_editors_see_what_a_package_shows(name: str) -> None:
    """They read the text of a package, not `dir`: what it imports for itself has private names there."""
    package = PACKAGES[name]
    assert package.__file__
    path = Path(package.__file__)
    inside = {each.stem for each in path.parent.iterdir()}  # editors list the files of a package in any case
    names = {each for each in bound(ast.parse(path.read_text()).body) if not each.startswith("_")}
    assert names - {"*"} - inside <= {*dir(package)}
