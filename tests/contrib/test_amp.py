"""`contrib.amp`: lists, conversion, training in 16 bits, loss scaling."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.contrib import amp
from rebind.errors import ArgumentError, DTypeError, NameLookupError, ParameterError, StateError
from rebind.precision import active_rules, set_active_rules

LISTS = (amp.list_lp16_ops, amp.list_fp32_ops, amp.list_lp16_fp32_ops, amp.list_widest_type_cast)


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return pictures of four classes: in which corner the light is."""
    random = np.random.default_rng(0)
    digits = random.integers(0, 4, 320)
    images = random.normal(size=(320, 1, 8, 8)).astype("float32") * 0.6
    for image, digit in zip(images, digits, strict=True):
        image[0, 4 * (digit // 2) : 4 * (digit // 2) + 4, 4 * (digit % 2) : 4 * (digit % 2) + 4] += 0.5
    return images, digits.astype("float32")


IMAGES, DIGITS = data()


def lenet(dtype: str | None = None) -> Any:
    """Return a network; with `dtype`, one that is all of that type, up to the loss."""
    net = mx.sym.var("data")
    net = mx.sym.Cast(net, dtype=dtype) if dtype else net
    net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=8, name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name="bn"), act_type="relu")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=16, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=4, name="fc2")
    net = mx.sym.Cast(net, dtype="float32") if dtype else net
    return mx.sym.SoftmaxOutput(net, name="softmax")


def iterator(begin: int = 0, end: int = 256) -> Any:
    return mx.io.NDArrayIter(IMAGES[begin:end], DIGITS[begin:end], 32)


def trained(symbol: Any, scaler: Any = None, context: Any = None, **parameters: Any) -> tuple[Any, float]:
    """Train, and return the module and its accuracy on data that it has not seen."""
    mx.random.seed(0)
    module = mx.mod.Module(symbol, context=context or mx.cpu())
    if scaler is not None:
        amp.init_trainer(module, scaler)
    module.fit(
        iterator(),
        num_epoch=4,
        initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": 0.05, "momentum": 0.9, **parameters},
    )
    return module, dict(module.score(iterator(256, 320), "acc"))["accuracy"]


@pytest.fixture(scope="module")
def exact() -> tuple[Any, float]:
    return trained(lenet())


@pytest.fixture
def no_rules() -> Iterator[None]:
    yield
    set_active_rules(None)


@pytest.mark.parametrize("dtype", ["float16", np.float16, "bfloat16", torch.bfloat16])
def test_lists(dtype: Any) -> None:
    low, full, any_type, widest = (function(dtype) for function in LISTS)
    assert low == ["Convolution", "Deconvolution", "FullyConnected", "RNN"]
    assert {"softmax", "SoftmaxOutput", "exp", "argmax"} <= set(full)
    assert {"BatchNorm", "Pooling", "relu", "amp_cast"} <= set(any_type)
    assert {"broadcast_add", "concat", "_plus"} <= set(widest)
    conditional = {name for name, *_ in amp.list_conditional_fp32_ops(dtype)}
    lists = [set(low), set(full), set(any_type), set(widest), conditional]
    assert len(set.union(*lists)) == sum(map(len, lists))  # each operator is in one of them
    assert "SoftmaxOutput" in amp.list_loss_output_functions(dtype)


@pytest.mark.parametrize("function", LISTS)
def test_lists_are_the_callers_own(function: Any) -> None:
    function("float16").clear()
    assert function("float16")


@pytest.mark.parametrize(("dtype", "names"), [("float16", None), ("bfloat16", {"gamma", "beta"})])
def test_parameters_that_stay_float32(dtype: str, names: set[str] | None) -> None:
    found = amp.list_lp16_use_fp32_params(dtype)
    assert found is None if names is None else names <= set(found["BatchNorm"])


