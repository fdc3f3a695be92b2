"""`Parameters`, alone: the arrays of the devices are plain lists here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

import rebind as mx
from rebind import nd
from rebind.errors import ArgumentError, ParameterError, ShapeError, StateError
from rebind.module.parameters import Parameters
from rebind.module.settings import InitialValues


class Lists:
    """The arrays of two devices: parameters `w` and `b`, an auxiliary state `m`."""

    def __init__(self, devices: int = 2, training: bool = True) -> None:
        def arrays(*shape: int) -> list[Any]:
            return [nd.zeros(shape) for _ in range(devices)]

        self.param_arrays, self.aux_arrays = [arrays(2, 3), arrays(2)], [arrays(2)]
        self.grad_arrays = [arrays(2, 3), [None] * devices] if training else None

    def _named(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return dict(zip("wb", self.param_arrays, strict=True)), {"m": self.aux_arrays[0]}

    def set_params(
        self, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any] | None, allow_extra: bool = False
    ) -> None:
        for have, given in zip(self._named(), (arg_params, aux_params or {}), strict=True):
            for name, value in given.items():
                for array in have[name]:
                    value.copyto(array)

    def get_params(self, arg_params: dict[str, Any], aux_params: dict[str, Any]) -> None:
        for have, target in zip(self._named(), (arg_params, aux_params), strict=True):
            target.update({name: (arrays[0] + arrays[-1]) / 2 for name, arrays in have.items()})

    def unify_auxiliary(self) -> None:
        mean = (self.aux_arrays[0][0] + self.aux_arrays[0][-1]) / 2
        for array in self.aux_arrays[0]:
            mean.copyto(array)


def parameters(fixed: tuple[str, ...] = ()) -> Parameters:
    return Parameters(["w", "b"], ["m"], [mx.cpu(0), mx.cpu(1)], fixed)


def given(value: float = 1.0) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"w": nd.ones((2, 3)) * value, "b": nd.ones((2,)) * value}, {"m": nd.ones((2,)) * value}


def bound(lists: Lists | None = None, fixed: tuple[str, ...] = ()) -> tuple[Parameters, Lists]:
    lists = lists or Lists()
    made = parameters(fixed)
    made.hold(*given())
    made.attach(lists)
    return made, lists


def two(name: str, array: Any) -> None:
    """Give an array its first value, as initializers do."""
    array[:] = 2


def refused(**values: Any) -> InitialValues:
    return InitialValues(arg_params=values)


def numbers(params: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value.asnumpy().ravel()[0]) for name, value in params.items()}


def test_values_wait_for_the_devices_and_come_back_from_them() -> None:
    made, lists = bound()
    assert made.initialized and lists.param_arrays[0][1].asnumpy().all()
    lists.param_arrays[1][0][:] = 3  # one device of two
    assert numbers(made.copies()[0]) == {"w": 1, "b": 2}
    made.detach()
    lists.param_arrays[0][0][:] = 9
    assert numbers(made.copies()[0]) == {"w": 1, "b": 2}
    other = Lists()
    made.attach(other)
    assert (other.param_arrays[1][1].asnumpy() == 2).all()


@pytest.mark.parametrize(
    "put",
    [
        lambda made, values: made.assign(values, None, allow_extra=False),
        lambda made, values: made.initialize(InitialValues(arg_params=values, allow_missing=True), {}),
    ],
    ids=["assign", "initialize"],
)
def test_what_goes_out_and_in_is_a_copy(put: Any) -> None:
    made, lists = bound()
    made.copies()[0]["w"][:] = 7
    values, _ = given(5)
    put(made, values)
    values["w"][:] = 8
    assert numbers(made.copies()[0]) == {"w": 5, "b": 5} and (lists.aux_arrays[0][0].asnumpy() == 1).all()


def test_shared_arrays_have_the_owners_values() -> None:
    owner, lists = bound()
    other = parameters()
    other.hold(*given(4))
    other.attach(lists, shared=owner)
    assert other.initialized and numbers(other.copies()[0]) == {"w": 1, "b": 1}


@pytest.mark.parametrize(
    ("fixed", "trained", "frozen", "first"),
    [
        ((), ["w", "b"], set(), ["w", "b"]),
        (("b",), ["w"], set(), ["w"]),
        (("b", "m"), ["w"], {"m"}, ["w"]),
    ],
)
def test_what_is_fixed(fixed: Any, trained: Any, frozen: Any, first: Any) -> None:
    made, lists = bound(fixed=fixed)
    assert made.trained_names == trained and made.frozen_statistics == frozen
    assert list(made.on_first_device()) == first and made.on_first_device()["w"] is lists.param_arrays[0][0]


def test_only_what_has_gradients_is_trained() -> None:
    made, lists = bound()
    (found,) = made.trained()
    assert found.name == "w" and found.weights is lists.param_arrays[0]
    assert list(found.gradients) == lists.grad_arrays[0]


def test_names_that_another_owner_lacks() -> None:
    assert Parameters(["w", "x"], ["n"], []).missing_from(parameters()) == ["x", "n"]


@pytest.mark.parametrize(
    ("values", "weight", "error"),
    [
        (InitialValues(initializer=two), 2, None),
        (InitialValues(arg_params=given(3)[0], aux_params=given(3)[1]), 3, None),
        (InitialValues(initializer=two, arg_params={"w": given(3)[0]["w"]}, allow_missing=True), 3, None),
        (refused(w=nd.ones((2, 3))), 1, (ParameterError, "'b' is not among the given parameters")),
        (refused(w=nd.ones((4,))), 1, (ShapeError, "'w' must have shape (2, 3); got (4,)")),
        (refused(w=3), 1, (ArgumentError, "'w' must be an NDArray; got int")),
    ],
)
def test_first_values(values: Any, weight: float, error: Any) -> None:
    made, _ = bound()
    if error is None:
        made.initialize(values, {})
    else:
        with pytest.raises(error[0], match=re.escape(error[1])):
            made.initialize(values, {})
    assert numbers(made.copies()[0])["w"] == weight  # on an error all stays


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_a_state_continues_on_any_number_of_devices(devices: int) -> None:
    made, lists = bound()
    lists.aux_arrays[0][1][:] = 3
    lists.grad_arrays[0][0][:], lists.grad_arrays[0][1][:] = 1, 2
    other = Lists(devices)
    again = Parameters(["w", "b"], ["m"], [mx.cpu(k) for k in range(devices)])
    again.attach(other)
    again.load_state_dict(made.state_dict())
    again.load_gradient_state(made.gradient_state())
    found = [array.asnumpy()[0] for array in other.aux_arrays[0]]
    assert again.initialized and found == ([1, 3] if devices == 2 else [2] * devices)
    assert sum(grad.asnumpy()[0, 0] for grad in other.grad_arrays[0]) == 3


def test_devices_agree_on_their_auxiliary_states() -> None:
    made, lists = bound()
    lists.aux_arrays[0][1][:] = 3
    made.unify_devices()
    assert [array.asnumpy().tolist() for array in lists.aux_arrays[0]] == [[2, 2], [2, 2]]


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda made: made.assign({}, {}, allow_extra=True), "need bind() first"),
        (lambda made: made.trained(), "need bind() first"),
        (lambda made: setattr(made, "initialized", True), "there must be parameters"),
        (lambda made: (made.attach(Lists(training=False)), made.trained()), "needs bind(for_training=True)"),
    ],
)
def test_calls_in_the_wrong_order(use: Any, says: str) -> None:
    with pytest.raises(StateError, match=re.escape(says)):
        use(parameters())
