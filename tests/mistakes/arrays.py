"""Mistakes with arrays, random numbers and gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rebind as mx
from rebind import nd, sym

from .things import FOLDER, matrix, var

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "zeros shape text": (
        lambda: nd.zeros("3x3"),
        "nd.zeros: shape must be an int or a sequence of ints; got '3x3'",
    ),
    "zeros shape negative": (lambda: nd.zeros((2, -1)), "nd.zeros: shape: sizes must be >= 0; got (2, -1)"),
    "zeros shape float": (
        lambda: nd.zeros((2, 2.5)),
        "nd.zeros: shape must be an int or a sequence of ints; got (2, 2.5)",
    ),
    "zeros shape None": (
        lambda: nd.zeros(None),
        "nd.zeros: shape must be an int or a sequence of ints; got None",
    ),
    "zeros dtype near": (
        lambda: nd.zeros((2,), dtype="flaot32"),
        "nd.zeros: dtype must be one of float32, float64, float16, ... got 'flaot32'; did you mean",
    ),
    "zeros dtype number": (
        lambda: nd.zeros((2,), dtype=3.5),
        "nd.zeros: dtype must be one of float32, float64, float16, ... got 3.5.",
    ),
    "zeros ctx text": (
        lambda: nd.zeros((2,), ctx="gpu0"),
        "nd.zeros: ctx: Device: device_type must be one of cpu, gpu, ... got 'gpu0'; did you mean 'gpu'?",
    ),
    "zeros stype near": (lambda: nd.zeros((2,), stype="csrr"), "nd.zeros: stype must be ... got 'csrr'."),
    "full val text": (
        lambda: nd.full((2,), "seven"),
        "nd.full: val must be a number, a list of numbers or an array; got the text 'seven'",
    ),
    "full val None": (
        lambda: nd.full((2,), None),
        "nd.full: val must be a number, a list of numbers or an array; got None",
    ),
    "full val nan of a whole type": (
        lambda: nd.full((2,), float("nan"), dtype="int32"),
        "nd.full: the value must be in the range of type int32; got nan",
    ),
    "assigned number beyond the type": (
        lambda: nd.zeros((2,), dtype="uint8").__setitem__(slice(None), 300),
        "NDArray: a number written into an array of type uint8 must be in its range; got 300",
    ),
    "arange text": (lambda: nd.arange("five"), "arange: start must be a float; got 'five'"),
    "arange step zero": (lambda: nd.arange(0, 5, 0), "arange: step must not be 0; got 0"),
    "arange repeat 0": (lambda: nd.arange(0, 5, 1, repeat=0), "arange: repeat must be an int >= 1; got 0"),
    "arange repeat float": (
        lambda: nd.arange(0, 5, 1, repeat=1.5),
        "arange: repeat must be an int >= 1; got 1.5",
    ),
    "linspace num text": (
        lambda: nd.linspace(0, 1, "five"),
        "nd.linspace: num must be an int >= 0; got the text 'five'",
    ),
    "linspace num float": (lambda: nd.linspace(0, 1, 2.5), "nd.linspace: num must be an int >= 0; got 2.5"),
    "linspace num negative": (lambda: nd.linspace(0, 1, -3), "nd.linspace: num must be an int >= 0; got -3"),
    "linspace start None": (lambda: nd.linspace(None, 1, 3), "nd.linspace: start must be a number; got None"),
    "eye negative": (lambda: nd.eye(-1), "eye: N must be an int >= 0; got -1"),
    "eye k float": (lambda: nd.eye(3, k=1.5), "eye: k must be an int; got 1.5"),
    "array None": (
        lambda: nd.array(None),
        "nd.array: source_array must be numbers in a regular shape; got None",
    ),
    "array text": (
        lambda: nd.array("abc"),
        "nd.array: source_array must be numbers in a regular shape; got 'abc'",
    ),
    "array ragged": (
        lambda: nd.array([[1, 2], [3]]),
        "nd.array: source_array must be numbers in a regular shape; got [[1, 2], [3]]",
    ),
    "array dict": (
        lambda: nd.array({"a": 1}),
        "nd.array: source_array must be numbers in a regular shape; got {'a': 1}",
    ),
    "array of texts": (
        lambda: nd.array(["a", "b"]),
        "nd.array: source_array must be numbers in a regular shape; got ['a', 'b']",
    ),
    "array ctx number": (
        lambda: nd.array([1], ctx=0),
        "nd.array: ctx must be a Device such as mx.cpu() or mx.gpu(0); got 0",
    ),
    "array dtype list": (
        lambda: nd.array([1], dtype=["float32"]),
        "nd.array: dtype must be one of float32, float64, float16, ... got ['float32']; did you mean",
    ),
    "concatenate array": (lambda: nd.concatenate(3), "nd.concatenate: arrays must be a list; got 3"),
    "concatenate number in": (
        lambda: nd.concatenate([matrix(), 3]),
        "nd.concatenate: arrays[1] must be an instance of NDArray; got 3",
    ),
    "concat axis": (
        lambda: nd.concat(matrix(), matrix(), dim=7),
        "concat: dim must be in [-2, 2) for data of shape (2, 3); got 7",
    ),
    "concat text axis": (
        lambda: nd.concat(matrix(), matrix(), dim="first"),
        "concat: dim must be an int; got 'first'",
    ),
    "stack shapes": (
        lambda: nd.stack(matrix(), nd.ones((5,))),
        "stack: all arrays must have one shape; got (2, 3), (5,)",
    ),
    "moveaxis": (
        lambda: nd.moveaxis(matrix(), 0, 5),
        "nd.moveaxis: destination must be in [-2, 2) for an array of 2 axes; got 5",
    ),
    "moveaxis text": (lambda: nd.moveaxis(matrix(), "a", 1), "nd.moveaxis: source must be an int; got 'a'"),
    "save dict of numbers": (
        lambda: nd.save(FOLDER + "/f", {"a": 1}),
        "nd.save: data must hold NDArrays only; got 1 for 'a'",
    ),
    "save number": (
        lambda: nd.save(FOLDER + "/f", 3),
        "nd.save: data must be an NDArray, a list or a dict of them; got 3",
    ),
    "save fname": (lambda: nd.save(3, matrix()), "nd.save: fname must be a path; got 3"),
    "save swapped": (
        lambda: nd.save(matrix(), FOLDER + "/f"),
        "nd.save: fname must be a path; got NDArray of shape (2, 3)",
    ),
    "load fname": (lambda: nd.load(3), "nd.load: fname must be a path; got 3"),
    "load None": (lambda: nd.load(None), "nd.load: fname must be a path; got None"),
    "load_frombuffer text": (
        lambda: nd.load_frombuffer("text"),
        "nd.load_frombuffer: buf must be bytes; got 'text'",
    ),
    "reshape text": (lambda: matrix().reshape("six"), "NDArray.reshape: shape must be ints; got ('six',)"),
    "reshape item text": (
        lambda: matrix().reshape((2, "a")),
        "NDArray.reshape: shape must be ints; got (2, 'a')",
    ),
    "reshape size": (
        lambda: matrix().reshape((4, 5)),
        "reshape: shape=(4, 5) must fit data of shape (2, 3); got 6 elements for 20",
    ),
    "astype near": (
        lambda: matrix().astype("flaot32"),
        "NDArray.astype: dtype must be one of float32, float64, ... got 'flaot32'; did you mean",
    ),
    "as_in_context text": (
        lambda: matrix().as_in_context("gpuu"),
        "NDArray.as_in_context: context: Device: device_type must be ... got 'gpuu'; did you mean 'gpu'?",
    ),
    "as_in_context number": (
        lambda: matrix().as_in_context(0),
        "NDArray.as_in_context: context must be a Device such as mx.cpu() or mx.gpu(0); got 0",
    ),
    "copyto numpy": (
        lambda: matrix().copyto(np.zeros((2, 3))),
        "NDArray.copyto: other must be an NDArray or a Device; got array([[0., 0., 0.],",
    ),
    "copyto shape": (
        lambda: matrix().copyto(nd.zeros((5,))),
        "NDArray.copyto: other must have shape (2, 3); got (5,)",
    ),
    "index text": (
        lambda: matrix()["a"],
        "NDArray: an index must be an int, a slice, None, ..., a list or an array; got 'a'",
    ),
    "index float": (
        lambda: matrix()[1.5],
        "NDArray: an index must be an int, a slice, None, ..., a list or an array; got 1.5",
    ),
    "index beyond": (
        lambda: matrix()[5],
        "NDArray: index 5 is out of bounds for axis 0 with size 2; the array has shape (2, 3)",
    ),
    "index axes": (
        lambda: matrix()[0, 0, 0],
        "NDArray: too many indices for an array of 2 axes; the array has shape (2, 3)",
    ),
    "index list beyond": (
        lambda: matrix()[[0, 9]],
        "NDArray: index 9 is out of bounds for axis 0 with size 2; the array has shape (2, 3)",
    ),
    "index slice text": (
        lambda: matrix()["0":"1"],
        "NDArray: the bounds of a slice must be ints or None; got slice('0', '1', None)",
    ),
    "set text": (
        lambda: matrix().__setitem__(0, "a"),
        "NDArray: a value to write must be numbers in a regular shape; got 'a'",
    ),
    "set None": (
        lambda: matrix().__setitem__(slice(None), None),
        "NDArray: a value to write must be numbers in a regular shape; got None",
    ),
    "set shape": (
        lambda: matrix().__setitem__(slice(None), nd.ones((9,))),
        "NDArray: a value written into (2, 3) at slice(None, None, ... got shape (9,). The expanded size",
    ),
    "add text": (lambda: matrix() + "1", "unsupported operand type(s) for +: 'NDArray' and 'str'"),
    "add None": (lambda: matrix() + None, "unsupported operand type(s) for +: 'NDArray' and 'NoneType'"),
    "multiply dict": (lambda: matrix() * {}, "unsupported operand type(s) for *: 'NDArray' and 'dict'"),
    "power text": (
        lambda: matrix() ** "2",
        "unsupported operand type(s) for ** or pow(): 'NDArray' and 'str'",
    ),
    "compare text": (lambda: matrix() > "a", "'>' not supported between instances of 'NDArray' and 'str'"),
    "add symbol": (lambda: matrix() + var(), "unsupported operand type(s) for +: 'NDArray' and 'Symbol'"),
    "add shapes": (
        lambda: matrix() + nd.ones((5,)),
        "broadcast_add: shapes of lhs and rhs must be equal or 1 on ... got (2, 3) and (5,)",
    ),
    "attach_grad near": (
        lambda: matrix().attach_grad("wirte"),
        "NDArray: grad_req must be one of 'write', 'add', 'null'; got 'wirte'",
    ),
    "attach_grad number": (
        lambda: matrix().attach_grad(1),
        "NDArray: grad_req must be one of 'write', 'add', 'null'; got 1",
    ),
    "attach_grad stype": (
        lambda: matrix().attach_grad(stype="csrr"),
        "NDArray.attach_grad: stype must be ... got 'csrr'",
    ),
    "asscalar": (
        lambda: matrix().asscalar(),
        "NDArray.asscalar: the array must have one element; got shape (2, 3)",
    ),
    "float": (lambda: float(matrix()), "NDArray.asscalar: the array must have one element; got shape (2, 3)"),
    "bool": (
        lambda: bool(matrix()),
        "NDArray: the truth of 6 elements is ambiguous; use (a > 0).sum() or the like",
    ),
    "int": (lambda: int(matrix()), "NDArray.asscalar: the array must have one element; got shape (2, 3)"),
    "tostype": (lambda: matrix().tostype("csc"), "NDArray.tostype: stype must be ... got 'csc'."),
    "split_v2 float": (
        lambda: nd.split_v2(matrix(), 2.5),
        "split_v2: indices_or_sections must be an int or a tuple of ints; got 2.5",
    ),
    "split_v2 uneven": (
        lambda: nd.split_v2(nd.ones((5,)), 2),
        "split_v2: size of axis 0 must be a multiple of sections=2; got 5",
    ),
    "onehot None": (
        lambda: nd.onehot_encode(nd.zeros((2,)), None),
        "nd.onehot_encode: out must be an instance of NDArray; got None",
    ),
    "histogram bins": (
        lambda: nd.histogram(matrix(), bins="ten"),
        "nd.histogram: bins must be an int >= 1; got the text 'ten'",
    ),
    "from_dlpack": (
        lambda: nd.from_dlpack(3),
        "nd.from_dlpack: dlpack must be an object with __dlpack__(), or a capsule; got 3",
    ),
    "slice_axis": (
        lambda: matrix().slice_axis(axis=5, begin=0, end=1),
        "slice_axis: axis must be in [-2, 2) for an array of 2 axes; got 5",
    ),
    "clip missing": (lambda: nd.clip(matrix(), 1), "clip: needs a value for a_max (a float)"),
    "broadcast_to": (
        lambda: matrix().broadcast_to((4, 3)),
        "broadcast_to: data of shape (2, 3) must broadcast to (4, 3): sizes equal or 1",
    ),
    "dot text": (
        lambda: nd.dot(matrix(), "a"),
        "dot: rhs must be of class NDArray; got 'a'. Parameters come after lhs, rhs, or by name.",
    ),
    "maximum text": (lambda: nd.maximum(matrix(), "a"), "nd.maximum: takes arrays and numbers; got"),
    "add None fn": (lambda: nd.add(matrix(), None), "nd.add: takes arrays and numbers; got"),
    "imdecode": (lambda: nd.imdecode(3), "nd.imdecode: str_img must be bytes; got 3"),
    "raseed text": (lambda: mx.random.seed("a"), "random.seed: seed_state must be an int; got 'a'"),
    "raseed None": (lambda: mx.random.seed(None), "random.seed: seed_state must be an int; got None"),
    "raseed float": (lambda: mx.random.seed(1.5), "random.seed: seed_state must be an int; got 1.5"),
    "raseed ctx": (
        lambda: mx.random.seed(3, ctx="cpuu"),
        "random.seed: ctx: Device: device_type must be one of cpu, ... got 'cpuu'; did you mean 'cpu'?",
    ),
    "rauniform text": (
        lambda: nd.random.uniform("low", "high", shape=(2,)),
        "random.uniform: low must be a float; got 'low'",
    ),
    "rauniform shape text": (
        lambda: nd.random.uniform(0, 1, shape="two"),
        "random.uniform: shape must be a tuple of ints >= -1 or None; got 'two'",
    ),
    "rauniform shape item": (
        lambda: nd.random.uniform(0, 1, shape=(2, "a")),
        "random.uniform: shape must be a tuple of ints >= -1 or None; got (2, 'a')",
    ),
    "rauniform mixed": (
        lambda: nd.random.uniform(nd.zeros((2,)), 1),
        "nd.random.uniform: parameters must be all numbers or all arrays; got {'low':",
    ),
    "ranormal scale": (
        lambda: nd.random.normal(0, -1, shape=(2,)),
        "random.normal: scale must be above 0; got -1.0",
    ),
    "rauniform dtype": (
        lambda: nd.random.uniform(0, 1, shape=(2,), dtype="int32"),
        "random.uniform: dtype must be a floating type; got int32",
    ),
    "rarandint range": (
        lambda: nd.random.randint(5, 2, shape=(2,)),
        "random.randint: low must be below high; got 5 and 2",
    ),
    "rarandint float": (
        lambda: nd.random.randint(0.5, 3, shape=(2,)),
        "random.randint: low must be an int; got 0.5",
    ),
    "ramultinomial text": (
        lambda: nd.random.multinomial("x"),
        "random.multinomial: data must be of class NDArray; got 'x'",
    ),
    "rashuffle list": (
        lambda: nd.random.shuffle([1, 2]),
        "random.shuffle: data must be of class NDArray; got [1, 2]",
    ),
    "rapoisson": (
        lambda: nd.random.poisson(-1, shape=(2,)),
        "random.poisson: lam must be at least 0; got -1.0",
    ),
    "rauniform ctx": (
        lambda: nd.random.uniform(0, 1, shape=(2,), ctx="cpuu"),
        "nd.random.uniform: ctx: Device: device_type must be one of ... got 'cpuu'; did you mean 'cpu'?",
    ),
    "rasym ctx": (
        lambda: sym.random.uniform(0, 1, shape="two"),
        "random.uniform '_random_uniform0': shape must be a tuple of ints >= -1 or None; got 'two'",
    ),
    "raexponential": (
        lambda: nd.random.exponential("x", shape=(2,)),
        "random.exponential: scale must be a number; got the text 'x'",
    ),
    "grad: grad number": (
        lambda: mx.autograd.grad(3, matrix()),
        "autograd.grad: heads must be an NDArray or a list of them; got 3",
    ),
    "grad: variables number": (
        lambda: mx.autograd.grad(matrix(), 3),
        "autograd.grad: variables must be an NDArray or a list of them; got 3",
    ),
    "grad: unmarked": (
        lambda: (lambda a: mx.autograd.grad(a, a))(matrix()),
        "autograd.grad: variables must be marked with attach_grad() before they are used",
    ),
    "grad: mark number": (
        lambda: mx.autograd.mark_variables(3, 4),
        "autograd.mark_variables: variables must be an NDArray or a list of them; got 3",
    ),
    "grad: mark lengths": (
        lambda: mx.autograd.mark_variables([matrix()], [matrix(), matrix()]),
        "autograd.mark_variables: needs as many gradients and grad_reqs as variables; got 1, 2 and 1",
    ),
    "grad: mark req": (
        lambda: mx.autograd.mark_variables([matrix()], [matrix()], "wirte"),
        "NDArray: grad_req must be one of 'write', 'add', 'null'; got 'wirte'",
    ),
    "grad: mark shapes": (
        lambda: mx.autograd.mark_variables([matrix()], [nd.ones((5,))]),
        "autograd.mark_variables: a gradient must have its variable's shape, (2, 3); got (5,)",
    ),
    "grad: backward number": (
        lambda: mx.autograd.backward(3),
        "autograd.backward: heads must be an NDArray or a list of them; got 3",
    ),
    "grad: backward text": (
        lambda: mx.autograd.backward([matrix()], "x"),
        "backward: a head gradient must be an NDArray or None; got 'x'",
    ),
    "grad: backward lengths": (
        lambda: mx.autograd.backward([matrix()], [matrix(), matrix()]),
        "backward: needs as many head gradients as heads, 1; got 2",
    ),
    "grad: get_symbol": (
        lambda: mx.autograd.get_symbol(3),
        "autograd.get_symbol: x must be an NDArray; got 3",
    ),
    "grad: set_training text": (
        lambda: mx.autograd.set_training("False"),
        "autograd.set_training: train_mode must be True or False; got the text 'False'",
    ),
}
