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
