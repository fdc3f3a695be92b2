"""Each row of the tables against this package, the installed NumPy and this Python."""

from __future__ import annotations

import builtins
import importlib.util
import inspect
import re
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rebind as mx
from rebind import config
from rebind.distributed import environment
from rebind.script_check import check_source, files, older_numpy, older_python, values
from rebind.script_check.names import look_up


@pytest.mark.parametrize("path", older_python.GONE)
def test_python_has_it_no_more(path: str) -> None:
    module, _, name = path.rpartition(".")
    if not module:
        assert importlib.util.find_spec(name) is None
    elif module == "builtins":
        assert not hasattr(builtins, name)
    else:
        assert not hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", older_python.METHODS)
def test_a_dict_has_no_such_method(name: str) -> None:
    assert not hasattr({}, name)


@pytest.mark.parametrize("name", older_numpy.GONE)
def test_a_name_is_reported_where_numpy_lacks_it(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # older versions warn of names that are to go
        there = hasattr(np, name)
    found = check_source(f"import numpy as np\nnp.{name}\n", "a.py")
    assert [finding.kind for finding in found] == ([] if there else ["numpy"])


def test_arrays_of_one_element_are_refused_from_that_version_on() -> None:
    array = np.ones(1)
    if tuple(map(int, np.__version__.split(".")[:2])) >= older_numpy.REFUSES_ARRAYS_AS_NUMBERS:
        for convert in (float, int, "%f".__mod__, "%d".__mod__):
            with pytest.raises(TypeError):
                convert(array)


def test_a_variable_has_an_effect_or_a_reason() -> None:
    assert not config.WITHOUT_EFFECT.keys() & config.OPTIONS.keys()
    sources = [path.read_text() for path in Path(mx.__file__).parent.rglob("*.py") if path.stem != "config"]
    read = {name for source in sources for name in re.findall(r"(?:get|getenv|environ)\W+(\w+)", source)}
    assert not read & config.WITHOUT_EFFECT.keys()
    for name in config.OPTIONS:
        assert config.why_without_effect(name) == ""


def test_each_variable_of_the_documentation_is_known() -> None:
    launchers = Path(environment.__file__).read_text(encoding="utf-8")
    text = (Path(__file__).parent / "documented_variables.txt").read_text(encoding="utf-8")
    for name in re.findall(r"^[A-Z]\w+$", text, re.MULTILINE):
        known = name in config.OPTIONS or name in config.WITHOUT_EFFECT
        assert known or (name.startswith("DMLC_") and f'"{name}"' in launchers), name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("PS_VERBOSE", "has no effect here: TORCH_DISTRIBUTED_DEBUG=DETAIL"),
        ("MXNET_SUBGRAPH_BACKEND", "has no effect here: REBIND_BACKEND names the backend"),
        ("MXNET_HOM", "rebind has no such variable; did you mean 'MXNET_HOME'?"),
        ("MXNET_QUITE_UNKNOWN_TO_ALL", "rebind has no such variable"),
    ],
)
def test_what_is_said_of_a_variable(name: str, says: str) -> None:
    (finding,) = check_source(f"import os\nos.environ['{name}'] = '1'\n", "a.py")
    assert (finding.kind, finding.stops) == ("environment", False) and says in finding.message


ROWS = (*values.ROWS, *files.ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join([row.path, *row.when]))
def test_a_row_names_a_function_and_its_argument(row: values.Row) -> None:
    called = look_up(f"mxnet.{row.path}")
    assert callable(called)
    assert row.when.keys() <= inspect.signature(called).parameters.keys()


def _seed() -> None:
    drawn = []
    for _ in range(2):
        mx.random.seed(7)
        drawn.append(mx.nd.random.uniform(shape=3).asnumpy())
    np.testing.assert_array_equal(*drawn)