FAULTS = [
    ({"target_dtype": "int8"}, DTypeError, "target_dtype must be 'float16' or 'bfloat16'; got 'int8'"),
    ({"target_dtype_ops": ["Convolutoin"]}, NameLookupError, "no operator 'Convolutoin'.*Convolution"),
    ({"target_dtype_ops": "Convolution"}, ArgumentError, "must be a list of operators"),
    ({"target_dtype_ops": ["Pooling"], "fp32_ops": ["Pooling"]}, ArgumentError, "it is in both"),
    ({"conditional_fp32_ops": ["Activation"]}, ArgumentError, "operator, parameter, list of values"),
    ({"conditional_fp32_ops": [("Activation", "type", ["relu"])]}, NameLookupError, "no parameter 'type'"),
    ({"data_names": ["date"]}, NameLookupError, "no argument 'date'.*data"),
    ({"data_names": "data"}, ArgumentError, "must be lists of names"),
]


@pytest.mark.parametrize(("settings", "error", "text"), FAULTS)
def test_faults_of_the_caller(settings: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        amp.convert_symbol(lenet(), **settings)


def test_an_unknown_name_to_leave_out_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="no node 'cnov'"):
        amp.convert_symbol(lenet(), excluded_sym_names=["cnov"])


def bound() -> Any:
    module = mx.mod.Module(lenet())
    module.bind(iterator().provide_data, iterator().provide_label)
    return module


def enter(context: Any) -> None:
    with context:
        pass


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: amp.convert_symbol("net"), ArgumentError, "sym must be a Symbol"),
        (lambda: amp.convert_model("net", {}, {}), ArgumentError, "sym must be a Symbol"),
        (lambda: amp.convert_model(lenet(), [], {}), ArgumentError, "arg_params must be a dict"),
        (
            lambda: amp.convert_bucketing_module(mx.mod.BucketingModule(sentences, default_bucket_key=6)),
            StateError,
            "needs bind",
        ),
        (lambda: amp.convert_bucketing_module(lenet()), ArgumentError, "must be a BucketingModule"),
        (lambda: amp.LossScaler(scale_factor=1), ParameterError, "scale_factor > 1"),
        (lambda: amp.LossScaler().has_overflow([1.0]), ArgumentError, "gradients"),
        (
            lambda: amp.unscale(mx.mod.Module(lenet())),
            StateError,
            "needs a module that init_trainer",
        ),
        (lambda: amp.init_trainer(bound()), StateError, r"before bind\(\)"),
        (lambda: amp.init_trainer("sgd"), ArgumentError, "Trainer is not part"),
        (lambda: amp.init_trainer(mx.mod.Module(lenet()), 3), ArgumentError, "must be a LossScaler"),
        (
            lambda: enter(amp.scale_loss(1, bound())),
            ArgumentError,
            "scales its own losses",
        ),
        (
            lambda: enter(amp.scale_loss(mx.nd.ones((2,)), mx.optimizer.create("sgd"))),
            StateError,
            "needs init_trainer",
        ),
    ],
)
def test_calls_that_are_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def ops_after_cast(symbol: Any, dtype: str) -> set[str]:
    """Return the operators that take something which was cast to a type."""
    return {
        node.operator.name
        for node in symbol.graph.nodes
        if node.operator is not None
        for entry in node.inputs
        if entry.node.given.get("dtype") == dtype and entry.node.operator.name == "amp_cast"
    }


