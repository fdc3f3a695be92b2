"""Blocks on arrays: what is said of mistakes, and where rebind differs from MXNet. Numbers: tests/parity."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

import rebind as mx
from rebind import gluon
from rebind.gluon import nn


def made(block):
    block.initialize()
    return block


class Scaled(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.scale = self.params.get("scale", shape=(1, 0), allow_deferred_init=True)

    def hybrid_forward(self, F, x, scale):
        return F.broadcast_mul(x, scale)


def saved(path, **changes):
    arrays = {"weight": mx.nd.ones((2, 3)), "bias": mx.nd.ones((2,))}
    mx.nd.save(path, {name: each for name, each in {**arrays, **changes}.items() if each is not None})
    return path


@pytest.mark.parametrize(
    ("use", "error", "says"),
    [
        (
            lambda: nn.Dense(2, prefix="fc_")(mx.nd.ones((1, 3))),
            RuntimeError,
            "gluon.Parameter 'fc_weight': is not initialized. Call initialize() of the block",
        ),
        (
            lambda: made(nn.Dense(2, prefix="fc_")).weight.data(),
            gluon.DeferredInitializationError,
            "gluon.Parameter 'fc_weight': has no array yet, since its shape (2, 0) is not known in full. Call the "
            "block on an array first, or give it the size of its input (in_units, in_channels).",
        ),
        (
            lambda: made(Scaled(prefix="own_"))(mx.nd.ones((2, 3))),
            ValueError,
            "Scaled 'own': the shape of 'own_scale' cannot be found from those of the arguments; give it in full",
        ),
        (
            lambda: nn.HybridLambda(lambda F, a, b: a, prefix="f_")(mx.nd.ones((1,)), mx.sym.var("x")),
            ValueError,
            "HybridLambda 'f': must be called on arrays or on symbols, and not on both at once",
        ),
        (
            lambda: nn.Dense(2, prefix="fc_")(np.float32(3)),
            ValueError,
            "Dense 'fc': must be called on an NDArray (mx.nd.array makes one) or a symbol; got (",
        ),
        (
            lambda: gluon.HybridBlock(prefix="own_")(mx.nd.ones((1,))),
            NotImplementedError,
            "HybridBlock 'own': the class must define hybrid_forward(self, F, x, ...)",
        ),
        (
            lambda: gluon.Block(prefix="own_")(mx.nd.ones((1,))),
            NotImplementedError,
            "Block 'own': the class must define forward(self, x, ...)",
        ),
        (
            lambda: made(nn.Dense(2, in_units=3, prefix="fc_")).weight.data(mx.cpu(1)),
            RuntimeError,
            "gluon.Parameter 'fc_weight': is on cpu(0), and not on cpu(1). Move it with block.collect_params()",
        ),
        (
            lambda: made(nn.Dense(2, in_units=3, prefix="fc_")).weight.set_data(mx.nd.ones((3, 2))),
            ValueError,
            "gluon.Parameter 'fc_weight': must have shape (2, 3); got (3, 2)",
        ),
        (
            lambda: nn.Dense(2, in_units=3, prefix="fc_").initialize(ctx=0),
            TypeError,
            "gluon.Parameter 'fc_weight': ctx must be a Device or a list of them; got 0",
        ),
        (
            lambda: gluon.Parameter("w", shape=(2, 0)).initialize(),
            ValueError,
            "gluon.Parameter 'w': the shape must be known to initialize it; got (2, 0). Give the shape in full",
        ),
        (
            lambda: made(nn.BatchNorm(in_channels=2, prefix="bn_")).running_mean.grad(),
            RuntimeError,
            "gluon.Parameter 'bn_running_mean': has no gradient, since its grad_req is 'null'",
        ),
        (
            lambda: nn.Dense(2).initialize("xavir"),
            ValueError,
            "no initializer 'xavir'; did you mean 'xavier'?",
        ),
        (
            lambda: nn.Lambda("tanhh"),
            TypeError,
            "Lambda: must be given a function or the name of an operator; got 'tanhh'; did you mean 'tanh'",
        ),
        (
            lambda: made(nn.Dense(2, prefix="fc_")).export("net"),
            RuntimeError,
            "Dense 'fc': export needs the graph; call hybridize() and then the block on an array first",
        ),
        (
            lambda: nn.Dense(2, prefix="fc_").hybridize(backend="MKLDNN"),
            NotImplementedError,
            "hybridize: backends are not part of rebind; leave backend out",
        ),
        (
            lambda: gluon.SymbolBlock(mx.sym.var("x") * 2, mx.sym.var("x", attr={"__a__": "b"}) + 1),
            ValueError,
            "SymbolBlock: inputs must be variables; got <Symbol _plusscalar",
        ),
    ],
)
def test_mistakes(use, error, says):
    with pytest.raises(error, match=re.escape(says)) as raised:
        use()
    assert isinstance(raised.value, mx.MXNetError)


@pytest.mark.parametrize(
    ("changes", "options", "says"),
    [
        (
            {"bias": None},
            {},
            "must have an array for each parameter; there is none for ['bias']. It has ['weight']. "
            "allow_missing=True leaves",
        ),
        (
            {"bia": mx.nd.ones((1,))},
            {},
            "for which there is no parameter: ['bia']; did you mean 'bias'? ignore_extra=True",
        ),
        (
            {"weight": mx.nd.ones((2, 4))},
            {},
            "gluon.Parameter 'fc_weight': must have shape (2, 3); got (2, 4)",
        ),
        ({"bias": mx.nd.ones((2,), dtype="float16")}, {}, "must be loaded from an array of type"),
        (
            {},
            {"dtype_source": "file", "cast_dtype": True},
            "dtype_source must be 'current' or 'saved'; got 'file'",
        ),
    ],
)
def test_mistakes_with_files(tmp_path, changes, options, says):
    path = saved(str(tmp_path / "net.params"), **changes)
    with pytest.raises(mx.MXNetError, match=re.escape(says)):
        nn.Dense(2, in_units=3, prefix="fc_").load_parameters(path, **options)


def test_imports_with_a_wrong_name_of_an_input(tmp_path):
    layer = made(nn.Dense(2, in_units=3))
    layer.hybridize()
    layer(mx.nd.ones((1, 3)))
    layer.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0000.params")
    with pytest.raises(
        ValueError, match=r"input_names must be variables .* none called 'dat'; did you mean 'data'\?"
    ):
        gluon.SymbolBlock.imports(files[0], ["dat"], files[1])
    block = gluon.SymbolBlock.imports(files[0], "data", files[1])
    with pytest.raises(TypeError, match=r"SymbolBlock 'symbolblock.*': takes 1 arrays, for data; got 2"):
        block(mx.nd.ones((1, 3)), mx.nd.ones((1, 3)))


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (
            lambda: made(made(nn.Dense(2, in_units=3, use_bias=False))),
            "is initialized already and left as it is",
        ),
        (
            lambda: nn.Dense(2).hybridize(static_aloc=True),
            "no flag 'static_aloc'; did you mean 'static_alloc'",
        ),
        (
            lambda: Listed().collect_params(),
            "Listed.parts: holds blocks that are not children, so their parameters are",
        ),
    ],
)
def test_warnings(use, says):
    with pytest.warns(UserWarning, match=says):
        use()


class Listed(gluon.Block):
    def __init__(self):
        super().__init__()
        self.parts = [nn.Dense(2)]


def test_other_arguments_make_another_graph():
    """MXNet has an error here; see docs/differences.md."""
    block = nn.HybridLambda(lambda F, a, b: a * 2 if b is None else a + b)
    block.hybridize()
    x = mx.nd.ones((2,))
    assert [block(x, None).sum().item(), block(x, x * 3).sum().item(), block(x, None).sum().item()] == [
        4,
        8,
        4,
    ]


def test_files_with_whole_names(tmp_path):
    """Those of a Module's checkpoint too; in MXNet for `collect_params().load` only."""
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=3))
    module = mx.mod.Module(net(mx.sym.var("data")), label_names=None)
    module.bind([("data", (4, 3))])
    module.init_params(mx.init.Uniform())
    module.save_params(str(tmp_path / "net.params"))
    net.load_parameters(str(tmp_path / "net.params"))
    module.forward(mx.io.DataBatch([mx.nd.ones((4, 3))]), is_train=False)
    np.testing.assert_allclose(
        net(mx.nd.ones((4, 3))).asnumpy(), module.get_outputs()[0].asnumpy(), rtol=1e-5
    )


def test_one_block_on_symbols_and_on_arrays():
    layer = made(nn.Dense(2, activation="tanh"))
    x = mx.nd.array([[1, 2, 3]])
    found = layer(x)
    arrays = {name: each.data() for name, each in layer.collect_params().items()}
    (again,) = layer(mx.sym.var("x")).eval(x=x, **arrays)
    np.testing.assert_allclose(found.asnumpy(), again.asnumpy(), rtol=1e-6)


def test_shared_parameters_are_written_once(tmp_path):
    first = nn.Dense(3, in_units=3)
    net = nn.HybridSequential()
    net.add(first, nn.Dense(3, in_units=3, params=first.params))
    made(net)
    path = str(tmp_path / "net.params")
    net.save_parameters(path, deduplicate=True)
    assert list(mx.nd.load(path)) == ["1.weight", "1.bias"]  # MXNet 1.9.1 writes the last ones
    net.load_parameters(path)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))])
def test_copies(copied):
    layer = made(nn.Dense(2, in_units=3))
    other = copied(layer)
    other.weight.set_data(mx.nd.zeros((2, 3)))
    assert layer.weight.data().abs().sum().item() > 0
    assert other(mx.nd.ones((1, 3))).asnumpy().tolist() == [[0, 0]]