def _selu() -> None:
    x = mx.nd.array([-2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.LeakyReLU(x, act_type="selu")
    y.backward()
    assert x.grad.asscalar() == pytest.approx(0.238, abs=1e-3)  # MXNet: 0.161


def _nadam() -> None:
    """Several weights with equal gradients stay equal: none depends on how many were updated before."""
    optimizer = mx.optimizer.create("nadam")
    weights = [mx.nd.ones((2,)) for _ in range(2)]
    states = [optimizer.create_state(index, weight) for index, weight in enumerate(weights)]
    for _ in range(3):
        for index, weight in enumerate(weights):
            optimizer.update(index, weight, mx.nd.ones((2,)), states[index])
    np.testing.assert_array_equal(weights[0].asnumpy(), weights[1].asnumpy())


def _horovod() -> None:
    assert importlib.util.find_spec("horovod") is None
    store = mx.kv.create("horovod")
    assert (store.rank, store.num_workers) == (0, 1)


def _svrg() -> None:
    """The full gradient of a second snapshot with the same weights is that of the first."""
    from rebind.contrib.svrg_optimization import SVRGModule

    data = mx.io.NDArrayIter(np.eye(4, dtype="float32"), np.arange(4.0), batch_size=2, label_name="lin_label")
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc"),
        mx.sym.var("lin_label"),
        name="lin",
    )
    module = SVRGModule(net, data_names=["data"], label_names=["lin_label"], update_freq=1)
    module.bind(data.provide_data, data.provide_label)
    module.init_params()
    module.init_optimizer(kvstore=None)
    gradients = []
    for _ in range(2):
        module.update_full_grads(data)
        gradients.append({name: copied(value) for name, value in module._param_dict[0].items()})
    for name, value in gradients[0].items():
        np.testing.assert_allclose(value, gradients[1][name])


def copied(value: Any) -> np.ndarray:
    return value.asnumpy().copy()


def _prelu() -> None:
    data, slope = mx.nd.array([[-2.0], [3.0]]), mx.nd.array([0.25])
    slope.attach_grad()
    with mx.autograd.record():
        y = mx.nd.LeakyReLU(data * 1, slope, act_type="prelu") * 2
    y.backward()
    assert slope.grad.asnumpy().tolist() == [-4.0]


def _out_grad() -> None:
    gradients = []
    for factor in (1, 3):
        net = mx.sym.SoftmaxOutput(mx.sym.var("data"), mx.sym.var("label"), out_grad=True)
        arrays = {"data": mx.nd.array([[1.0, 2.0]]), "label": mx.nd.array([0.0])}
        executor = net.bind(mx.cpu(), arrays, {"data": mx.nd.zeros((1, 2))})
        executor.forward(is_train=True)
        executor.backward(factor * mx.nd.ones((1, 2)))
        gradients.append(executor.grad_dict["data"].asnumpy())
    np.testing.assert_allclose(3 * gradients[0], gradients[1], rtol=1e-6)


def _dropout() -> None:
    with mx.autograd.train_mode():
        assert mx.nd.Dropout(mx.nd.ones((2,)), p=1).asnumpy().tolist() == [0, 0]


def _matching() -> None:
    scores = mx.nd.array([[0.9, 0.1], [0.2, 0.8]])
    rows, _ = mx.nd.contrib.bipartite_matching(scores, threshold=1e-12, topk=1)
    assert rows.asnumpy().tolist() == [0, -1]  # MXNet: [0, 1]


def _negatives() -> None:
    anchors = [[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1], [0, 0.5, 0.5, 1], [0.5, 0, 1, 0.5]]
    label, scores = [[[0, 0, 0, 0.5, 0.5]]], np.random.RandomState(0).rand(1, 2, 4)
    mined = [
        mx.nd.contrib.MultiBoxTarget(
            *map(mx.nd.array, ([anchors], label, scores)),
            negative_mining_ratio=1,
            minimum_negative_samples=least,
        )[2].asnumpy()
        for least in (0, 3)
    ]
    assert [(targets == 0).sum() for targets in mined] == [1, 3]


def _loop() -> None:
    outputs, _ = mx.nd.contrib.while_loop(
        lambda i: i < 2, lambda i: ([i + 1], [i + 1]), [mx.nd.array([0.0])], max_iterations=4
    )
    assert outputs[0].asnumpy().ravel().tolist() == [1, 2, 0, 0]


def _density() -> None:
    beyond, below, zero, two = (mx.nd.array([x]) for x in (3.0, -1.0, 0.0, 2.0))
    assert mx.nd.random_pdf_uniform(beyond.expand_dims(0), zero, two).asscalar() == 0
    assert mx.nd.random_pdf_exponential(below.expand_dims(0), two).asscalar() == 0
    assert mx.nd.random_pdf_gamma(below.expand_dims(0), two, two).asscalar() == 0


def _gradient(function: Any, *arrays: Any) -> list[Any]:
    """Return the gradient of the sum of what a function of arrays gives, for the first of them."""
    first, *others = map(mx.nd.array, arrays)
    first.attach_grad()
    with mx.autograd.record():
        result = function(first, *others)
    result.backward()
    return first.grad.asnumpy().tolist()


def _border() -> None:
    """Windows of 2 over 3 numbers: the second one is cut short, and is the mean of one number."""
    gradient = _gradient(
        lambda x: mx.nd.Pooling(x, kernel=(2,), stride=(2,), pool_type="avg", pooling_convention="full"),
        [[[1.0, 2.0, 3.0]]],
    )
    assert gradient == [[[0.5, 0.5, 1.0]]]  # MXNet: 0.5 at the end


def _cast() -> None:
    for cast in (mx.nd.Cast, mx.nd.cast):
        assert _gradient(lambda x, cast=cast: cast(cast(x, dtype="int32"), dtype="float32"), [1.5]) == [0]


def _smooth() -> None:
    options = {"multi_output": True, "smooth_alpha": 0.2}
    arguments = [[[1.0], [2.0]]], [[0.0]]
    smoothed = _gradient(lambda x, y: mx.nd.SoftmaxOutput(x, y, **options), *arguments)
    plain = _gradient(lambda x, y: mx.nd.SoftmaxOutput(x, y, multi_output=True), *arguments)
    assert smoothed != plain


def _sync() -> None:
    channels = [mx.nd.ones((2,)), mx.nd.zeros((2,)), mx.nd.zeros((2,)), mx.nd.ones((2,))]
    with mx.autograd.train_mode(), pytest.warns(UserWarning, match="ndev"):
        mx.nd.contrib.SyncBatchNorm(mx.nd.ones((1, 2, 1, 1)), *channels, ndev=2, key="a")


def _refused(call: Any) -> Any:
    def check() -> None:
        with pytest.raises(mx.MXNetError):
            call()

    return check


def _grey() -> None:
    picture = mx.nd.array([[[0.0, 0.0, 1.0]]])
    mixed = mx.nd.image.random_saturation(picture, 0.0, 0.0)
    assert mixed.asnumpy().ravel() == pytest.approx([0.114] * 3, abs=1e-3)
    jittered = mx.nd.image.random_color_jitter(picture, brightness=0, contrast=0, saturation=0.5, hue=0)
    assert jittered.asnumpy().ravel()[0] == jittered.asnumpy().ravel()[1]


def _lars() -> None:
    """The update of a float16 weight is in proportion to the norm of its float32 copy."""
    optimizer = mx.optimizer.LARS(learning_rate=1.0, multi_precision=True, eta=0.5)
    weight = mx.nd.array([1.0], dtype="float16")
    states = optimizer.create_state_multi_precision(0, weight)
    copies = [state for state in states if state is not None] if isinstance(states, tuple) else [states]
    copy = next(one for one in copies if one.dtype == np.float32)
    copy[:] = 1.0001
    optimizer.update_multi_precision([0], [weight], [mx.nd.array([1.0], dtype="float16")], [states])
    assert copy.asscalar() == pytest.approx(1.0001 * 0.5, rel=1e-6)


def _pcc() -> None:
    metric = mx.metric.PCC(has_global_stats=False)
    labels, right = mx.nd.array([0.0, 1.0]), mx.nd.array([[0.9, 0.1], [0.1, 0.9]])
    metric.update([labels], [right])
    metric.reset_local()
    metric.update([labels], [right[::-1]])
    assert metric.get_global()[1] == pytest.approx(0, abs=1e-6)  # of all four samples


def _sentences() -> None:
    coded, _ = mx.rnn.encode_sentences([["a", "b", "c"]], vocab={"a": 1, "<unk>": 2}, unknown_token="<unk>")
    assert coded == [[1, 2, 2]]


def _unfuse() -> None:
    stack = mx.rnn.FusedRNNCell(4, forget_bias=3.0, mode="lstm", prefix="l_").unfuse()
    assert "3.0" in str(stack._cells[0].params.get("i2h_bias").attr_dict())


def _gru_gates() -> None:
    cell = mx.rnn.ConvGRUCell((1, 5, 5, 2), num_hidden=4, conv_layout="NHWC")
    outputs, _ = cell.unroll(1, inputs=[mx.sym.var("data")])
    assert outputs[0].infer_shape(data=(1, 5, 5, 2))[1] == [(1, 5, 5, 4)]


def _bfloat16() -> None:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones((2,))}
    converted, _, _ = mx.contrib.amp.convert_model(net, params, {}, target_dtype="bfloat16")
    assert any("amp_cast" in name for name in converted.get_internals().list_outputs())