@pytest.mark.parametrize(
    ("settings", "low"),
    [
        pytest.param({"target_dtype_ops": ["SoftmaxOutput"]}, {"SoftmaxOutput"}, id="low"),
        pytest.param({"fp32_ops": ["FullyConnected", "SoftmaxOutput"]}, {"Convolution"}, id="float32"),
        pytest.param(
            {
                "conditional_fp32_ops": [
                    ("Activation", "act_type", ["relu"]),
                    ("Convolution", "num_filter", ["8"]),
                ]
            },
            {"FullyConnected"},
            id="conditional",
        ),
    ],
)
def test_the_callers_lists_win(settings: dict[str, Any], low: set[str]) -> None:
    assert ops_after_cast(amp.convert_symbol(lenet(), "bfloat16", **settings), "bfloat16") == low


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("optional", [False, True])
def test_a_converted_model_predicts_the_same(exact: tuple[Any, float], dtype: str, optional: bool) -> None:
    module, _ = exact
    args, aux = module.get_params()
    symbol, args, aux = amp.convert_model(module.symbol, args, aux, dtype, cast_optional_params=optional)
    stored = torch.float32 if not optional else getattr(torch, dtype)
    assert args["conv_weight"].tensor.dtype is args["fc1_bias"].tensor.dtype is stored
    assert {args["bn_gamma"].dtype, aux["bn_moving_var"].dtype} == {np.float32}
    low = mx.mod.Module(symbol)
    low.bind(iterator().provide_data, for_training=False)
    low.set_params(args, aux)
    expected = module.predict(iterator(256, 320)).asnumpy()
    found = low.predict(iterator(256, 320))
    assert found.dtype is np.float32
    np.testing.assert_allclose(found.asnumpy(), expected, atol=0.03)
    assert module.get_params()[0]["conv_weight"].dtype is np.float32  # not changed in place


def as_json(symbol: Any, folder: Path, remove: bool) -> str:
    return symbol.tojson(remove_amp_cast=remove)


def in_a_file(symbol: Any, folder: Path, remove: bool) -> str:
    symbol.save(folder / "net.json", remove_amp_cast=remove)
    return (folder / "net.json").read_text()


def in_a_checkpoint(symbol: Any, folder: Path, remove: bool) -> str:
    mx.model.save_checkpoint(str(folder / "model"), 1, symbol, {}, {}, remove_amp_cast=remove)
    return (folder / "model-symbol.json").read_text()


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("write", [as_json, in_a_file, in_a_checkpoint])
def test_casts_can_be_removed_from_files(write: Any, remove: bool, tmp_path: Path) -> None:
    assert ("amp_cast" not in write(amp.convert_symbol(lenet()), tmp_path, remove)) is remove


def loaded(symbol: Any, folder: Path) -> Any:
    symbol.save(folder / "net.json", remove_amp_cast=False)
    return mx.sym.load(str(folder / "net.json"))


@pytest.mark.parametrize(
    "again", [loaded, lambda symbol, _: pickle.loads(pickle.dumps(symbol))], ids=["file", "pickle"]
)
def test_casts_come_back(again: Any, tmp_path: Path) -> None:
    symbol = amp.convert_symbol(lenet())
    assert again(symbol, tmp_path).tojson(remove_amp_cast=False) == symbol.tojson(remove_amp_cast=False)


def test_files_have_no_casts_by_default() -> None:
    assert "amp" not in amp.convert_symbol(lenet()).tojson()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_checkpoints_of_low_parameters(tmp_path: Any, dtype: str) -> None:
    module, accuracy = trained(lenet(dtype), multi_precision=True)
    prefix = str(tmp_path / "model")
    module.save_checkpoint(prefix, 4, save_optimizer_states=True)
    again = mx.mod.Module.load(prefix, 4, load_optimizer_states=True)
    again.bind(iterator().provide_data, iterator().provide_label)
    assert dict(again.score(iterator(256, 320), "acc"))["accuracy"] == accuracy
    parameters = {**again.get_params()[0], **again.get_params()[1]}
    assert parameters["conv_weight"].tensor.dtype is getattr(torch, dtype)
    for name, value in {**module.get_params()[0], **module.get_params()[1]}.items():
        assert (
            torch.equal(value.tensor, parameters[name].tensor)
            and value.tensor.dtype is parameters[name].tensor.dtype
        )
    again.init_optimizer(optimizer_params={"learning_rate": 0.05, "momentum": 0.9, "multi_precision": True})
    again.forward_backward(next(iter(iterator())))
    again.update()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("how", ["converted", "all low"])
