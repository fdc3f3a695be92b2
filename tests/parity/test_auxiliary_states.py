"""A step updates the auxiliary states of the operators whose backward runs, as MXNet's does; it leaves the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rebind as mx

from .auxiliary_states import CALLED, MODULES, NETWORKS, States, called, cases, module_states, run
from .golden import DATA, read_manifest

MANIFEST: dict[str, Any] = read_manifest(DATA / "auxiliary_states.json")
EXECUTORS = {name: case for name, *case in cases() if name in MANIFEST["executors"]}


def nothing() -> None: ...


def agree(found: States, wanted: States) -> None:
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("network", NETWORKS)
def test_executors(network: str) -> None:
    recorded = {name: case for name, case in EXECUTORS.items() if case[0] == network}
    assert recorded
    for name, (_, *case) in recorded.items():
        agree(run(mx, NETWORKS[network](mx), *case, nothing), MANIFEST["executors"][name])


@pytest.mark.parametrize("wanted", ["fc_weight", "conv1_weight", "conv_weight"])
@pytest.mark.parametrize("backend", ["aot_eager"])
def test_compiled_executors(own_backends: None, backend: str, wanted: str) -> None:
    name = f"two {wanted} write step"
    _, *case = EXECUTORS[name]
    agree(run(mx, NETWORKS["two"](mx), *case, nothing, backend=backend), MANIFEST["executors"][name])


@pytest.mark.parametrize(("devices", "trained"), MODULES, ids=str)
@pytest.mark.filterwarnings("ignore:.*kvstore")
def test_modules_with_fixed_parameters(devices: int, trained: tuple[str, ...]) -> None:
    agree(module_states(mx, devices, trained, nothing), MANIFEST["modules"][f"{devices} {'+'.join(trained)}"])


@pytest.mark.parametrize("case", CALLED, ids=str)
def test_calls(case: tuple[str, tuple[str, ...], bool, bool]) -> None:
    agree(called(mx, *case, nothing), MANIFEST["called"][repr(case)])


@pytest.mark.parametrize(
    ("trained", "gamma"), [("", 2), ("fc_weight", 2), ("bn_gamma", 1), ("bn_beta", 1), ("data", 1)], ids=str
)
def test_a_frozen_gamma_that_counts_as_1_stays_what_it_was(trained: str, gamma: int) -> None:
    """MXNet 1.9.1 writes 1 into it, in a training forward, where backward reaches the layer."""
    net = mx.sym.FullyConnected(mx.sym.BatchNorm(mx.sym.var("data"), name="bn"), num_hidden=2, name="fc")
    requests = {name: "write" if name == trained else "null" for name in net.list_arguments()}
    exe = net.simple_bind(mx.cpu(), data=(4, 2, 3, 3), grad_req=requests)
    exe.arg_dict["bn_gamma"][:] = 2
    exe.forward(is_train=True)
    assert exe.arg_dict["bn_gamma"].asnumpy().tolist() == [gamma] * 2
