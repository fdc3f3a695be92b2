"""Whole networks that come from PyTorch: numbers, names, training, files, and on to ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch
import torch.nn.functional as F
from tests.pytorch.reading.networks import Encoder, MobileNetV2, ResNet, Tagger
from tests.pytorch.reading.test_modules import run
from torch import Tensor, nn

import rebind as mx
from rebind.pytorch import from_torch
from rebind.pytorch.reading import read_pt2


class Convolutions(nn.Module):
    """BatchNorm, of which one stays as it is, and a bias that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6, momentum=0.3), nn.ReLU())
        self.frozen = nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 4)
        nn.init.uniform_(self.frozen.running_var, 0.5, 1.5)

    def train(self, mode: bool = True) -> Convolutions:
        super().train(mode)
        self.frozen.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.frozen(self.body(x)).mean((2, 3)))


def words(batch: int) -> Tensor:
    return torch.randint(0, 20, (batch, 7), generator=torch.Generator().manual_seed(batch))


def images(batch: int) -> Tensor:
    return torch.randn(batch, 3, 32, 32, generator=torch.Generator().manual_seed(batch))


NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Tensor]]] = {
    "convolutions": (Convolutions, images),
    "encoder": (Encoder, words),
    "tagger": (Tagger, words),
    "resnet": (lambda: ResNet(8, 4), images),
    "mobilenet": (lambda: MobileNetV2(8, 4), images),
}
each_network = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in ("resnet", "mobilenet") else [])
        for name in NETWORKS
    ],
)


def network(name: str) -> tuple[nn.Module, Callable[[int], Tensor]]:
    make, data = NETWORKS[name]
    torch.manual_seed(0)
    return make(), data


@each_network
def test_numbers_in_files_and_in_onnx(name: str, tmp_path: Path) -> None:
    module, data = network(name)
    symbol, arg_params, aux_params = from_torch(module.train(), data(1))
    with torch.no_grad():
        expected = {batch: module.eval()(data(batch)).numpy() for batch in (1, 4)}
    mx.model.save_checkpoint(f"{tmp_path}/net", 0, symbol, arg_params, aux_params)
    loaded = mx.model.load_checkpoint(f"{tmp_path}/net", 0)
    (inputs,) = [name for name in symbol.list_arguments() if name not in arg_params]
    shape = (0, *data(1).shape[1:])
    path = mx.onnx.export_model(
        symbol, [arg_params, aux_params], [shape], onnx_file_path=f"{tmp_path}/net.onnx"
    )
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    for batch, wanted in expected.items():
        (found,) = run(*loaded, data(batch))
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)
        (found,) = session.run(None, {inputs: data(batch).numpy().astype(np.float32)})
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


@pytest.mark.parametrize("name", ["convolutions", "encoder"])
def test_trains_as_in_torch(name: str) -> None:
    module, data = network(name)
    module.train()
    x, labels = data(6), torch.arange(6) % 4
    symbol, arg_params, aux_params = from_torch(module, x)
    net = mx.sym.SoftmaxOutput(symbol, name="softmax", normalization="batch")
    (inputs,) = [name for name in symbol.list_arguments() if name not in arg_params]
    iterator = mx.io.NDArrayIter({inputs: x.numpy()}, labels.numpy(), 6, label_name="softmax_label")
    trained = mx.mod.Module(net, [inputs])
    trained.bind(iterator.provide_data, iterator.provide_label)
    trained.init_params(arg_params=arg_params, aux_params=aux_params)
    settings = {"learning_rate": 0.1, "momentum": 0.9, "rescale_grad": 1.0}
    trained.init_optimizer("local", "sgd", settings)
    optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
    (batch,) = list(iterator)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(module(x), labels).backward()
        optimizer.step()
        trained.forward_backward(batch)
        trained.update()
    found, states = trained.get_params()
    _, expected, expected_states = from_torch(module, x)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(found[key].asnumpy(), value.asnumpy(), 1e-4, 2e-6, err_msg=key)
    for key, value in expected_states.items():
        # PyTorch's variance is the unbiased one of 6 images of 30 x 30.
        rtol = 1e-5 if key.startswith("frozen") or key.endswith("mean") else 1.1 / (6 * 30 * 30)
        np.testing.assert_allclose(states[key].asnumpy(), value.asnumpy(), rtol, 1e-6, err_msg=key)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "settings"), [
    ("resnet", "resnet", {"num_layers": 18, "version": 1, "num_classes": 4}), ("mobilenet", "mobilenet_v2", {}),
])  # fmt: skip
def test_names_are_those_of_published_checkpoints(name: str, kind: str, settings: dict[str, Any]) -> None:
    module, data = network(name)
    symbol, _, aux_params = from_torch(module.eval(), data(2))
    published = getattr(mx.models, kind)(**settings)
    # Its first stage has a projection that torchvision's lacks, as the number of channels stays.
    extra = {each for each in published.list_arguments() if each.startswith("stage1_unit1_") and "sc" in each}
    assert set(symbol.list_arguments()) == set(published.list_arguments()) - extra - {"softmax_label"}
    assert aux_params.keys() == set(published.list_auxiliary_states()) - {
        "stage1_unit1_sc_moving_mean", "stage1_unit1_sc_moving_var"
    }  # fmt: skip


