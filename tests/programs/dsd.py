"""Dense-sparse-dense training: an optimizer derived from SGD takes the smallest weights to zero for some epochs."""
from __future__ import print_function
import logging

import mxnet as mx
import numpy as np
from mxnet.ndarray import NDArray, abs as nd_abs, sgd_mom_update, sgd_update, topk
from mxnet.optimizer import SGD, register

logging.basicConfig(level=logging.INFO)


@register
class SparseSGD(SGD):
    """SGD that prunes: `sparsity` in percent for each entry of `switch_epoch`."""

    def __init__(self, pruning_switch_epoch, batches_per_epoch, weight_sparsity=None, **kwargs):
        super(SparseSGD, self).__init__(**kwargs)
        self.masks = {}
        self.epoch = 0
        self.batches_per_epoch = batches_per_epoch
        self.pruning_switch_epoch = [int(i) for i in pruning_switch_epoch.split(',')]
        self.weight_sparsity = [float(i) for i in weight_sparsity.split(',')]

    def update_masks(self, index, weight):
        stage = sum(self.epoch >= e for e in self.pruning_switch_epoch)
        if self.masks.get(index, (None, None))[0] == stage:
            return
        sparsity = self.weight_sparsity[stage]
        keep = int(np.ceil(weight.size * (100 - sparsity) / 100.0))
        mask = topk(nd_abs(weight).reshape((-1,)), axis=0, ret_typ='mask', k=keep).reshape(weight.shape)
        self.masks[index] = (stage, mask)
        logging.info('%s sparsity update: %.0f%%', self.idx2name.get(index, index), sparsity)

    def update(self, index, weight, grad, state):
        assert isinstance(weight, NDArray)
        assert isinstance(grad, NDArray)
        self._update_count(index)
        lr = self._get_lr(index)
        wd = self._get_wd(index)
        self.epoch = int((self.num_update - 1) / self.batches_per_epoch)
        is_weight = len(weight.shape) > 1
        if is_weight:
            self.update_masks(index, weight)
            mask = self.masks[index][1]
            grad = grad * mask
            weight[:] = weight * mask
            if state is not None:
                state[:] = state * mask
        kwargs = {'rescale_grad': self.rescale_grad}
        if state is not None:
            sgd_mom_update(weight, grad, state, out=weight, lr=lr, wd=wd, momentum=self.momentum, **kwargs)
        else:
            sgd_update(weight, grad, out=weight, lr=lr, wd=wd, **kwargs)

    def update_multi_precision(self, index, weight, grad, state):
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        for i, w, g, s in zip(index, weight, grad, state):
            self.update(i, w, g, s)


def digits(count, seed):
    patterns = np.random.RandomState(7).uniform(0, 1, (10, 64))
    rng = np.random.RandomState(seed)
    label = rng.randint(0, 10, count)
    return (patterns[label] + rng.normal(0, 0.3, (count, 64))).astype('float32'), label.astype('float32')


if __name__ == '__main__':
    mx.random.seed(1)
    np.random.seed(1)
    data = mx.symbol.Variable('data')
    fc1 = mx.symbol.FullyConnected(data=data, name='fc1', num_hidden=32)
    act1 = mx.symbol.Activation(data=fc1, name='relu1', act_type='relu')
    fc2 = mx.symbol.FullyConnected(data=act1, name='fc2', num_hidden=10)
    mlp = mx.symbol.SoftmaxOutput(data=fc2, name='softmax')

    train = mx.io.NDArrayIter(*digits(1000, 1), batch_size=50, shuffle=True)
    val = mx.io.NDArrayIter(*digits(200, 2), batch_size=50)
    zeros = []

    def count_zeros(epoch, symbol, arg_params, aux_params):
        zeros.append(float((arg_params['fc1_weight'].asnumpy() == 0).mean()))

    model = mx.mod.Module(mlp)
    model.fit(train, eval_data=val, num_epoch=6, optimizer='sparsesgd', kvstore=None,
              optimizer_params={'learning_rate': 0.1, 'momentum': 0.9, 'wd': 1e-5, 'batches_per_epoch': 20,
                                'pruning_switch_epoch': '2,4', 'weight_sparsity': '0,70,0'},
              initializer=mx.init.Xavier(), epoch_end_callback=count_zeros)
    print('share of zeros: dense %.2f sparse %.2f dense %.2f' % (zeros[1], zeros[3], zeros[5]))
    print('accuracy %.4f' % model.score(val, 'acc')[0][1])
