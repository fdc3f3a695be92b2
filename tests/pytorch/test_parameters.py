"""Weights that were trained in PyTorch, as MXNet's parameters."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import rebind as mx
from rebind.pytorch import to_params, write_python

RATE, STEPS = 0.1, 3


def convolutional() -> Any:
    """Convolution, BatchNorm with and without a fixed gamma, an embedding beside them."""
    data, words = mx.sym.var("data"), mx.sym.var("words")
    x = mx.sym.Convolution(data, num_filter=4, kernel=(3, 3), name="conv")
    x = mx.sym.relu(mx.sym.BatchNorm(x, fix_gamma=False, name="bn"))
    x = mx.sym.BatchNorm(mx.sym.Pooling(x, pool_type="avg", global_pool=True, kernel=(1, 1)), name="fixed")
    y = mx.sym.Embedding(words, input_dim=7, output_dim=4, name="words_of")
    return mx.sym.FullyConnected(mx.sym.concat(mx.sym.flatten(x), y, dim=1), num_hidden=3, name="fc")


def recurrent(mode: str = "lstm", bidirectional: bool = True) -> Any:
    """Two recurrent layers, and their last step."""
    data = mx.sym.transpose(mx.sym.var("data"), axes=(1, 0, 2))
    weights = mx.sym.var("rnn_parameters", init=mx.init.Uniform(0.5))
    # Constants, as PyTorch's layers have them where no state is given.
    states = [mx.sym.zeros((4 if bidirectional else 2, 0, 4)) for _ in range(2 if mode == "lstm" else 1)]
    x = mx.sym.RNN(
        data, weights, *states, state_size=4, num_layers=2, mode=mode, bidirectional=bidirectional, name="rnn"
    )
    return mx.sym.FullyConnected(mx.sym.SequenceLast(x), num_hidden=3, name="fc")


NETWORKS: dict[str, tuple[Any, dict[str, tuple[int, ...]]]] = {
    "convolutional": (convolutional(), {"data": (6, 2, 5, 5), "words": (6,)}),
    **{mode: (recurrent(mode), {"data": (6, 5, 3)}) for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    "one direction": (recurrent(bidirectional=False), {"data": (6, 5, 3)}),
}


def batch(shapes: dict[str, tuple[int, ...]]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.RandomState(0)
    inputs = {
        name: rng.randint(0, 7, shape) if name == "words" else rng.randn(*shape)
        for name, shape in shapes.items()
    }
    return {name: value.astype(np.float32) for name, value in inputs.items()}, rng.randint(0, 3, 6)


def train_in_mxnet(symbol: Any, inputs: dict[str, np.ndarray], labels: np.ndarray) -> tuple[Any, Any, Any]:
    """Return the module, and its parameters from before the steps."""
    net = mx.sym.SoftmaxOutput(symbol, name="softmax", normalization="batch")
    iterator = mx.io.NDArrayIter(inputs, labels.astype(np.float32), 6, label_name="softmax_label")
    module = mx.mod.Module(net, list(inputs))
    module.bind(iterator.provide_data, iterator.provide_label)
    module.init_params(mx.init.Uniform(0.5))
    before = module.get_params()
    module.init_optimizer("local", "sgd", {"learning_rate": RATE, "rescale_grad": 1.0})
    (data,) = list(iterator)
    for _ in range(STEPS):
        module.forward_backward(data)
        module.update()
    return module, before, net


def train_in_torch(module: torch.nn.Module, inputs: dict[str, np.ndarray], labels: np.ndarray) -> None:
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        scores = module(**{name: torch.from_numpy(value) for name, value in inputs.items()})
        F.cross_entropy(scores, torch.from_numpy(labels)).backward()
        optimizer.step()


@pytest.mark.parametrize("name", NETWORKS)
def test_trained_in_torch_and_back(name: str, tmp_path: Path) -> None:
    symbol, shapes = NETWORKS[name]
    inputs, labels = batch(shapes)
    trained, before, _ = train_in_mxnet(symbol, inputs, labels)
    module = mx.to_torch(symbol, *before, shapes=shapes)
    train_in_torch(module, inputs, labels)
    arg_params, aux_params = to_params(module)
    expected = trained.get_params()
    for found, wanted in zip((arg_params, aux_params), expected, strict=True):
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            if key != "fixed_gamma":  # its number is not used
                np.testing.assert_allclose(found[key].asnumpy(), value.asnumpy(), 1e-5, 2e-6, err_msg=key)
    # On to a checkpoint, as a module saves it.
    trained.set_params(arg_params, aux_params)
    trained.save_checkpoint(f"{tmp_path}/net", 1)
    loaded = mx.mod.Module.load(f"{tmp_path}/net", 1, data_names=list(inputs))
    output = loaded.predict(mx.io.NDArrayIter(inputs, batch_size=6)).asnumpy()
    with torch.no_grad():
        scores = module.eval()(**{name: torch.from_numpy(value) for name, value in inputs.items()})
    np.testing.assert_allclose(output, scores.softmax(1).numpy(), 1e-5, 1e-6)


def test_names_of_a_written_file(tmp_path: Path) -> None:
    symbol, shapes = NETWORKS["convolutional"]
    _, before, _ = train_in_mxnet(symbol, *batch(shapes))
    write_python(symbol, {**before[0], **before[1]}, tmp_path / "net.py", shapes=shapes)
    spec = importlib.util.spec_from_file_location("net", tmp_path / "net.py")
    assert spec is not None and spec.loader is not None
    written = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(written)
    module = written.Network()
    for value in module.parameters():
        value.data.fill_(0.5)
    arg_params, aux_params = to_params(module, tmp_path / "net.safetensors")
    assert arg_params.keys() == before[0].keys() and aux_params.keys() == before[1].keys()
    assert all((value.asnumpy() == 0.5).all() for value in arg_params.values())
    assert [value.shape for value in arg_params.values()] == [before[0][key].shape for key in arg_params]


def test_the_parameters_are_copies() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    module = mx.to_torch(net, {"fc_weight": mx.nd.ones((2, 3))})
    arg_params, _ = to_params(module)
    module.fc.weight.data.zero_()
    assert (arg_params["fc_weight"].asnumpy() == 1).all()


def test_mistakes_meet_a_sentence() -> None:
    with pytest.raises(mx.MXNetError, match=r"must have the MXNet names .* use mx.from_torch\(\)"):
        to_params(torch.nn.Linear(2, 3))
    with pytest.raises(mx.MXNetError, match=r"the module must have 'fc\.weight'; got Linear"):
        to_params(torch.nn.Linear(2, 3), {"fc.weight": "fc_weight"})


def test_parameters_of_a_file_and_of_numpy_are_taken() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    values = {"fc_weight": np.ones((2, 3), "float32"), "fc_bias": np.ones(2, "float32")}
    for params in (values, {f"arg:{name}": mx.nd.array(value) for name, value in values.items()}):
        assert mx.to_torch(net, params)(torch.ones(1, 3)).tolist() == [[4.0, 4.0]]  # type: ignore[arg-type]


def test_a_parameter_that_is_missing_is_an_input_with_a_warning() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    with pytest.warns(
        UserWarning, match=r"parameters are missing for 'fc_bias', the bias of FullyConnected 'fc'"
    ):
        module = mx.to_torch(net, {"fc_weight": mx.nd.ones((2, 3))})
    assert module(torch.ones(1, 3), torch.ones(2)).tolist() == [[4.0, 4.0]]