def _features() -> None:
    assert mx.runtime.Features().is_enabled("CUDA") == torch.cuda.is_available()


def _roll_over() -> None:
    pictures = [[0.0, np.zeros((4, 4, 3), np.uint8)] for _ in range(3)]
    for i, (_, picture) in enumerate(pictures):
        Path(f"{i}.png").write_bytes(
            mx.recordio.pack_img(mx.recordio.IRHeader(0, 0.0, i, 0), picture, img_fmt=".png")[24:]
        )
    iterator = mx.image.ImageIter(
        2,
        (3, 4, 4),
        imglist=[[0.0, f"{i}.png"] for i in range(3)],
        path_root=".",
        last_batch_handle="roll_over",
    )
    assert len(list(iterator)) == 1
    with pytest.raises(StopIteration):
        next(iterator)


def _module() -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), context=[mx.cpu(0), mx.cpu(1)])


def _score() -> None:
    data = mx.io.NDArrayIter(np.eye(10, 4, dtype="float32"), np.zeros(10), batch_size=8)
    module, metric = _module(), mx.metric.Accuracy()
    module.bind(data.provide_data, data.provide_label)
    module.init_params()
    module.score(data, metric)
    assert metric.num_inst == 10  # MXNet: 16


def _score_of_arrays() -> None:
    model = mx.model.FeedForward(_module().symbol, num_epoch=1)
    model.fit(np.eye(4, dtype="float32"), np.zeros(4))
    with pytest.raises(mx.MXNetError, match="y"):
        model.score(np.eye(4, dtype="float32"))


