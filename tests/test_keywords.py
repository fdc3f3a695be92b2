"""No function takes a keyword that it does not know without a word: where ** takes it, something looks at it."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable
from typing import Any

import pytest

import rebind as mx
from rebind.ops import OPERATORS

NET = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="softmax")
X = mx.sym.var("x")
WRONG = {"unknwon": 1}


def bound() -> Any:
    return X.simple_bind(mx.cpu(), x=(2,))


def chain() -> Any:
    return mx.mod.SequentialModule()


class Identity(mx.operator.NumpyOp):
    pass


def feed_forward(**given: Any) -> None:
    mx.model.FeedForward(NET, num_epoch=1, **given).fit(
        mx.nd.ones((2, 3)), mx.nd.zeros((2,)), **({} if given else WRONG)
    )


def simple_forward(**given: Any) -> None:
    mx.test_utils.simple_forward(X, x=mx.nd.ones((2,)).asnumpy(), **given)


def update(name: str, *arrays: Any, **given: Any) -> Callable[[], object]:
    return lambda: getattr(mx.nd.contrib, name)(*arrays, **given, **WRONG)


W = mx.nd.ones((2,))

RANDOM = {"randint": (0, 5)}

#: By name of a function that takes any keywords: a call with one that nobody knows.
CALLS: dict[str, Callable[[], object]] = {
    "Executor.forward": lambda: bound().forward(**WRONG),
    "Executor.reshape": lambda: bound().reshape(**WRONG),
    "Symbol.reshape": lambda: X.reshape((1,), **WRONG),
    "models.get": lambda: mx.models.get("mlp", **WRONG),
    **{
        f"NDArray.{name}": lambda call=call: call(mx.nd.ones((2, 1)))
        for name, call in {
            "expand_dims": lambda x: x.expand_dims(0, **WRONG),
            "reshape": lambda x: x.reshape((2,), **WRONG),
            "squeeze": lambda x: x.squeeze(**WRONG),
        }.items()
    },
    **{
        f"Symbol.{name}": lambda name=name: getattr(X, name)(unknwon=(1,))
        for name in (
            "infer_shape", "infer_shape_partial", "infer_type", "infer_type_partial",
        )
    },
    "Symbol.simple_bind": lambda: X.simple_bind(mx.cpu(), x=(2,), **WRONG),
    "Symbol.eval": lambda: X.eval(x=mx.nd.ones((2,)), **WRONG),
    "init.create": lambda: mx.init.create("xavier", **WRONG),
    "profiler.set_config": lambda: mx.profiler.set_config(**WRONG),
    "metric.create": lambda: mx.metric.create("acc", **WRONG),
    "BucketingModule.load": lambda: mx.mod.BucketingModule.load_dict(lambda key: NET, 1, {}, {}, **WRONG),
    "BucketingModule.load_dict": lambda: mx.mod.BucketingModule.load_dict(lambda key: NET, 1, {}, {}, **WRONG),
    "Module.load": lambda: mx.mod.Module(NET, **WRONG),
    "Module.fit": lambda: mx.mod.Module(NET).fit(None, **WRONG),
    "FeedForward.load": lambda: feed_forward(**WRONG),
    "FeedForward.init_model": lambda: mx.model.FeedForward(NET).init_model(data=(2, 3), unknwon=(1,)),
    "SequentialRNNCell.begin_state": lambda: mx.rnn.BidirectionalCell(
        mx.rnn.RNNCell(2), mx.rnn.RNNCell(2)
    ).begin_state(mx.sym.zeros, **WRONG),
    "SequentialModule.add": lambda: chain().add(mx.mod.Module(NET), **WRONG),
    "FeedForward.fit": lambda: feed_forward(),
    "FeedForward.create": lambda: feed_forward(**WRONG),
    "FeedForward.__init__": lambda: feed_forward(**WRONG),
    "contrib.adamw_update": update("adamw_update", W, W, W, W, W, lr=1, eta=1),
    "contrib.mp_adamw_update": update("mp_adamw_update", W, W, W, W, W, W, lr=1, eta=1),
    "contrib.multi_adamw_update": update("multi_adamw_update", [W], [W], [W], [W], W, lrs=[1], wds=[0], etas=[1]),
    "contrib.multi_mp_adamw_update": update(
        "multi_mp_adamw_update", [W], [W], [W], [W], [W], W, lrs=[1], wds=[0], etas=[1]
    ),
    "contrib.multi_lamb_update": update(
        "multi_lamb_update", [W], [W], [W], [W], step_count=[1], lrs=[1], wds=[0]
    ),
    "contrib.multi_mp_lamb_update": update(
        "multi_mp_lamb_update", [W], [W], [W], [W], [W], step_count=[1], lrs=[1], wds=[0]
    ),
    "random.multinomial": lambda: mx.nd.random.multinomial(mx.nd.array([0.5, 0.5]), **WRONG),
    "Optimizer.create_optimizer": lambda: mx.optimizer.Optimizer.create_optimizer("sgd", **WRONG),
    "optimizer.create": lambda: mx.optimizer.create("sgd", **WRONG),
    "BaseRNNCell.begin_state": lambda: mx.rnn.LSTMCell(2).begin_state(mx.sym.zeros, **WRONG),
    "ModifierCell.begin_state": lambda: mx.rnn.ResidualCell(mx.rnn.RNNCell(2)).begin_state(**WRONG),
    "RNNParams.get": lambda: mx.rnn.RNNParams("p").get("w", **WRONG),
    "sym.Variable": lambda: mx.sym.Variable("x", **WRONG),
    "sym.eye": lambda: mx.sym.eye(2, **WRONG),
    "sym.full": lambda: mx.sym.full((2,), 1, **WRONG),
    "sym.ones": lambda: mx.sym.ones((2,), **WRONG),
    "sym.zeros": lambda: mx.sym.zeros((2,), **WRONG),
    "sym.histogram": lambda: mx.sym.histogram(X, bins=2, range=(0, 1), **WRONG),
    **{
        f"random.{name}": lambda name=name: getattr(mx.sym.random, name)(*RANDOM.get(name, ()), **WRONG)
        for name in (
            "uniform", "normal", "poisson", "exponential", "gamma", "negative_binomial",
            "generalized_negative_binomial", "randint", "randn",
        )
    },
    "test_utils.assert_exception": lambda: mx.test_utils.assert_exception(lambda: None, ValueError, **WRONG),
    "test_utils.check_speed": lambda: mx.test_utils.check_speed(X, N=1, x=(2,), **WRONG),
    "test_utils.simple_forward": lambda: simple_forward(**WRONG),
    "executor.compiled": lambda: mx.executor.compiled(lambda x: x, **WRONG)(1),
}  # fmt: skip

#: Any keyword has a meaning there.
TAKE_ALL = {
    "AttrScope.__init__": "attributes of the user's own; checked to be texts",
    "Initializer.__init__": "what a user's initializer is made again from",
    "EvalMetric.__init__": "what a user's metric prints",
    "CSRNDArray.reshape": "refused, as in MXNet: raises whatever it is given",
    "PearsonCorrelation.update_variance": "absent: raises whatever it is given",
    "PearsonCorrelation.update_cov": "absent: raises whatever it is given",
    "model._multiple_callbacks": "given on to the user's callbacks",
    "NDArrayOp.get_symbol": "given on to the user's operator",
    **dict.fromkeys([f"NetworkPlot.{name}" for name in ("attr", "edge", "node")], "attributes of graphviz"),
    **dict.fromkeys(
        [f"NetworkPlot.{name}" for name in ("pipe", "render", "view")],
        "graphviz's other arguments, documented to have no effect",
    ),
    "Symbol.optimize_for": "options of MXNet's backends, documented to have no effect",
    **dict.fromkeys(
        [
            f"Symbol.{name}"
            for name in (
                "as_in_context",
                "asnumpy",
                "asscalar",
                "backward",
                "copy",
                "detach",
                "gradient",
                "wait_to_read",
            )
        ],
        "absent: raises whatever it is given",
    ),
    "PythonOp.get_symbol": "given on to the user's operator",
}


def takes_any() -> list[set[str]]:
    """The public functions that take any keywords: each by the names that it has."""
    seen: set[int] = set()
    names_of: dict[int, set[str]] = {}

    def look(owner: Any, path: str, names: list[str]) -> None:
        for name in names:
            getattr(owner, name, None)  # what is loaded at its first use is there from now on
            found = inspect.getattr_static(owner, name, None)
            found = getattr(found, "__func__", found)
            if not (getattr(found, "__module__", "rebind") or "").startswith("rebind"):
                continue
            if inspect.isfunction(found):
                kinds = [each.kind for each in inspect.signature(found).parameters.values()]
                if inspect.Parameter.VAR_KEYWORD in kinds:
                    names_of.setdefault(id(found), set()).add(f"{path}.{name}")
            elif id(found) not in seen and isinstance(found, types.ModuleType):
                seen.add(id(found))
                if found.__name__.startswith("rebind"):
                    look(found, name, public(found))
            elif id(found) not in seen and inspect.isclass(found):
                seen.add(id(found))
                look(
                    found,
                    name,
                    [each for each in dir(found) if not each.startswith("_") or each == "__init__"],
                )

    look(mx, "mx", public(mx))
    return list(names_of.values())


def public(module: types.ModuleType) -> list[str]:
    return list(
        getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    )


def test_the_table_is_complete() -> None:
    assert [names for names in takes_any() if not names & {*CALLS, *TAKE_ALL}] == []


@pytest.mark.parametrize("name", CALLS)
def test_an_unknown_keyword_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises((mx.MXNetError, TypeError, ValueError, UserWarning), match="unknwon"):
        CALLS[name]()  # a warning is an error here: where MXNet takes a keyword and ignores it


@pytest.mark.parametrize(("namespace", "array"), [(mx.nd, W), (mx.sym, X)], ids=["nd", "sym"])
def test_no_operator_takes_a_keyword_that_it_does_not_know_without_a_word(
    namespace: types.ModuleType, array: Any
) -> None:
    """An error with the list of its parameters; a warning with it, where MXNet runs: operators without parameters."""
    said = {}
    for name, op in OPERATORS.items():
        if op.depends_on_parameters:  # Custom: the user's operator is given all of them
            continue
        with pytest.raises((mx.MXNetError, UserWarning)) as caught:
            getattr(namespace.op, name)(*([array] if op.signature.variadic else []), **WRONG)
        said[name] = str(caught.value)
        assert isinstance(caught.value, UserWarning) is op.signature.takes_any, name
    assert len(said) > 500
    pattern = r"(\w+)( '\w+')?: no parameter 'unknwon'(; did you mean .*\?|\.) Parameters: .*"
    found = {name: re.fullmatch(pattern, text) for name, text in said.items()}
    assert [name for name, match in found.items() if match is None or match[1] != name] == []


def test_an_operator_that_ignores_a_keyword_says_so_once_and_runs() -> None:
    x, ones = mx.nd.array([-1, 2]), mx.nd.ones((2,))
    with pytest.warns(UserWarning) as caught:
        for _ in range(2):
            assert mx.nd.LinearRegressionOutput(x, ones, grad_scal=2).asnumpy().tolist() == [-1, 2]
    assert [str(each.message) for each in caught] == [
        "LinearRegressionOutput: no parameter 'grad_scal'; did you mean 'grad_scale'? Parameters: grad_scale. It is "
        "ignored, as in MXNet."
    ]
    with pytest.warns(
        UserWarning, match="relu: no parameter 'axis'. Parameters: none. It is ignored, as in MXNet."
    ):
        assert mx.sym.relu(X, axis=1).list_attr() == {"axis": "1"}  # as MXNet 1.9.1
    assert mx.sym.relu(X, lr_mult=2, __a__="b", name="r").attr_dict()["r"]["__a__"] == "b"


@pytest.mark.parametrize("keyword", ["for_traning", "label_shape"])
def test_simple_bind_ignores_what_is_no_argument_and_says_so(keyword: str) -> None:
    """MXNet takes and ignores it; programs pass on what they have."""
    with pytest.warns(UserWarning, match=f"Symbol.simple_bind: no argument '{keyword}'. It is ignored."):
        NET.simple_bind(mx.cpu(), data=(2, 3), **{keyword: (2,)})


MODULES: dict[str, Callable[[], Any]] = {
    "Module": lambda: mx.mod.Module(NET),
    "SequentialModule": lambda: mx.mod.SequentialModule().add(mx.mod.Module(NET), take_labels=True),
    "BucketingModule": lambda: mx.mod.BucketingModule(lambda key: (NET, ["data"], ["softmax_label"]), 1),
    "PythonLossModule": lambda: mx.mod.PythonLossModule(),
}


@pytest.mark.parametrize("name", MODULES)
def test_bind_of_a_module_refuses_what_it_does_not_know(name: str) -> None:
    with pytest.raises(TypeError, match="for_traning"):
        MODULES[name]().bind([("data", (2, 3))], [("softmax_label", (2,))], for_traning=False)


CONSTRUCTORS: dict[str, tuple[Callable[[], object], str]] = {
    "Module": (lambda: mx.mod.Module(NET, data_name=["data"]), "data_names"),
    "BucketingModule": (lambda: mx.mod.BucketingModule(lambda key: NET, 1, contxt=mx.cpu()), "context"),
    "NDArrayIter": (lambda: mx.io.NDArrayIter(mx.nd.ones((2,)), batchsize=2), "batch_size"),
    "Speedometer": (lambda: mx.callback.Speedometer(2, frequnt=3), "frequent"),
    "EarlyStopping": (lambda: mx.callback.EarlyStopping(patients=3), "patience"),
    "ReduceLROnPlateau": (lambda: mx.callback.ReduceLROnPlateau(factr=0.1), "factor"),
    "TensorBoard": (lambda: mx.callback.TensorBoard("runs", histogram=True), "histograms"),
    "Monitor": (lambda: mx.mon.Monitor(1, patern=".*"), "pattern"),
    "Profile": (lambda: mx.profiler.Profile(skips=2), "skip"),
    "BestCheckpoint": (lambda: mx.callback.BestCheckpoint("net", monitr="acc"), "monitor"),
    "ExponentialMovingAverage": (lambda: mx.callback.ExponentialMovingAverage(decy=0.9), "decay"),
    "ProgressBar": (lambda: mx.callback.ProgressBar(10, lenght=20), "length"),
    "CSVLogger": (lambda: mx.callback.CSVLogger("log.csv", appnd=True), "append"),
    "PrefetchingIter": (lambda: mx.io.PrefetchingIter([], rename_dat=None), "rename_data"),
    "ResizeIter": (lambda: mx.io.ResizeIter(None, sizes=3), "size"),
    "SequentialModule": (lambda: mx.mod.SequentialModule(loger=None), "logger"),
    "PythonModule": (lambda: mx.mod.PythonModule(["data"], label_name=["l"]), "label_names"),
    "PythonLossModule": (lambda: mx.mod.PythonLossModule(grad_fun=abs), "grad_func"),
    "MXRecordIO": (lambda: mx.recordio.MXRecordIO("a.rec", flg="r"), "flag"),
    "MXIndexedRecordIO": (lambda: mx.recordio.MXIndexedRecordIO("a.idx", "a.rec", flg="r"), "flag"),
    "NaNMonitor": (lambda: mx.mon.NaNMonitor(stopp=True), "stop"),
    "Xavier": (lambda: mx.init.Xavier(magnitud=3), "magnitude"),
    "Accuracy": (lambda: mx.metric.create("acc", axsi=1), "axis"),
    "MSE": (lambda: mx.metric.MSE(nam="error"), "name"),
    "FactorScheduler": (lambda: mx.lr_scheduler.FactorScheduler(10, factr=0.5), "factor"),
    "LSTMCell": (lambda: mx.rnn.LSTMCell(8, prefx="a_"), "prefix"),
    "ConvLSTMCell": (lambda: mx.rnn.ConvLSTMCell((3, 8, 8), 4, prefx="a_"), "prefix"),
    "BucketSentenceIter": (lambda: mx.rnn.BucketSentenceIter([], 1, bucket=[3]), "buckets"),
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_constructor_names_the_keyword_that_is_near(name: str) -> None:
    make, near = CONSTRUCTORS[name]
    with pytest.raises(TypeError, match=rf"{name}: no argument '\w+'; did you mean '{near}'"):
        make()


#: Classes whose constructors all refuse unknown keywords, by their base.
FAMILIES = {
    mx.init.Initializer: mx.init,
    mx.lr_scheduler.LRScheduler: mx.lr_scheduler,
    mx.metric.EvalMetric: mx.metric,
    mx.rnn.BaseRNNCell: mx.rnn,
}


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for base, module in FAMILIES.items()
        for kind in (getattr(module, name) for name in module.__all__)
        if isinstance(kind, type) and issubclass(kind, base) and f"{kind.__name__}.__init__" not in TAKE_ALL
    ],
)
def test_each_constructor_of_a_family_refuses_what_it_does_not_know(kind: type) -> None:
    with pytest.raises(mx.errors.UnknownArgumentError, match=f"{kind.__name__}: no argument 'unknwon'"):
        kind(**WRONG)


def test_simple_bind_names_its_own_keyword_that_is_near() -> None:
    with pytest.warns(UserWarning, match="simple_bind: no argument 'grad_reg'; did you mean 'grad_req'"):
        NET.simple_bind(mx.cpu(), data=(2, 3), grad_reg="write")


MISTAKEN_MODULES = {
    "a name": (
        "resnet-8",
        r"Module: symbol must be a Symbol; got 'resnet-8'. For the network in a file: mx.sym.load",
    ),
    "a list": (
        [NET, NET],
        r"Module: symbol must be a Symbol; got list. Several outputs are one symbol: mx.sym.Group",
    ),
    "nothing": (None, "Module: symbol must be a Symbol; got NoneType."),
}


@pytest.mark.parametrize(("given", "says"), MISTAKEN_MODULES.values(), ids=MISTAKEN_MODULES)
def test_a_module_of_what_is_no_symbol(given: Any, says: str) -> None:
    with pytest.raises(mx.MXNetError, match=says):
        mx.mod.Module(given)


def test_one_name_is_a_list_of_it() -> None:
    """MXNet takes the letters of a text for names."""
    module = mx.mod.Module(NET, "data", "softmax_label", fixed_param_names="fc_weight")
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    assert (module.data_names, module.label_names) == (["data"], ["softmax_label"])
    assert module._exec_group.execs[0].grad_dict["fc_weight"] is None


ON_ONE: dict[str, Callable[[Any], Any]] = {
    "Module": lambda ctx: mx.mod.Module(NET, context=ctx)._context[0],
    "Module, a list": lambda ctx: mx.mod.Module(NET, context=[ctx])._context[0],
    "FeedForward": lambda ctx: mx.model.FeedForward(NET, ctx=ctx).ctx[0],
    "Symbol.bind": lambda ctx: X.bind(ctx, {"x": mx.nd.ones((2,), mx.cpu(1))})._ctx,
    "Symbol.simple_bind": lambda ctx: X.simple_bind(ctx, x=(2,))._ctx,
    "Symbol.eval": lambda ctx: X.eval(ctx, x=mx.nd.ones((2,), mx.cpu(1)))[0].ctx,
    "nd.zeros": lambda ctx: mx.nd.zeros((2,), ctx).ctx,
    "nd.array": lambda ctx: mx.nd.array([1], ctx).ctx,
    "nd.random.uniform": lambda ctx: mx.nd.random.uniform(shape=(2,), ctx=ctx).ctx,
    "NDArray.copyto": lambda ctx: mx.nd.ones((2,)).copyto(ctx).ctx,
    "NDArray.as_in_context": lambda ctx: mx.nd.ones((2,)).as_in_context(ctx).ctx,
}


@pytest.mark.parametrize("name", ON_ONE)
def test_a_device_may_be_its_text(name: str) -> None:
    """As in a symbol's file; MXNet refuses it, in words of its own for each function."""
    assert ON_ONE[name]("cpu(1)") == mx.cpu(1)
    with pytest.raises(mx.MXNetError, match=r"must be a Device|an NDArray or a Device"):
        ON_ONE[name](0)
