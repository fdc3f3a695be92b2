"""Arguments that are names: each row of the table against its function; and calls that run, which are not reported."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.parity.cases import CASES

import rebind as mx
from rebind.registry import Registry
from rebind.script_check import check_source, choices
from rebind.script_check.names import look_up

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))


def _data() -> mx.io.NDArrayIter:
    return mx.io.NDArrayIter(np.eye(4, dtype="float32"), np.zeros(4), batch_size=4)


def _module(prepare: bool = True) -> mx.mod.Module:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    module, data = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax")), _data()
    if prepare:
        module.bind(data.provide_data, data.provide_label)
        module.init_params()
    return module


def _feed(**given: Any) -> Any:
    return mx.model.FeedForward(_module().symbol, num_epoch=1, **given)


def _arrays() -> tuple[Any, Any]:
    return np.eye(4, dtype="float32"), np.zeros(4)


def _trained(**given: Any) -> Any:
    model = _feed(**given)
    model.fit(*_arrays())
    return model


def _mode(mode: str) -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        mx.profiler.profiler_set_config(mode)


def _old_state(state: str) -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        mx.profiler.profiler_set_state(state)


def _mark(grad_reqs: str) -> None:
    mx.autograd.mark_variables([mx.nd.ones((2,))], [mx.nd.ones((2,))], grad_reqs=grad_reqs)


def _pictures(iterator: Any, labels: list[float], last_batch_handle: str) -> Any:
    picture = mx.recordio.pack_img(
        mx.recordio.IRHeader(0, 0.0, 0, 0), np.zeros((4, 4, 3), np.uint8), img_fmt=".png"
    )
    Path("a.png").write_bytes(picture[24:])
    return iterator(
        1, (3, 4, 4), imglist=[[*labels, "a.png"]], path_root=".", last_batch_handle=last_batch_handle
    )


#: By path, a call with the argument of a row by name.
CALLS: dict[str, Callable[..., object]] = {
    "optimizer.create": mx.optimizer.create,
    "optimizer.Optimizer.create_optimizer": mx.optimizer.Optimizer.create_optimizer,
    "mod.BaseModule.fit": lambda **given: _module(False).fit(_data(), _data(), num_epoch=1, **given),
    "mod.BaseModule.init_optimizer": lambda **given: _module().init_optimizer(**given),
    "mod.BaseModule.score": lambda **given: _module().score(_data(), **given),
    "mod.BaseModule.init_params": lambda **given: _module().init_params(force_init=True, **given),
    "mod.BaseModule.bind": lambda **given: _module(False).bind(_data().provide_data, _data().provide_label, **given),
    "model.FeedForward": _trained,
    "model.FeedForward.create": lambda **given: mx.model.FeedForward.create(
        _module().symbol, *_arrays(), num_epoch=1, **given
    ),
    "model.FeedForward.fit": lambda **given: _feed().fit(*_arrays(), **given),
    "model.FeedForward.score": lambda **given: _trained().score(_arrays()[0], y=_arrays()[1], **given),
    "model.FeedForward.init_model": lambda **given: _feed().init_model(data=(4, 4), softmax_label=(4,), **given),
    "metric.create": mx.metric.create,
    "metric.CompositeEvalMetric": mx.metric.CompositeEvalMetric,
    "metric.CompositeEvalMetric.add": mx.metric.CompositeEvalMetric().add,
    "init.create": mx.init.create,
    "init.FusedRNN": lambda init: mx.init.FusedRNN(init, num_hidden=2, num_layers=1, mode="lstm"),
    "kvstore.create": mx.kv.create,
    "models.get": mx.models.get,
    "autograd.mark_variables": _mark,
    "io.NDArrayIter": lambda **given: mx.io.NDArrayIter(np.eye(4), **given),
    "image.ImageIter": lambda **given: _pictures(mx.image.ImageIter, [0.0], **given),
    "image.ImageDetIter": lambda **given: _pictures(mx.image.ImageDetIter, [2.0, 5.0, 0, 0, 0, 1, 1], **given),
    "profiler.set_state": mx.profiler.set_state,
    "profiler.profiler_set_state": _old_state,
    "profiler.profiler_set_config": _mode,
    "profiler.dumps": mx.profiler.dumps,
}  # fmt: skip


@pytest.mark.parametrize("row", choices.ROWS, ids=lambda row: f"{row.path} {row.argument}")
def test_a_row_is_an_argument_that_takes_no_other_name(
    row: choices.Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = look_up(f"mxnet.{row.path}")
    parameters = inspect.signature(called).parameters
    assert row.argument in parameters
    assert row.settings in ("", "**", *parameters)
    wrong = f"{next(iter(row.known))}x"
    given = [wrong] if row.argument == "metrics" else wrong
    with pytest.raises((mx.MXNetError, UserWarning)) as refused:
        CALLS[row.path](**{row.argument: given})
    said = str(refused.value)
    if isinstance(row.known, Registry):
        assert repr(wrong) in said and row.known.kind.split()[-1] in said
    else:
        assert f"{', '.join(map(repr, row.known))}; got {wrong!r}" in said


@pytest.mark.parametrize("path", choices.SETTINGS)
def test_a_function_takes_the_settings_of_the_class_and_no_others(path: str) -> None:
    taker, others = choices.SETTINGS[path]
    for name in inspect.signature(taker).parameters:
        look_up(f"mxnet.{path}")(**{name: getattr(taker(), name)})
    with pytest.raises(mx.MXNetError, match=", ".join((*inspect.signature(taker).parameters, *others))):
        look_up(f"mxnet.{path}")(whatever=1)
    look_up(f"mxnet.{path}")()


#: The annotations of arguments that may be names.
OF_NAMES = ("MetricSpec", "StoreSpec", "InitializerSpec", "str | Optimizer")


@pytest.mark.parametrize("owner", ["mod.BaseModule", "model.FeedForward"])
def test_each_argument_that_may_be_a_name_has_a_row(owner: str) -> None:
    rows = {(row.path, row.argument) for row in choices.ROWS}
    one = look_up(f"mxnet.{owner}")
    functions = {owner: one, **{f"{owner}.{name}": getattr(one, name) for name in dir(one) if name[0] != "_"}}
    functions.pop("model.FeedForward.give_values", None)  # not MXNet's: `init_model` calls it
    functions.pop("model.FeedForward.train", None)  # another name of fit
    for path, function in functions.items():
        for name, parameter in inspect.signature(function).parameters.items() if callable(function) else ():
            if any(str(parameter.annotation).startswith(text) for text in OF_NAMES):
                assert (path, name) in rows


def test_calls_that_mxnet_takes_are_not_reported() -> None:
    calls = [
        f"mx.{module}.{case.operator}({', '.join(f'{name}={value!r}' for name, value in case.parameters.items())})"
        for cases in CASES.values()
        for case in cases.values()
        for module in ("sym", "nd")
    ]
    found = check_source("import mxnet as mx\n" + "\n".join(calls), "calls.py")
    assert [finding for finding in found if finding.kind != "value"] == []


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_are_not_reported(page: Path) -> None:
    examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    text = "".join(example.source for example in examples if example.exc_msg is None)
    assert [
        one for one in check_source(text, page.name) if one.kind in ("choice", "keyword", "mistake")
    ] == []


@pytest.mark.parametrize(
    ("program", "sentences"),
    [
        (
            "net.fit(it, optimizer='sgdd')",
            ["mod.Module.fit: optimizer: no optimizer 'sgdd'; did you mean 'sgd' or 'sgld' or 'lbsgd'?"],
        ),
        (
            "import symbols\nnet.fit(it, optimizer='sgdd')",
            [
                "mod.Module.fit: optimizer: no optimizer 'sgdd' (unless a module that the program imports registers "
                "it); did you mean 'sgd' or 'sgld' or 'lbsgd'?"
            ],
        ),
        ("import symbols\nnet.fit(it, optimizer='one_of_its_own')", []),
        (
            "net.fit(it, optimizer='one_of_its_own')",
            ["mod.Module.fit: optimizer: no optimizer 'one_of_its_own'"],
        ),
        ("net.fit(it, *more, optimizer_params={'whatever': 1})", []),
        (
            "mx.nd.Activation(x, 'rleu')",
            [
                "nd.Activation: act_type must be one of 'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'; got 'rleu'; "
                "did you mean 'relu'?"
            ],
        ),
    ],
)
def test_sentences(program: str, sentences: list[str]) -> None:
    found = check_source(f"import mxnet as mx\nnet = mx.mod.Module(1)\n{program}", "a.py")
    assert [finding.message for finding in found] == sentences
    assert all(finding.stops == ("unless" not in finding.message) for finding in found)