def _without_a_store() -> None:
    data = mx.io.NDArrayIter(np.eye(8, 4, dtype="float32"), np.arange(8) % 2, batch_size=8)
    module = _module()
    module.fit(data, kvstore=None, num_epoch=1)
    first, second = ([one[i].asnumpy() for one in module._exec_group.param_arrays] for i in (0, 1))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def _bulk() -> None:
    with mx.engine.bulk(5):
        pass
    mx.engine.set_bulk_size(mx.engine.set_bulk_size(5))


def _adamax() -> None:
    optimizer, weight = mx.optimizer.create("adamax"), mx.nd.ones((2,))
    optimizer.update(0, weight, mx.nd.array([0.0, 1.0]), optimizer.create_state(0, weight))
    unchanged, changed = weight.asnumpy()
    assert unchanged == 1 and changed < 1


def _lamb() -> None:
    optimizer = mx.optimizer.LAMB(multi_precision=True, learning_rate=0.1)
    weight = mx.nd.ones((2,), dtype="float16")
    state = optimizer.create_state_multi_precision(0, weight)
    seen = [1.0]
    for _ in range(3):
        optimizer.update_multi_precision(0, weight, mx.nd.ones((2,), dtype="float16"), state)
        seen.append(weight[0].asscalar())
    assert (np.diff(seen) < 0).all()


def _micro() -> None:
    metric = mx.metric.PearsonCorrelation(average="micro")
    for _ in range(2):
        metric.update([mx.nd.array([1.0, 2.0, 3.0])], [mx.nd.array([1.0, 2.0, 4.0])])
        metric.reset_local()
    assert metric.get_global()[1] == pytest.approx(0.982, abs=1e-3)  # MXNet: 0


def _text_that_is_no_number() -> None:
    Path("a.csv").write_text("1x,2\n")
    Path("a.t").write_text("1 9:1\n")
    for iterator in (
        lambda: mx.io.CSVIter(data_csv="a.csv", data_shape=(2,), batch_size=1),
        lambda: mx.io.LibSVMIter(data_libsvm="a.t", data_shape=(2,), batch_size=1),
    ):
        with pytest.raises(mx.MXNetError, match="line 1, column"):
            iterator().next()


