"""`sym.torch_module`: values, gradients and statistics are those of the module itself."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import rebind as mx
from rebind.errors import ArgumentError, FormatError, MXNetError, ParameterError


def arrays(exe, values):
    for name, value in values.items():
        exe[name][:] = mx.nd.NDArray(value.detach().reshape(exe[name].shape))


def bind(net, module, **shapes):
    """Bind a symbol with the module's values."""
    exe = net.simple_bind(mx.cpu(), **shapes)
    own = {f"net_{path.replace('.', '_')}": value for path, value in module.state_dict().items()}
    arrays(exe.arg_dict, {name: value for name, value in own.items() if name in exe.arg_dict})
    arrays(exe.aux_dict, {name: value for name, value in own.items() if name in exe.aux_dict})
    return exe


class Several(nn.Module):
    """Two inputs of other names, two outputs, and one parameter in two layers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, left, right):
        hidden = self.second(torch.tanh(self.first(left)))
        return hidden * self.scale, hidden + right


MODULES = {
    "linear": (lambda: nn.Linear(3, 2), 1, 1),
    "batch-norm": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)),
        1,
        1,
    ),
    "lstm-cell": (lambda: nn.LSTMCell(3, 4), 1, 2),
    "several": (Several, 2, 2),
    "no-parameters": (nn.Softplus, 1, 1),
}


@pytest.mark.parametrize("case", MODULES)
def test_it_computes_what_the_module_computes(case):
    make, num_inputs, num_outputs = MODULES[case]
    torch.manual_seed(0)
    module = make()
    inputs = [mx.sym.var(f"x{i}") for i in range(num_inputs)]
    net = mx.sym.torch_module(module, *inputs, name="net", num_outputs=num_outputs)
    before = copy.deepcopy(module.state_dict())
    exe = bind(net, module, **{f"x{i}": (5, 3) for i in range(num_inputs)})
    values = [torch.randn(5, 3, requires_grad=True) for _ in inputs]
    arrays(exe.arg_dict, {f"x{i}": value for i, value in enumerate(values)})

    outputs = exe.forward(is_train=True)
    heads = [torch.randn(tuple(output.shape)) for output in outputs]
    exe.backward([mx.nd.NDArray(head) for head in heads])
    assert all(torch.equal(value, before[path]) for path, value in module.state_dict().items())  # not changed

    expected = module(*values)
    expected = expected if isinstance(expected, tuple) else (expected,)
    torch.autograd.backward(expected, heads)
    for output, value in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output.asnumpy(), value.detach().numpy(), rtol=1e-5, atol=1e-6)
    named = {f"net_{path.replace('.', '_')}": value for path, value in module.named_parameters()}
    named |= {f"x{i}": value for i, value in enumerate(values)}
    assert set(named) == set(net.list_arguments())
    for name, value in named.items():
        np.testing.assert_allclose(
            exe.grad_dict[name].asnumpy().ravel(),
            value.grad.numpy().ravel(),
            rtol=1e-4,
            atol=1e-5,
            err_msg=name,
        )
    for path, value in module.named_buffers():
        found = exe.aux_dict[f"net_{path.replace('.', '_')}"].asnumpy()
        np.testing.assert_allclose(found.ravel(), value.numpy().ravel(), rtol=1e-5, err_msg=path)

    module.eval()
    expected = module(*values)
    for output, value in zip(
        exe.forward(is_train=False), expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        np.testing.assert_allclose(output.asnumpy(), value.detach().numpy(), rtol=1e-5, atol=1e-6)


def make_net(layers=None):
    layers = layers or nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU())
    hidden = mx.sym.torch_module(layers, mx.sym.var("data"), name="net")
    return layers, mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(hidden, num_hidden=2, name="fc"), name="softmax"
    )


def data():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(60, 3))
    return mx.io.NDArrayIter(x, x.sum(axis=1) > 0, 20)


@pytest.mark.parametrize("context", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]], ids=["one", "two"])
def test_it_trains_with_the_rest_and_is_saved(tmp_path, context):
    layers, net = make_net()
    first = layers[0].weight.detach().clone()
    module = mx.mod.Module(net, context=context)
    started = []

    class Start(mx.callback.Callback):
        def on_train_begin(self, module):
            started.append(module.get_params()[0]["net_0_weight"].asnumpy())

    history = module.fit(
        data(), num_epoch=8, optimizer="adam", optimizer_params={"learning_rate": 0.02}, callbacks=[Start()]
    )
    np.testing.assert_array_equal(started[0], first.numpy())
    assert history["train"]["accuracy"][-1] > 0.85
    assert not np.array_equal(module.get_params()[0]["net_0_weight"].asnumpy(), first.numpy())
    assert torch.equal(layers[0].weight, first)  # the module itself is not changed

    module.save_checkpoint(tmp_path / "n", 8)
    with pytest.raises(FormatError, match=r"'net'.*a file cannot hold the PyTorch module.*load_params"):
        mx.sym.load(str(tmp_path / "n-symbol.json"))
    again = mx.mod.Module(make_net()[1])
    again.bind(data().provide_data, data().provide_label, for_training=False)
    again.load_params(str(tmp_path / "n-0008.params"))
    assert again.score(data(), "acc") == module.score(data(), "acc")


def test_a_run_with_it_resumes_exactly(tmp_path):
    def run(folder, epochs):
        torch.manual_seed(1)
        module = mx.mod.Module(make_net()[1])
        module.fit(data(), num_epoch=epochs, checkpoint=tmp_path / folder, initializer=mx.init.One())
        return module.get_params()

    run("cut", 2)
    cut, whole = run("cut", 4), run("whole", 4)
    for found, expected in zip(cut, whole, strict=True):
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name].asnumpy(), value.asnumpy(), err_msg=name)


def test_what_needs_no_gradient_is_not_trained():
    layers = nn.Sequential(nn.Linear(3, 8), nn.ReLU())
    layers[0].weight.requires_grad_(False)
    _, net = make_net(layers)
    module = mx.mod.Module(net)
    module.fit(data(), num_epoch=1, optimizer_params={"learning_rate": 0.1, "wd": 0.1})
    found = module.get_params()[0]
    np.testing.assert_array_equal(found["net_0_weight"].asnumpy(), layers[0].weight.numpy())
    assert not np.array_equal(found["net_0_bias"].asnumpy(), layers[0].bias.detach().numpy())


def test_half_known_shapes_pass():
    _, net = make_net()
    assert net.infer_shape_partial(data=(0, 3))[1] == [(0, 2)]


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda x: mx.sym.torch_module(nn.Linear, x), ArgumentError, "module must be a torch.nn.Module; got"),
        (
            lambda x: mx.sym.torch_module(nn.Linear(3, 2), mx.nd.ones(1)),
            ArgumentError,
            "inputs must be symbols",
        ),
        (lambda x: mx.sym.torch_module(nn.ReLU(), x, num_outputs=0), ParameterError, "must be >= 1; got 0"),
        (
            lambda x: mx.sym.torch_module(nn.LSTMCell(3, 2), x, name="cell").infer_shape(x=(4, 3)),
            MXNetError,
            "torch_module 'cell': the module must return num_outputs=1 tensors; got Tensor, Tensor",
        ),
        (
            lambda x: mx.sym.torch_module(nn.Linear(3, 2), x, name="lin").infer_shape(x=(4, 5)),
            MXNetError,
            "torch_module 'lin'",
        ),
    ],
)
def test_what_cannot_be(make, error, says):
    with pytest.raises(error, match=says):
        make(mx.sym.var("x"))
