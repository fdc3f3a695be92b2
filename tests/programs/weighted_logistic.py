"""A logistic regression as an operator in NumPy that weighs the two classes, with its parameters as strings."""
import mxnet as mx
import numpy as np


class WeightedLogisticRegression(mx.operator.CustomOp):
    def __init__(self, pos_grad_scale, neg_grad_scale):
        self.pos_grad_scale = float(pos_grad_scale)
        self.neg_grad_scale = float(neg_grad_scale)

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], mx.nd.divide(1, (1 + mx.nd.exp(-in_data[0]))))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        in_grad[0][:] = ((out_data[0] - 1) * in_data[1] * self.pos_grad_scale
                         + out_data[0] * (1 - in_data[1]) * self.neg_grad_scale) / out_data[0].shape[1]


@mx.operator.register('weighted_logistic_regression')
class WeightedLogisticRegressionProp(mx.operator.CustomOpProp):
    def __init__(self, pos_grad_scale, neg_grad_scale):
        self.pos_grad_scale = pos_grad_scale
        self.neg_grad_scale = neg_grad_scale
        super(WeightedLogisticRegressionProp, self).__init__(False)

    def list_arguments(self):
        return ['data', 'label']

    def list_outputs(self):
        return ['output']

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0]], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return WeightedLogisticRegression(self.pos_grad_scale, self.neg_grad_scale)


if __name__ == '__main__':
    m, n = 2, 5
    pos, neg = 1, 0.1
    data = mx.sym.Variable('data')
    wlr = mx.sym.Custom(data, pos_grad_scale=pos, neg_grad_scale=neg, name='wlr',
                        op_type='weighted_logistic_regression')
    lr = mx.sym.LogisticRegressionOutput(data, name='lr')
    print(wlr.list_arguments(), wlr.list_outputs())

    # the rare class weighs ten times as much
    exe1 = wlr.simple_bind(ctx=mx.cpu(), data=(2 * m, n))
    exe2 = lr.simple_bind(ctx=mx.cpu(), data=(2 * m, n))
    rng = np.random.RandomState(0)
    x = rng.normal(0, 1, (2 * m, n)).astype('float32')
    exe1.arg_dict['data'][:] = x
    exe2.arg_dict['data'][:] = x
    label = mx.nd.array(np.vstack([np.ones([m, n]), np.zeros([m, n])]))
    exe1.arg_dict['wlr_label'][:] = label
    exe2.arg_dict['lr_label'][:] = label
    exe1.forward(is_train=True)
    exe2.forward(is_train=True)
    exe1.backward()
    exe2.backward()
    assert np.allclose(exe1.outputs[0].asnumpy(), exe2.outputs[0].asnumpy(), atol=1e-6)
    g1, g2 = exe1.grad_dict['data'].asnumpy(), exe2.grad_dict['data'].asnumpy()
    print('ratio of gradients: positive %.4f negative %.4f' % ((g1[:m] / g2[:m]).mean(), (g1[m:] / g2[m:]).mean()))
    print('sum of outputs %.5f of gradients %.5f' % (exe1.outputs[0].asnumpy().sum(), g1.sum()))
