"""Parameters of a loaded checkpoint have the types of the file, whatever the network computes in."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx

DATA = [("data", (4, 4))]
LABELS = [("softmax_label", (4,))]
BATCH = mx.io.DataBatch([mx.nd.ones((4, 4))], [mx.nd.array([0, 1, 2, 0])])


def network() -> Any:
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.BatchNorm(hidden, name="bn"), name="softmax")


def values(dtype: str) -> tuple[dict[str, Any], dict[str, Any]]:
    args = {"fc_weight": np.arange(12).reshape(3, 4) / 7, "fc_bias": np.zeros(3)}
    args |= {"bn_gamma": np.ones(3), "bn_beta": np.zeros(3)}
    aux = {"bn_moving_mean": np.zeros(3), "bn_moving_var": np.ones(3)}
    return tuple({k: mx.nd.array(v, dtype=dtype) for k, v in each.items()} for each in (args, aux))  # type: ignore[return-value]


def types(params: tuple[dict[str, Any], dict[str, Any]]) -> set[str]:
    return {np.dtype(value.dtype).name for each in params for value in each.values()}


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    return str(tmp_path / "net")


def loaded(prefix: str, dtype: str, devices: int = 1) -> Any:
    mx.model.save_checkpoint(prefix, 1, network(), *values(dtype))
    module = mx.mod.Module.load(prefix, 1, context=[mx.cpu(i) for i in range(devices)])
    module.bind(DATA, LABELS)
    return module


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_they_follow_the_file_also_when_trained(prefix: str, dtype: str, devices: int) -> None:
    module = loaded(prefix, dtype, devices)
    assert types(module.get_params()) == {dtype}
    assert types((module._exec_group.execs[0].arg_dict, {})) == {"float32"}
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    module.forward_backward(BATCH)
    module.update()
    assert types(module.get_params()) == {dtype}
    before = Path(f"{prefix}-0001.params").stat().st_size
    module.save_checkpoint(prefix, 2)
    assert Path(f"{prefix}-0002.params").stat().st_size == before
    module.save_params(f"{prefix}.params")
    assert types((mx.nd.load(f"{prefix}.params"), {})) == {dtype}


def test_they_follow_the_file_in_fit_set_params_and_new_binds(prefix: str) -> None:
    module = loaded(prefix, "float16")
    seen = []
    module.fit(
        mx.io.NDArrayIter(np.random.RandomState(0).rand(8, 4), np.arange(8) % 3, 4),
        num_epoch=1,
        epoch_end_callback=lambda epoch, symbol, args, aux: seen.append(types((args, aux))),
    )
    assert seen == [{"float16"}]
    # The weights themselves are not rounded, by a new bind neither.
    weight = module._exec_group.execs[0].arg_dict["fc_weight"].asnumpy()
    module.bind(DATA, LABELS, force_rebind=True)
    np.testing.assert_array_equal(module._exec_group.execs[0].arg_dict["fc_weight"].asnumpy(), weight)
    assert (weight != weight.astype("float16")).any()
    module.set_params(*values("float32"))
    assert types(module.get_params()) == {"float16"}
    other = mx.mod.Module(network())
    other.bind(DATA, LABELS, shared_module=module)
    assert types(other.get_params()) == {"float16"}
    assert types(pickle.loads(pickle.dumps(module)).get_params()) == {"float16"}


@pytest.mark.parametrize("how", ["set_params", "init_params", "load_params"])
def test_what_is_given_to_a_bound_module_is_in_its_type(prefix: str, how: str) -> None:
    args, aux = values("float16")
    module = mx.mod.Module(network())
    module.bind(DATA, LABELS)
    if how == "set_params":
        module.set_params(args, aux)
    elif how == "init_params":
        module.init_params(arg_params=args, aux_params=aux)
    else:
        mx.model.save_checkpoint(prefix, 1, network(), args, aux)
        module.load_params(f"{prefix}-0001.params")
    assert types(module.get_params()) == {"float32"}


def test_whole_numbers_do_not_drop_what_is_learned(prefix: str) -> None:
    module = loaded(prefix, "int32")
    assert types(module.get_params()) == {"float32"}