def test_trains_as_well_as_float32(exact: tuple[Any, float], dtype: str, how: str) -> None:
    if how == "converted":
        module, accuracy = trained(amp.convert_symbol(lenet(), dtype))
    else:
        module, accuracy = trained(lenet(dtype), multi_precision=True)
    assert exact[1] > 0.9
    assert accuracy == pytest.approx(exact[1], abs=0.06)
    args, aux = module.get_params()
    weight = torch.float32 if how == "converted" else getattr(torch, dtype)
    assert args["conv_weight"].tensor.dtype is weight
    assert {args["bn_gamma"].dtype, aux["bn_moving_mean"].dtype, aux["bn_moving_var"].dtype} == {np.float32}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_data_of_low_type(dtype: str) -> None:
    """The types of `DataDesc` decide: a network of low type without a cast of its input."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([mx.io.DataDesc("data", (8, 5), dtype)], [mx.io.DataDesc("softmax_label", (8,), dtype)])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="adam", optimizer_params={"multi_precision": True, "learning_rate": 0.1})
    batch = mx.io.DataBatch([mx.nd.ones((8, 5), dtype=dtype)], [mx.nd.ones((8,), dtype=dtype)])
    metrics = mx.metric.CompositeEvalMetric(["acc", "ce"])
    for _ in range(30):
        module.forward_backward(batch)
        module.update()
    module.update_metric(metrics, batch.label)
    assert module.get_params()[0]["fc_weight"].tensor.dtype is getattr(torch, dtype)
    found = dict(metrics.get_name_value())
    assert found["accuracy"] == 1 and found["cross-entropy"] < 1.4


def test_scale_follows_the_gradients() -> None:
    scaler = amp.LossScaler(init_scale=8, scale_window=3, max_scale=16)
    good, bad = mx.nd.ones((2,)), mx.nd.array([1.0, np.nan])
    seen = []
    for gradient in (good, bad, good, good, good, good, good, good, good, good, good):
        overflow = scaler.has_overflow([good, gradient])
        assert overflow is (gradient is bad)
        seen.append(scaler.loss_scale)
    assert seen == [8, 4, 4, 4, 8, 8, 8, 16, 16, 16, 16]
    assert scaler.skipped == 1
    other = amp.LossScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_what_counts_as_overflow(value: float, dtype: str) -> None:
    scaler = amp.LossScaler()
    large = mx.nd.full((300,), 60000.0, dtype="float32").astype(
        dtype
    )  # their squares do not fit into float16
    assert not scaler.has_overflow([large, mx.nd.zeros((0,)), mx.nd.ones((2,), dtype="int32")])
    assert scaler.has_overflow([large, mx.nd.array([1.0, value]).astype(dtype)])
    assert scaler.has_overflow([[large, large]]) is (dtype == "float16")  # of two devices, to be added up


def test_a_scaler_begins_at_two_to_the_sixteen() -> None:
    assert amp.loss_scaler.LossScaler().loss_scale == 65536


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_scaling_changes_nothing_in_float32(kind: str, devices: int) -> None:
    weights = []
    for scaler in (None, amp.LossScaler(init_scale=1024)):
        mx.random.seed(0)
        module = mx.mod.Module(lenet(), context=[mx.cpu(i) for i in range(devices)])
        if scaler is not None:
            amp.init_trainer(module, scaler)
        module.fit(iterator(0, 96), num_epoch=1, initializer=mx.init.Xavier(), optimizer=kind)
        weights.append(module.get_params()[0])
    assert scaler.state_dict()["unskipped"] == 3
    for name, value in weights[0].items():
        np.testing.assert_allclose(weights[1][name].asnumpy(), value.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("scale", "weight"), [(None, 0), (2.0**20, -2)], ids=["lost without scaling", "not with it"]
)
def test_gradients_below_the_range_of_float16(scale: float | None, weight: float) -> None:
    """Without scaling the layer below the loss gets none."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, no_bias=True, name="fc")
    net = amp.convert_symbol(mx.sym.MakeLoss(mx.sym.sum(net, name="s"), grad_scale=1e-9, name="loss"))
    module = mx.mod.Module(net, label_names=None)
    if scale is not None:
        amp.init_trainer(module, amp.LossScaler(init_scale=scale))
    module.bind([("data", (2, 3))])
    module.init_params(mx.init.Zero())
    module.init_optimizer(optimizer_params={"learning_rate": 1e9, "rescale_grad": 1.0})
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 3))]))
    module.update()
    np.testing.assert_allclose(module.get_params()[0]["fc_weight"].asnumpy(), weight, rtol=1e-3)


