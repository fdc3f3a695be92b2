"""Tests of operators with mx.test_utils, and the names that such programs reach for."""
import mxnet as mx
import mxnet.ndarray as nd
import mxnet.symbol as sym
import numpy as np
from mxnet import AttrScope, MXNetError
from mxnet.base import _Null, mx_uint, numeric_types, py_str, string_types
from mxnet.context import Context
from mxnet.ndarray import NDArray
from mxnet.symbol.symbol import Symbol
from mxnet.test_utils import assert_almost_equal, check_numeric_gradient, check_symbolic_forward, default_context, same


def check_gradients():
    np.random.seed(0)
    data = np.random.uniform(0.2, 1, (3, 4))
    x = sym.Variable('x')
    check_numeric_gradient(sym.square(x) + sym.exp(x), [data], rtol=1e-2, atol=1e-3)
    check_symbolic_forward(sym.sqrt(x), [data], [np.sqrt(data)], rtol=1e-5, atol=1e-5)
    net = sym.FullyConnected(x, num_hidden=2, name='fc')
    check_numeric_gradient(net, {'x': data, 'fc_weight': np.ones((2, 4)) * 0.3, 'fc_bias': np.zeros(2)}, rtol=1e-2,
                           atol=1e-3)


def check_names():
    a = nd.array([[1, 2], [3, 0]])
    assert isinstance(a, NDArray) and isinstance(sym.Variable('a'), Symbol)
    assert same(nd.sum_axis(a, axis=1).asnumpy(), np.array([3, 3], 'float32'))
    assert same(nd.min_axis(a, axis=0).asnumpy(), np.array([1, 0], 'float32'))
    assert same(nd.broadcast_plus(a, a).asnumpy(), 2 * a.asnumpy())
    assert same(nd.argmax_channel(a).asnumpy(), np.array([1, 0], 'float32'))
    assert nd.uniform(low=0, high=1, shape=(2, 3)).shape == (2, 3)
    assert_almost_equal(nd.sum(a, axis=_Null).asnumpy(), np.array([6.0]))
    b, c = sym.Variable('b'), sym.Variable('c')
    out = sym._internal._plus(b, sym._internal._mul(b, c))
    assert_almost_equal(out.eval(b=a, c=a)[0].asnumpy(), (a + a * a).asnumpy())
    assert sym.stop_gradient(b).list_arguments() == ['b']
    assert mx.contrib.sym.MultiBoxPrior(b, sizes=(0.5,)).list_arguments() == ['b']
    assert mx.contrib.symbol.quadratic(b).list_arguments() == mx.contrib.sym.quadratic(b).list_arguments()
    assert same(mx.contrib.nd.quadratic(a, a=1).asnumpy(), mx.contrib.ndarray.quadratic(a, a=1).asnumpy())
    assert Context.devstr2type['cpu'] == 1 and default_context() == mx.cpu()
    assert isinstance(1.5, numeric_types) and isinstance('a', string_types) and py_str(b'a') == 'a' and mx_uint(3).value == 3
    assert mx.viz is mx.visualization and mx.rnd is mx.random and mx.nd is mx.ndarray
    assert mx.optimizer.create('SGD').lr == mx.optimizer.Optimizer.create_optimizer('sgd').lr
    with mx.name.NameManager():
        assert sym.exp(b).name == 'exp0'
    with mx.name.Prefix('stage_'):
        assert sym.exp(b, name='one').name == 'stage_one'
    with mx.attribute.AttrScope(ctx_group='dev1'), AttrScope(lr_mult='2'):
        assert sym.exp(b, name='e').attr('ctx_group') == 'dev1'
    with mx.engine.bulk(10):
        assert (a + 1).shape == (2, 2)
    assert not mx.util.is_np_array() and not mx.runtime.Features().is_enabled('TVM_OP')
    assert mx.log.get_logger('check', level=mx.log.INFO).level == mx.log.INFO
    assert mx.base.MXNetError is MXNetError and mx.libinfo.__version__ == mx.__version__
    assert tuple(int(part) for part in mx.__version__.split('.')) >= (1, 0, 0)
    try:
        nd.dot(nd.ones((2, 3)), nd.ones((2, 3))).asnumpy()
    except MXNetError:
        pass
    else:
        raise SystemExit('shapes that do not fit')


if __name__ == '__main__':
    check_gradients()
    check_names()
    print('all is well')
