"""Mistakes with symbols and executors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rebind as mx
from rebind import nd, sym

from .things import arguments, executor, matrix, net, var

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "var number": (lambda: sym.var(3), "sym.var: name must be a string; got 3"),
    "var None": (lambda: sym.var(None), "sym.var: name must be a string; got None"),
    "var symbol": (lambda: sym.var(var()), "sym.var: name must be a string; got <Symbol v>"),
    "var shape text": (
        lambda: sym.var("a", shape="two"),
        "sym.var: shape must be a tuple of ints; got 'two'",
    ),
    "var shape item": (
        lambda: sym.var("a", shape=(2, "a")),
        "sym.var: shape must be a tuple of ints; got (2, 'a')",
    ),
    "var lr_mult": (lambda: sym.var("a", lr_mult="ten"), "sym.var: lr_mult must be a float; got 'ten'"),
    "var dtype": (
        lambda: sym.var("a", dtype="flaot32"),
        "sym.var: dtype must be one of float32, float64, float16, ... got 'flaot32'; did you mean",
    ),
    "var stype": (lambda: sym.var("a", stype="csrr"), "sym.var: stype must be ... got 'csrr'"),
    "var init number": (
        lambda: sym.var("a", init=3),
        "sym.var: init must be an Initializer or its text; got 3",
    ),
    "var attr number": (
        lambda: sym.var("a", attr={"a": 1}),
        "sym.var: attribute 'a' must be a string; got 1",
    ),
    "var attr text": (lambda: sym.var("a", attr="x"), "sym.var: attr must be a dict; got the text 'x'"),
    "simple_bind shared_arg_names": (
        lambda: net().simple_bind(mx.cpu(), data=(4, 4), shared_arg_names=5),
        "Symbol.simple_bind: shared_arg_names must be a list or None; got 5",
    ),
    "simple_bind shared_buffer": (
        lambda: net().simple_bind(mx.cpu(), data=(4, 4), shared_buffer=5),
        "Symbol.simple_bind: shared_buffer must be a dict or None; got 5",
    ),
    "cond then_func": (
        lambda: sym.contrib.cond(var(), 5, lambda: var()),
        "contrib.cond: then_func must be a function; got 5",
    ),
    "attr name number": (
        lambda: sym.FullyConnected(var(), num_hidden=3, attr={5: "a"}),
        "FullyConnected 'fullyconnected0': the names of attributes must be strings; got 5",
    ),
    "Group symbol": (lambda: sym.Group("a"), "sym.Group: must be given a list of symbols; got 'a'"),
    "Group number": (
        lambda: sym.Group([var(), 3]),
        "sym.Group: must be given a list of symbols; got [<Symbol v>, 3]",
    ),
    "Group no list": (lambda: sym.Group(5), "sym.Group: must be given a list of symbols; got 5"),
    "Group empty": (lambda: sym.Group([]), "sym.Group: must be given a list of symbols; got []"),
    "load_json text": (
        lambda: sym.load_json("{"),
        "<json>: a symbol must be JSON; Expecting property name enclosed in double quotes: line 1 column 2",
    ),
    "load_json number": (lambda: sym.load_json(3), "sym.load_json: json_str must be a string; got 3"),
    "load number": (lambda: sym.load(3), "sym.load: fname must be a path; got 3"),
    "save number": (lambda: net().save(3), "Symbol.save: fname must be a path; got 3"),
    "compose number": (lambda: net()(data=3), "Symbol: data must be a Symbol; got 3"),
    "compose near": (
        lambda: net()(dta=var()),
        "Symbol: no argument 'dta'; did you mean 'data'? Arguments: data, fc1_weight, fc1_bias,",
    ),
    "compose text": (lambda: net()("x"), "Symbol: data must be a Symbol; got 'x'"),
    "compose both": (
        lambda: net()(var("a"), data=var("b")),
        "Symbol: compose takes symbols by position or by name, not both",
    ),
    "output name": (
        lambda: net()["fc1_output"],
        "Symbol: no output 'fc1_output'; did you mean 'softmax_output'?",
    ),
    "output index": (lambda: net()[7], "Symbol: an output's number must be below 1; got 7"),
    "output float": (
        lambda: net()[1.5],
        "Symbol: an output is chosen by a number, a name or a slice; got 1.5",
    ),
    "internals near": (
        lambda: net().get_internals()["fc1_outptu"],
        "Symbol: no output 'fc1_outptu'; did you mean 'fc1_output'?",
    ),
    "infer_shape text": (
        lambda: net().infer_shape(data="8,4"),
        "Symbol.infer_shape: data must be an int or a sequence of ints; got '8,4'",
    ),
    "infer_shape near": (
        lambda: net().infer_shape(dta=(8, 4)),
        "Symbol.infer_shape: no argument 'dta'; did you mean 'data'? Arguments: data, fc1_weight,",
    ),
    "infer_shape both": (
        lambda: net().infer_shape((8, 4), data=(8, 4)),
        "Symbol.infer_shape: takes values by position or by name, not both",
    ),
    "infer_shape item": (
        lambda: net().infer_shape(data=(8, "4")),
        "Symbol.infer_shape: data must be an int or a sequence of ints; got (8, '4')",
    ),
    "infer_shape float": (
        lambda: net().infer_shape(data=(8, 4.5)),
        "Symbol.infer_shape: data must be an int or a sequence of ints; got (8, 4.5)",
    ),
    "infer_type near value": (
        lambda: net().infer_type(data="flaot32"),
        "Symbol.infer_type: data must be one of float32, float64, ... got 'flaot32'; did you mean",
    ),
    "infer_type near": (
        lambda: net().infer_type(dta="float32"),
        "Symbol.infer_type: no argument 'dta'; did you mean 'data'? Arguments: data, fc1_weight, fc1_bias,",
    ),
    "bind args None": (
        lambda: net().bind(mx.cpu(), None),
        "Symbol.bind: arrays are missing for 'data', 'fc1_weight', 'fc1_bias', 'softmax_label'",
    ),
    "bind args few": (
        lambda: net().bind(mx.cpu(), arguments()[:2]),
        "Symbol.bind: args: a list must hold 4 arrays, for ['data', ... got 2",
    ),
    "bind args numpy": (
        lambda: net().bind(mx.cpu(), [np.ones((4, 4)), *arguments()[1:]]),
        "Symbol.bind: args: 'data' must be an NDArray; got array([[1., 1., 1., 1.],",
    ),
    "bind args missing": (
        lambda: net().bind(mx.cpu(), {"data": nd.ones((4, 4))}),
        "Symbol.bind: arrays are missing for 'fc1_weight', 'fc1_bias', 'softmax_label'",
    ),
    "bind args near": (
        lambda: net().bind(
            mx.cpu(), dict(zip(["data", "fc1_wieght", "fc1_bias", "softmax_label"], arguments()))
        ),
        "Symbol.bind: arrays are missing for 'fc1_weight'; given, but no arguments: 'fc1_wieght'",
    ),
    "bind grad list": (
        lambda: net().bind(mx.cpu(), arguments(), args_grad=arguments()[:1]),
        "Symbol.bind: args_grad: a list must hold 4 arrays, for ... got 1",
    ),
    "bind grad number": (
        lambda: net().bind(mx.cpu(), arguments(), args_grad=3),
        "Symbol.bind: args_grad must be a list or a dict of NDArrays; got 3",
    ),
    "bind grad_req": (
        lambda: net().bind(mx.cpu(), arguments(), grad_req="wirte"),
        "Symbol.bind: grad_req must be one of 'write', 'add', 'null'; got 'wirte' for 'data'",
    ),
    "bind grad_req dict": (
        lambda: net().bind(mx.cpu(), arguments(), grad_req={"fc1_weight": "wirte"}),
        "Symbol.bind: grad_req must be one of 'write', 'add', 'null'; got 'wirte' for 'fc1_weight'",
    ),
    "bind grad_req list": (
        lambda: net().bind(mx.cpu(), arguments(), grad_req=["write"]),
        "Symbol.bind: grad_req: a list must hold one word for each of ... got ['write']",
    ),
    "bind grad_req number": (
        lambda: net().bind(mx.cpu(), arguments(), grad_req=1),
        "Symbol.bind: grad_req must be a word, a list or a dict; got 1",
    ),
    "bind aux": (
        lambda: sym.BatchNorm(var(), name="bn").bind(
            mx.cpu(), [nd.ones((2, 3)), nd.ones((3,)), nd.ones((3,))], aux_states=3
        ),
        "Symbol.bind: aux_states must be a list or a dict of NDArrays; got 3",
    ),
    "bind group2ctx": (
        lambda: net().bind(mx.cpu(), arguments(), group2ctx="cpu"),
        "Symbol.bind: group2ctx must be a dict or None; got the text 'cpu'",
    ),
    "bind shared": (
        lambda: net().bind(mx.cpu(), arguments(), shared_exec=3),
        "Symbol.bind: shared_exec must be an instance of Executor or None; got 3",
    ),
    "simple_bind text": (
        lambda: net().simple_bind(mx.cpu(), data="(8,4)"),
        "Symbol.simple_bind: data must be an int or a sequence of ints; got '(8,4)'",
    ),
    "simple_bind array": (
        lambda: net().simple_bind(mx.cpu(), data=nd.ones((8, 4))),
        "Symbol.simple_bind: data must be an int or a sequence of ints; got",
    ),
    "simple_bind none": (
        lambda: net().simple_bind(mx.cpu()),
        "Symbol.simple_bind: cannot infer these shapes from {}: data ?, fc1_weight ?, softmax_label ?. Give",
    ),
    "simple_bind ctx": (
        lambda: net().simple_bind(0, data=(8, 4)),
        "Symbol.simple_bind: ctx must be a Device such as mx.cpu() or mx.gpu(0); got 0",
    ),
    "simple_bind type_dict": (
        lambda: net().simple_bind(mx.cpu(), data=(8, 4), type_dict="float32"),
        "Symbol.simple_bind: type_dict must be a dict or None; got the text 'float32'",
    ),
    "simple_bind type_dict value": (
        lambda: net().simple_bind(mx.cpu(), data=(8, 4), type_dict={"data": "flaot32"}),
        "Symbol.simple_bind: type_dict: type of 'data' must be one of ... got 'flaot32'; did you mean",
    ),
    "simple_bind type_dict key": (
        lambda: net().simple_bind(mx.cpu(), data=(8, 4), type_dict={"dta": "float32"}),
        "Symbol.simple_bind: no argument 'dta'; did you mean 'data'? Arguments: data, fc1_weight,",
    ),
    "simple_bind stype_dict": (
        lambda: net().simple_bind(mx.cpu(), data=(8, 4), stype_dict={"data": "csrr"}),
        "Symbol.simple_bind: stype_dict: stype of 'data' must be ... got 'csrr'.",
    ),
    "simple_bind grad_req": (
        lambda: net().simple_bind(mx.cpu(), grad_req="wirte", data=(8, 4)),
        "Symbol.simple_bind: grad_req must be one of 'write', 'add', 'null'; got 'wirte' for 'data'",
    ),
    "exec forward near": (
        lambda: executor().forward(dta=nd.ones((4, 4))),
        "Executor.forward: no argument 'dta'; did you mean 'data'? Arguments: data, fc1_weight, fc1_bias,",
    ),
    "exec forward list": (
        lambda: executor().forward(data=[1, 2]),
        "Executor.forward: data must be an NDArray or a NumPy array; got [1, 2]",
    ),
    "exec forward shape": (
        lambda: executor().forward(data=nd.ones((5, 4))),
        "Executor.forward: data must have shape (4, 4); got (5, 4)",
    ),
    "exec forward text": (
        lambda: executor().forward(data="x"),
        "Executor.forward: data must be an NDArray or a NumPy array; got 'x'",
    ),
    "exec forward is_train text": (
        lambda: executor().forward(is_train="False"),
        "Executor.forward: is_train must be True or False; got the text 'False'",
    ),
    "exec backward number": (
        lambda: (var() * 2).simple_bind(mx.cpu(), v=(2,)).backward(3),
        "Executor.backward: out_grads must be a list; got 3",
    ),
    "exec backward text": (
        lambda: (lambda e: (e.forward(True), e.backward("x")))((var() * 2).simple_bind(mx.cpu(), v=(2,))),
        "Executor.backward: out_grads must be a list; got the text 'x'",
    ),
    "exec backward none": (
        lambda: (lambda e: (e.forward(True), e.backward()))((var() * 2).simple_bind(mx.cpu(), v=(2,))),
        "Executor.backward: output '_mulscalar0_output' is no loss, so out_grads must hold its head",
    ),
    "exec backward shape": (
        lambda: (lambda e: (e.forward(True), e.backward([nd.ones((5,))])))(
            (var() * 2).simple_bind(mx.cpu(), v=(2,))
        ),
        "Executor.backward: out_grads: the gradient of '_mulscalar0_output' must have shape (2,); got (5,)",
    ),
    "exec copy_params text": (
        lambda: executor().copy_params_from("x"),
        "Executor.copy_params_from: arg_params must be a dict or None; got the text 'x'",
    ),
    "exec copy_params number": (
        lambda: executor().copy_params_from({"fc1_weight": "x"}),
        "Executor.copy_params_from: fc1_weight must be an NDArray; got 'x'",
    ),
    "exec copy_params near": (
        lambda: executor().copy_params_from({"fc1_wieght": nd.ones((3, 4))}),
        "Executor.copy_params_from: no argument 'fc1_wieght'; did you mean 'fc1_weight'? Set",
    ),
    "exec copy_params shape": (
        lambda: executor().copy_params_from({"fc1_weight": nd.ones((5, 5))}),
        "Executor.copy_params_from: fc1_weight must have shape (3, 4); got (5, 5)",
    ),
    "exec reshape text": (
        lambda: executor().reshape(data="x"),
        "Executor.reshape: data must be an int or a sequence of ints; got 'x'",
    ),
    "exec reshape near": (
        lambda: executor().reshape(dta=(4, 4)),
        "Executor.reshape: no argument 'dta'; did you mean 'data'?",
    ),
    "exec monitor": (
        lambda: executor().set_monitor_callback(3),
        "Executor.set_monitor_callback: callback must be a function or None; got 3",
    ),
    "add text": (lambda: var() + "a", "unsupported operand type(s) for +: 'Symbol' and 'str'"),
    "add numpy": (
        lambda: var() + np.ones(3),
        "Symbol: arithmetic takes symbols and numbers; got a NumPy array. Make it an input: sym.var()",
    ),
    "add array": (lambda: var() + matrix(), "unsupported operand type(s) for +: 'Symbol' and 'NDArray'"),
    "pow None": (
        lambda: var() ** None,
        "unsupported operand type(s) for ** or pow(): 'Symbol' and 'NoneType'",
    ),
    "attr number": (lambda: var().attr(3), "Symbol.attr: key must be text; got 3"),
    "eval number": (lambda: (var() * 2).eval(v=3), "Symbol.bind: args: 'v' must be an NDArray; got 3"),
    "eval missing": (lambda: (var() * 2).eval(), "Symbol.bind: arrays are missing for 'v'"),
    "zeros text": (
        lambda: sym.zeros("a"),
        "_zeros '_zeros0': shape must be a tuple of ints >= -1 or None; got 'a'",
    ),
    "arange text": (lambda: sym.arange("a"), "_arange '_arange0': start must be a float; got 'a'"),
    "full None": (lambda: sym.full((2,), None), "sym.full: val must be a number; got None"),
    "reshape text": (
        lambda: var().reshape("a"),
        "Reshape 'reshape0': shape must be a tuple of ints; got ('a',)",
    ),
    "foreach body": (
        lambda: sym.contrib.foreach(3, var(), var("s")),
        "contrib.foreach: body must be a function; got 3",
    ),
    "foreach data": (
        lambda: sym.contrib.foreach(lambda d, s: (d, s), 3, var("s")),
        "contrib.foreach: data must be of class Symbol, or (nested) lists of such; got 3",
    ),
    "while max": (
        lambda: sym.contrib.while_loop(lambda a: a < 3, lambda a: (a, [a]), [var()], max_iterations=None),
        "contrib.while_loop: max_iterations must be an int, the largest number of steps; got None",
    ),
    "while max text": (
        lambda: sym.contrib.while_loop(lambda a: a < 3, lambda a: (a, [a]), [var()], max_iterations="x"),
        "contrib.while_loop: max_iterations must be an int, the largest number of steps; got 'x'",
    ),
    "while cond": (
        lambda: sym.contrib.while_loop(True, lambda a: (a, [a]), [var()], max_iterations=3),
        "contrib.while_loop: cond must be a function; got True",
    ),
    "cond pred": (
        lambda: sym.contrib.cond(True, lambda: var(), lambda: var()),
        "contrib.cond: pred must be a Symbol; got True",
    ),
    "set_attr number": (lambda: var()._set_attr(a=1), "Symbol: attribute 'a' must be a string; got 1"),
    "pow text": (
        lambda: sym.pow(var(), "a"),
        "sym.power: both arguments must be symbols or numbers; got <Symbol v> and 'a'",
    ),
    "maximum text": (
        lambda: sym.maximum(var(), "a"),
        "sym.maximum: both arguments must be symbols or numbers; got <Symbol v> and 'a'",
    ),
}