def test_an_overflow_leaves_the_weights_alone() -> None:
    scaler = amp.LossScaler(init_scale=2.0**24)
    module = mx.mod.Module(amp.convert_symbol(lenet(), "float16"))
    amp.init_trainer(module, scaler)
    batch = next(iter(iterator()))
    module.bind(iterator().provide_data, iterator().provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"momentum": 0.9})
    before = {name: value.asnumpy() for name, value in module.get_params()[0].items()}
    updated = False
    for _ in range(30):
        skipped = scaler.skipped
        module.forward_backward(batch)
        module.update()
        after = {name: value.asnumpy() for name, value in module.get_params()[0].items()}
        updated = scaler.skipped == skipped
        assert any((before[name] != after[name]).any() for name in before) is updated
        before = after
        if updated:
            break
    assert updated and scaler.skipped
    assert module._optimizer.num_update == 1 and module._optimizer.rescale_grad == 1 / 32


@pytest.mark.parametrize("devices", [1, 2])
def test_gradients_without_the_scale(devices: int) -> None:
    module = mx.mod.Module(lenet(), context=[mx.cpu(k) for k in range(devices)])
    amp.init_trainer(module, amp.LossScaler(init_scale=256))
    module.bind(iterator().provide_data, iterator().provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(kvstore=None, optimizer_params={"learning_rate": 1.0, "rescale_grad": 1.0})
    module.forward_backward(next(iter(iterator())))
    gradients = [exe.grad_dict["fc2_weight"] for exe in module._exec_group.execs]
    scaled = [gradient.asnumpy() for gradient in gradients]
    amp.unscale(module)
    amp.unscale(module)
    for gradient, before in zip(gradients, scaled, strict=True):
        np.testing.assert_allclose(gradient.asnumpy(), before / 256)
    weight = module.get_params()[0]["fc2_weight"].asnumpy()
    module.update()
    after = module.get_params()[0]["fc2_weight"].asnumpy()
    np.testing.assert_allclose(weight - after, sum(scaled) / 256, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("epochs", [1, 2], ids=["finished already", "one more epoch"])
def test_a_run_resumes_with_its_scale(epochs: int, tmp_path: Any) -> None:
    def fit(epochs: int, run: str) -> amp.LossScaler:
        mx.random.seed(0)
        scaler = amp.LossScaler(scale_window=5)
        module = mx.mod.Module(amp.convert_symbol(lenet(), "float16"))
        amp.init_trainer(module, scaler)
        module.fit(iterator(), num_epoch=epochs, initializer=mx.init.Xavier(), checkpoint=str(tmp_path / run))
        return scaler

    first = fit(1, "run")
    assert first.loss_scale != 65536
    expected = first if epochs == 1 else fit(epochs, "whole")
    assert fit(epochs, "run").state_dict() == expected.state_dict()


@pytest.mark.parametrize("scale", [65536, 1024])
def test_a_loop_of_ones_own(scale: int) -> None:
    weight = mx.nd.array([1.0, 2.0])
    weight.attach_grad()
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.5))
    amp.init_trainer(updater, *([] if scale == 65536 else [amp.LossScaler(init_scale=scale)]))
    with mx.autograd.record():
        loss = (weight * weight).sum()
        with amp.scale_loss(loss, updater) as scaled:
            scaled.backward()
    assert weight.grad.asnumpy().tolist() == [2 * scale, 4 * scale]
    updater(0, weight.grad, weight)
    assert weight.asnumpy().tolist() == [0.0, 0.0]