def test_names_and_modes() -> None:
    module, data = network("convolutions")
    module.body.append(nn.Dropout(0.25))
    for mode in (True, False):
        symbol, arg_params, aux_params = from_torch(module.train(mode), data(2))
        assert list(arg_params) == [
            "body_0_weight", "body_0_bias", "body_1_gamma", "body_1_beta", "frozen_gamma", "frozen_beta",
            "head_weight", "head_bias",
        ]  # fmt: skip
        assert list(aux_params) == [
            f"{bn}_moving_{each}" for bn in ("body_1", "frozen") for each in ("mean", "var")
        ]
        nodes = symbol.attr_dict()
        assert nodes["body_3"]["p"] == "0.25" and float(nodes["body_1"]["momentum"]) == 0.7
        # In evaluation mode all of them are as they would be; in training this one is not to move.
        assert (nodes["frozen"].get("use_global_stats") == "True") == mode
        assert symbol.list_outputs() == ["head_output"]


@pytest.mark.filterwarnings("ignore:.*LeafSpec", "ignore:.*_flat_weights")
@pytest.mark.parametrize("name", ["convolutions", "tagger"])
def test_programs_of_core_operators_in_files(name: str, tmp_path: Path) -> None:
    module, data = network(name)
    module.eval()
    free = {0: torch.export.Dim.AUTO}
    program = torch.export.export(module, (data(3),), dynamic_shapes=(free,))
    if name == "convolutions":  # a table for recurrent layers would write out their steps
        program = program.run_decompositions()
    torch.export.save(program, tmp_path / "net.pt2")
    with torch.no_grad():
        np.testing.assert_allclose(
            run(*read_pt2(tmp_path / "net.pt2"), data(5))[0], module(data(5)), 1e-5, 1e-6
        )


def test_a_program_stays_as_it_is() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5)).eval()
    program = torch.export.export(module, (torch.ones(2, 3),))
    before = str(program.graph)
    from_torch(program)
    assert str(program.graph) == before
    symbol, _, _ = from_torch(module, {"input": torch.ones(1, 3)})
    assert symbol.list_arguments()[0] == "input"


class Counter(nn.Module):
    """A sum over all calls."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.total += x.sum(0)
        return x + self.total


class Strange(nn.Module):
    """Functions that MXNet has not."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.special.bessel_j0(x) + torch.cdist(x, x) + torch.special.bessel_j0(x + 1)


def test_mistakes_meet_a_sentence() -> None:
    x = torch.ones(3, 3)
    with pytest.raises(
        mx.MXNetError, match=r"no operators for aten\.cdist \('cdist'\), aten\.special_bessel_j0 \('"
    ):
        from_torch(Strange(), x)
    with pytest.raises(mx.MXNetError, match="forward must not change 'total'"):
        from_torch(Counter(), x)
    with pytest.raises(mx.MXNetError, match=r"example_inputs, .* must be given with a module"):
        from_torch(Strange())
    with pytest.raises(mx.MXNetError, match=r"must be a torch.nn.Module or an ExportedProgram; got 3"):
        from_torch(3, x)  # type: ignore[arg-type]
    with pytest.raises(mx.MXNetError, match=r"aten\.index\.Tensor 'index': an index must not be boolean"):
        from_torch(nn.Sequential(nn.Linear(3, 3), _Choice()), x, dynamic_shapes=({},))


class _Branch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class _Item(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * x.sum().item()


@pytest.mark.parametrize(
    ("module", "example", "says"),
    [
        (
            _Branch(),
            torch.ones(3, 3),
            r"_Branch\.forward must run the same operations for all data; .*test_networks\.py, line",
        ),
        (
            _Item(),
            torch.ones(3, 3),
            r"'item': its result must be a tensor, .* Use x instead of x\.item\(\)",
        ),
        (
            nn.Linear(3, 4),
            np.ones((2, 3)),
            r"example_inputs must be tensors; got an array of NumPy\. Give torch",
        ),
        (
            nn.Linear(3, 4),
            (mx.nd.ones((2, 3)),),
            r"example_inputs must be tensors; got an NDArray\. Give torch",
        ),
        (
            nn.Linear(3, 4),
            {"x": torch.ones(2, 3)},
            r"arguments of Linear\.forward\(input.*; got \(x=Tensor \(2, 3\)\)",
        ),
        (nn.Linear(3, 4), (2, 3), r"arguments of Linear\.forward\(.*; got \(2, 3\): too many positional"),
        (
            nn.InstanceNorm2d(3, track_running_stats=True),
            torch.ones(2, 3, 4, 4),
            r"Call module\.eval\(\) before",
        ),
        (
            nn.BatchNorm2d(3, momentum=None),
            torch.ones(2, 3, 4, 4),
            r"BatchNorm2d must be in evaluation mode",
        ),
        (nn.Linear, torch.ones(2, 3), r"got the class Linear\. Call it: Linear\(\.\.\.\)"),
        (nn.Linear(3, 4).state_dict(), torch.ones(2, 3), r"got a dict\. Load its weights into a module"),
        ("net.pt", torch.ones(2, 3), r"got 'net\.pt'\. Load it: torch\.load"),
    ],
)
def test_a_call_with_a_mistake_meets_a_sentence(module: Any, example: Any, says: str) -> None:
    with pytest.raises(mx.MXNetError, match=says):
        from_torch(module, example)


class _Choice(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[x[:, 0] > 0]


def test_parameters_that_went_out_come_back_with_their_names() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="seq-0-fc")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="seq-0.norm")
    shapes, _, states = net.infer_shape(data=(2, 3))
    arguments = {
        name: mx.nd.ones(shape)
        for name, shape in zip(net.list_arguments(), shapes, strict=True)
        if name != "data"
    }
    moving = {
        name: mx.nd.ones(shape) for name, shape in zip(net.list_auxiliary_states(), states, strict=True)
    }
    module = mx.to_torch(net, arguments, moving, shapes={"data": (0, 3)}).eval()
    _, arg_params, aux_params = from_torch(module, torch.zeros(2, 3))
    assert arg_params.keys() == arguments.keys() and aux_params.keys() == moving.keys()
