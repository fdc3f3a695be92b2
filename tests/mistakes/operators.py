"""Mistakes in parameters of operators, of each type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rebind import nd, sym

from .things import matrix, var

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "nan for integers": (
        lambda: nd.ones((2,), dtype="int32") + float("nan"),
        "_plus_scalar: scalar must be finite for type int32; got nan",
    ),
    "infinity for integers": (
        lambda: nd.ones((2,), dtype="uint8") / float("inf"),
        "_div_scalar: scalar must be finite for type uint8; got inf",
    ),
    "clip of booleans": (
        lambda: nd.ones((2,), dtype="bool").clip(0, 1),
        "clip: data must not be of type bool. Convert it with astype().",
    ),
    "relu of booleans": (
        lambda: nd.relu(nd.ones((2,), dtype="bool")),
        "relu: cannot compute with arrays of this type; got data bool. Convert with astype().",
    ),
    "int text": (
        lambda: nd.FullyConnected(matrix(), nd.ones((3, 3)), nd.ones((3,)), num_hidden="ten"),
        "FullyConnected: num_hidden must be an int >= 1; got 'ten'",
    ),
    "int float": (
        lambda: nd.FullyConnected(matrix(), nd.ones((3, 3)), nd.ones((3,)), num_hidden=2.5),
        "FullyConnected: num_hidden must be an int >= 1; got 2.5",
    ),
    "int negative": (
        lambda: sym.FullyConnected(var(), num_hidden=-1),
        "FullyConnected 'fullyconnected0': num_hidden must be an int >= 1; got -1",
    ),
    "int None sym": (
        lambda: sym.one_hot(var(), depth=None),
        "one_hot 'one_hot0': depth must be an int >= 0; got None",
    ),
    "int array": (
        lambda: nd.one_hot(nd.zeros((2,)), nd.array([3])),
        "one_hot: depth must be an int >= 0; got",
    ),
    "tuple text": (
        lambda: sym.Convolution(var(), num_filter=1, kernel="3x3"),
        "Convolution 'convolution0': kernel must be a tuple of ints; got '3x3'",
    ),
    "tuple item": (
        lambda: sym.Convolution(var(), num_filter=1, kernel=(3, "a")),
        "Convolution 'convolution0': kernel must be a tuple of ints; got (3, 'a')",
    ),
    "tuple float": (
        lambda: sym.Convolution(var(), num_filter=1, kernel=(3, 2.5)),
        "Convolution 'convolution0': kernel must be a tuple of ints; got (3, 2.5)",
    ),
    "tuple zero": (
        lambda: sym.Convolution(var(), num_filter=1, kernel=(0, 3)),
        "Convolution 'convolution0': kernel must be >= 1 in each axis; got (0, 3)",
    ),
    "tuple lengths": (
        lambda: sym.Convolution(var(), num_filter=1, kernel=(3, 3), stride=(1,)).infer_shape(v=(1, 1, 5, 5)),
        "Convolution 'convolution0': stride must have 2 values, as many as kernel (3, 3); got (1,)",
    ),
    "tuple missing": (
        lambda: sym.Convolution(var(), num_filter=1),
        "Convolution 'convolution0': needs a value for kernel (a tuple of ints)",
    ),
    "tuple dict": (
        lambda: sym.transpose(var(), axes={}),
        "transpose 'transpose0': axes must be a tuple of ints; got {}",
    ),
    "float text": (lambda: sym.Dropout(var(), p="half"), "Dropout 'dropout0': p must be a float; got 'half'"),
    "float range": (lambda: sym.Dropout(var(), p=1.5), "Dropout 'dropout0': p must be in [0, 1]; got 1.5"),
    "float list": (
        lambda: sym.LeakyReLU(var(), slope=[0.1]),
        "LeakyReLU 'leakyrelu0': slope must be a float; got [0.1]",
    ),
    "bool text": (
        lambda: sym.FullyConnected(var(), num_hidden=1, no_bias="yes"),
        "FullyConnected 'fullyconnected0': no_bias must be a bool; got 'yes'",
    ),
    "bool list": (
        lambda: sym.FullyConnected(var(), num_hidden=1, flatten=[True]),
        "FullyConnected 'fullyconnected0': flatten must be a bool; got [True]",
    ),
    "enum near": (
        lambda: sym.Activation(var(), act_type="rely"),
        "Activation 'activation0': act_type must be one of 'relu', ... got 'rely'",
    ),
    "enum None": (
        lambda: sym.Activation(var(), act_type=None),
        "Activation 'activation0': act_type must be one of 'relu', ... got None",
    ),
    "enum number": (
        lambda: sym.Pooling(var(), kernel=(2, 2), pool_type=1),
        "Pooling 'pooling0': pool_type must be one of 'avg', 'lp', 'max', 'sum'; got 1",
    ),
    "dtype near": (
        lambda: sym.Cast(var(), dtype="flaot32"),
        "Cast 'cast0': dtype must be a dtype (float32, float64, ... got 'flaot32'",
    ),
    "number as array": (
        lambda: nd.FullyConnected(matrix(), 5, nd.ones((3,)), num_hidden=3),
        "FullyConnected: weight must be of class NDArray; got 5. Parameters come after data, weight, bias,",
    ),
    "symbol in nd": (lambda: nd.relu(var()), "relu: data must be of class NDArray; got <Symbol v>"),
    "numpy in nd": (
        lambda: nd.relu(np.ones(3)),
        "relu: data must be of class NDArray; got array([1., 1., 1.])",
    ),
    "array in sym": (lambda: sym.relu(matrix()), "relu 'relu0': data must be of class Symbol; got"),
    "number in sym": (
        lambda: sym.FullyConnected(3, num_hidden=3),
        "FullyConnected 'fullyconnected0': data must be of class Symbol; got 3. Parameters come after",
    ),
    "name number": (lambda: sym.relu(var(), name=3), "relu: name must be text; got 3"),
    "attr list": (lambda: sym.relu(var(), attr=["a"]), "relu 'relu0': attr must be a dict; got ['a']"),
    "out list": (
        lambda: nd.relu(matrix(), out=[1]),
        "relu: out must be an NDArray, or a list of them; got [1]",
    ),
    "out numpy": (
        lambda: nd.relu(matrix(), out=np.zeros((2, 3))),
        "relu: out must be an NDArray, or a list of them; got array([[0., 0., 0.],",
    ),
    "out shape": (
        lambda: nd.relu(matrix(), out=nd.zeros((5,))),
        "relu: out must have shape (2, 3); got (5,)",
    ),
    "num_outputs": (
        lambda: sym.split(var(), num_outputs=0),
        "split 'split0': num_outputs must be an int in [1, 1000000]; got 0",
    ),
    "split uneven": (
        lambda: nd.split(matrix(), num_outputs=2, axis=1),
        "split: size of axis 1 must be a multiple of num_outputs=2; got data of shape (2, 3)",
    ),
    "rnn mode": (
        lambda: sym.RNN(var(), var("p"), var("s"), state_size=2, num_layers=1, mode="lsttm"),
        "RNN 'rnn0': mode must be one of 'rnn_relu', 'rnn_tanh', 'lstm', 'gru'; got 'lsttm'",
    ),
    "topk k text": (lambda: nd.topk(matrix(), k="two"), "topk: k must be an int; got 'two'"),
    "topk ret": (
        lambda: nd.topk(matrix(), ret_typ="value2"),
        "topk: ret_typ must be one of 'both', 'indices', 'mask', 'value'; got 'value2'",
    ),
    "axis out of": (
        lambda: nd.sum(matrix(), axis=4),
        "sum: axis must be in [-2, 2) for an array of 2 axes; got 4",
    ),
    "axis twice": (
        lambda: nd.sum(matrix(), axis=(0, 0)),
        "sum: axis must not name an axis twice; got (0, 0)",
    ),
    "transpose axes": (
        lambda: nd.transpose(matrix(), axes=(0, 0)),
        "transpose: axes must name each of the 2 axes of data once; got (0, 0) for (2, 3)",
    ),
    "expand_dims": (lambda: nd.expand_dims(matrix(), axis="a"), "expand_dims: axis must be an int; got 'a'"),
    "Embedding dims": (
        lambda: nd.Embedding(nd.zeros((2,)), nd.ones((3, 4)), input_dim=5, output_dim=4),
        "Embedding: weight must have shape (5, 4); got (3, 4)",
    ),
    "pick axis": (
        lambda: nd.pick(matrix(), nd.zeros((2,)), axis=7),
        "pick: axis must be in [-2, 2) for an array of 2 axes; got 7",
    ),
    "pad mode": (
        lambda: nd.pad(nd.ones((1, 1, 2, 2)), mode="mirror", pad_width=(0,) * 8),
        "pad: mode must be one of 'constant', 'edge', 'reflect'; got 'mirror'",
    ),
    "pad width": (
        lambda: nd.pad(nd.ones((1, 1, 2, 2)), mode="edge", pad_width=(0, 1)),
        "pad: pad_width must have two numbers for each of 4 axes; got (0, 1)",
    ),
    "UpSampling": (
        lambda: sym.UpSampling(var(), scale=0, sample_type="nearest"),
        "UpSampling 'upsampling0': scale must be an int >= 1; got 0",
    ),
}