def sentences(length: int) -> tuple[Any, list[str], list[str]]:
    words = mx.sym.Embedding(mx.sym.var("data"), input_dim=9, output_dim=4, name="words")
    scores = mx.sym.FullyConnected(mx.sym.mean(words, axis=1), num_hidden=3, name="scores")
    return mx.sym.SoftmaxOutput(scores, name="softmax"), ["data"], ["softmax_label"]


def of_length(length: int) -> Any:
    return mx.io.DataBatch(
        [mx.nd.ones((2, length))],
        [mx.nd.zeros((2,))],
        bucket_key=length,
        provide_data=[mx.io.DataDesc("data", (2, length))],
        provide_label=[mx.io.DataDesc("softmax_label", (2,))],
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("length", [4, 6], ids=["another bucket", "the default bucket"])
def test_buckets(length: int, dtype: str) -> None:
    plain = mx.mod.BucketingModule(sentences, default_bucket_key=6)
    plain.bind([("data", (2, 6))], [("softmax_label", (2,))])
    plain.init_params(mx.init.Normal(1))
    low = amp.convert_bucketing_module(plain, dtype, cast_optional_params=True)
    amp.init_trainer(low, amp.LossScaler(init_scale=64))
    low.bind([("data", (2, 6))], [("softmax_label", (2,))])
    low.init_optimizer(optimizer_params={"multi_precision": True})
    for module in (plain, low):
        module.forward(of_length(length), is_train=False)
    np.testing.assert_allclose(low.get_outputs()[0].asnumpy(), plain.get_outputs()[0].asnumpy(), atol=0.02)
    assert low.get_params()[0]["scores_weight"].tensor.dtype is getattr(torch, dtype)
    low.forward_backward(of_length(length))
    amp.unscale(low)
    low.update()
    assert low.loss_scaler.state_dict()["unskipped"] == 1


@pytest.mark.usefixtures("no_rules")
def test_symbols_after_init(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        amp.init("bfloat16")
        rules = active_rules()
        amp.init("bfloat16")
    assert caplog.messages == ["Using AMP: bfloat16"] and active_rules() is rules
    symbol = lenet()
    nodes = json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]
    casts = [node["attrs"]["dtype"] for node in nodes if node["op"] == "amp_cast"]
    assert set(casts) == {"bfloat16", "float32"}
    assert symbol.list_arguments() == amp.convert_symbol(symbol).list_arguments()
    _, accuracy = trained(symbol)
    assert accuracy > 0.9


@pytest.mark.usefixtures("no_rules")
def test_arrays_after_init() -> None:
    one, weight = mx.nd.ones((2, 3)), mx.nd.ones((4, 3))
    amp.init("float16", target_precision_ops=["FullyConnected"], fp32_ops=["exp"])
    weight.attach_grad()
    with mx.autograd.record():
        low = mx.nd.FullyConnected(one, weight, num_hidden=4, no_bias=True)
        total = mx.nd.exp(low) + low
    assert (low.dtype, total.dtype) == (np.float16, np.float32)
    assert mx.nd.relu(low).dtype is np.float16
    total.backward()
    assert weight.grad.dtype is np.float32 and weight.grad.asnumpy().all()
    amp.init("bfloat16")
    assert mx.nd.FullyConnected(one, weight, num_hidden=4, no_bias=True).tensor.dtype is torch.bfloat16