def _type_of_lines() -> None:
    Path("a.csv").write_text("1,2\n")
    Path("a.t").write_text("1 0:1\n")
    for iterator in (
        mx.io.CSVIter(data_csv="a.csv", data_shape=(2,), batch_size=1, dtype="float64"),
        mx.io.LibSVMIter(data_libsvm="a.t", data_shape=(2,), batch_size=1, dtype="float64"),
    ):
        assert iterator.next().data[0].dtype == np.float64


def _type_of_pictures() -> None:
    Path("images").write_bytes(np.array([0x803, 1, 2, 2], ">i4").tobytes() + bytes(4))
    Path("labels").write_bytes(np.array([0x801, 1], ">i4").tobytes() + bytes(1))
    iterator = mx.io.MNISTIter(image="images", label="labels", batch_size=1, dtype="float64")
    assert iterator.next().data[0].dtype == np.float64


def _mean() -> None:
    """Each of two readers subtracts the mean of both pictures."""
    iterators = ("ImageRecordIter", "ImageRecordUInt8Iter", "ImageDetRecordIter")
    with closing(mx.recordio.MXIndexedRecordIO("a.idx", "a.rec", "w")) as writer:
        for i, grey in enumerate((0, 100)):
            header = mx.recordio.IRHeader(0, np.array([2.0, 5.0, 0, 0, 0, 1, 1]), i, 0)
            picture = np.full((4, 4, 3), grey, np.uint8)
            writer.write_idx(i, mx.recordio.pack_img(header, picture, img_fmt=".png"))
    options = {"path_imgrec": "a.rec", "data_shape": (3, 4, 4), "batch_size": 1, "label_width": 7}
    mx.io.ImageRecordIter(mean_img="mean.bin", num_parts=2, part_index=0, **options)
    (mean,) = mx.nd.load("mean.bin").values()
    assert (mean.asnumpy() == 50).all() and all(hasattr(mx.io, name) for name in iterators)


def _no_picture() -> None:
    with pytest.raises(mx.MXNetError):
        mx.recordio.unpack_img(mx.recordio.pack(mx.recordio.IRHeader(0, 0.0, 0, 0), b"no picture"))


def _nothing_loaded() -> None:
    utils, embedding = mx.test_utils, mx.contrib.text.embedding
    for load in (
        lambda: utils.download("https://example.org/a"), utils.get_cifar10, utils.get_mnist, utils.get_mnist_pkl,
        utils.get_mnist_ubyte, lambda: utils.get_mnist_iterator(1, (784,)),
        lambda: embedding.FastText(embedding_root="."), lambda: embedding.GloVe(embedding_root="."),
        lambda: embedding.create("glove", embedding_root="."),
    ):  # fmt: skip
        with pytest.raises(FileNotFoundError, match="nothing is downloaded"):
            load()


def _onnx() -> None:
    onnx = pytest.importorskip("onnx")
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="softmax"
    )
    params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones((2,))}
    model = onnx.load(mx.onnx.export_model(net, params, [(1, 3)]))
    assert [one.name for one in model.graph.input] == ["data"]
    assert [one.version for one in model.opset_import] == [17]


def _all(*checks: Any) -> Any:
    return lambda: [check() for check in checks]


def _in_both(name: str, check: Any) -> dict[str, Any]:
    return {f"sym.{name}": check, f"nd.{name}": check}


#: By the path of a row.
HELD: dict[str, Any] = {
    "random.seed": _seed,
    **_in_both("LeakyReLU", _all(_selu, _prelu)),
    **_in_both("SoftmaxOutput", _all(_out_grad, _smooth)),
    **_in_both("Dropout", _dropout),
    **_in_both("contrib.bipartite_matching", _matching),
    **_in_both("contrib.MultiBoxTarget", _negatives),
    **_in_both("contrib.while_loop", _loop),
    **_in_both("random_pdf_uniform", _density),
    **_in_both("random_pdf_exponential", _density),
    **_in_both("random_pdf_gamma", _density),
    **_in_both("Pooling", _border),
    **_in_both("Cast", _cast),
    **_in_both("cast", _cast),
    **_in_both("contrib.SyncBatchNorm", _sync),
    **_in_both(
        "contrib.AdaptiveAvgPooling2D",
        _refused(lambda: mx.nd.contrib.AdaptiveAvgPooling2D(mx.nd.ones((1, 1, 4, 4)), output_size=(2, 2, 2))),
    ),
    **_in_both(
        "Correlation", _refused(lambda: mx.nd.Correlation(*[mx.nd.ones((1, 1, 4, 4))] * 2, kernel_size=2))
    ),
    **_in_both("image.random_saturation", _grey),
    **_in_both("image.random_color_jitter", _grey),
    "optimizer.LBSGD": _refused(lambda: mx.optimizer.LBSGD(warmup_strategy="linar")),
    "optimizer.LARS": _lars,
    "metric.F1": _refused(lambda: mx.metric.F1(average="weighted")),
    "metric.MCC": _refused(lambda: mx.metric.MCC(average="weighted")),
    "metric.PCC": _pcc,
    "rnn.encode_sentences": _sentences,
    "rnn.FusedRNNCell": _unfuse,
    "rnn.ConvGRUCell": _gru_gates,
    "contrib.amp.init": _bfloat16,
    "contrib.amp.convert_model": _bfloat16,
    "runtime.Features": _features,
    "io.ResizeIter": _refused(lambda: mx.io.ResizeIter(mx.io.NDArrayIter(np.ones(2)), 2.5)),
    "image.ImageIter": _roll_over,
    "mod.Module.score": _score,
    "model.FeedForward.score": _score_of_arrays,
    "mod.Module.fit": _without_a_store,
    "mod.Module.bind": _refused(lambda: _module().bind([("data", (1, 2))], for_training="False")),
    "engine.set_bulk_size": _bulk,
    "engine.bulk": _bulk,
    "optimizer.Adamax": _adamax,
    "optimizer.LAMB": _lamb,
    "metric.PearsonCorrelation": _all(
        _micro, _refused(lambda: mx.metric.PearsonCorrelation(average="weighted"))
    ),
    "optimizer.Nadam": _nadam,
    "optimizer.create": _all(_nadam, _adamax),
    "kvstore.create": _horovod,
    "contrib.svrg_optimization.SVRGModule": _svrg,
    "io.CSVIter": _all(_text_that_is_no_number, _type_of_lines),
    "io.LibSVMIter": _all(_text_that_is_no_number, _type_of_lines),
    "io.MNISTIter": _type_of_pictures,
    **{row.path: _mean for row in files.ROWS if "mean_img" in row.when},
    "recordio.unpack_img": _no_picture,
    "onnx.export_model": _onnx,
    **{
        row.path: _nothing_loaded for row in files.ROWS if row.path.startswith(("test_utils", "contrib.text"))
    },
}


@pytest.mark.parametrize("path", sorted({row.path for row in ROWS}))
def test_a_row_is_true_of_this_package(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    HELD[path]()


@pytest.mark.parametrize("name", sorted(files.PATHS))
def test_each_argument_with_a_path_is_of_a_function(name: str) -> None:
    functions = (
        "io.CSVIter", "io.LibSVMIter", "io.MNISTIter", "io.ImageRecordIter", "image.ImageIter", "image.imread",
        "nd.load", "recordio.MXIndexedRecordIO", "model.load_checkpoint", "onnx.export_model", "onnx.import_model",
        "gluon.SymbolBlock.imports", "gluon.HybridBlock.export", "contrib.text.embedding.GloVe",
        "contrib.text.embedding.CustomEmbedding",
    )  # fmt: skip
    assert any(name in inspect.signature(look_up(f"mxnet.{path}")).parameters for path in functions)


@pytest.mark.parametrize(
    "program",
    [
        "mx.nd.load('s3://bucket/net.params')",
        "mx.nd.load('file:///net.params')",
        "mx.recordio.MXRecordIO('hdfs://host/a.rec', 'r')",
        "mx.io.ImageRecordIter(path_imgrec='https://host/a.rec', data_shape=(3, 2, 2), batch_size=1)",
        "mx.io.CSVIter(data_csv='a.csv?format=csv', data_shape=(2,), batch_size=1)",
        "mx.io.LibSVMIter(data_libsvm='a.t#cache', data_shape=(2,), batch_size=1)",
        "mx.model.load_checkpoint('s3://bucket/net', 1)",
    ],
)
def test_a_path_that_leads_nowhere_is_an_error(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "a.t"):
        (tmp_path / name).write_text("1,2\n" if name == "a.csv" else "1 0:1\n")
    assert [one.kind for one in check_source(f"import mxnet as mx\n{program}\n", "a.py") if one.stops] == [
        "file"
    ]
    with pytest.raises(FileNotFoundError):
        exec(program, {"mx": mx})
