"""Neural style: the gradient goes to the picture, through Gram matrices of a fixed network's features."""
from __future__ import print_function
from collections import namedtuple

import mxnet as mx
import numpy as np

Executor = namedtuple('Executor', ['executor', 'data', 'data_grad'])


def get_symbol():
    data = mx.sym.Variable('data')
    conv1_1 = mx.symbol.Convolution(name='conv1_1', data=data, num_filter=8, pad=(1, 1), kernel=(3, 3), stride=(1, 1))
    relu1_1 = mx.symbol.Activation(name='relu1_1', data=conv1_1, act_type='relu')
    pool1 = mx.symbol.Pooling(name='pool1', data=relu1_1, pad=(0, 0), kernel=(2, 2), stride=(2, 2), pool_type='avg')
    conv2_1 = mx.symbol.Convolution(name='conv2_1', data=pool1, num_filter=12, pad=(1, 1), kernel=(3, 3))
    relu2_1 = mx.symbol.Activation(name='relu2_1', data=conv2_1, act_type='relu')
    return mx.sym.Group([relu1_1, relu2_1]), mx.sym.Group([relu2_1])


def style_gram_symbol(input_size, style):
    _, output_shapes, _ = style.infer_shape(data=(1, 3, input_size[0], input_size[1]))
    gram_list, grad_scale = [], []
    for i in range(len(style.list_outputs())):
        shape = output_shapes[i]
        x = mx.sym.Reshape(style[i], target_shape=(int(shape[1]), int(np.prod(shape[2:]))))
        # a product with the transposed, in the idiom before dot
        gram_list.append(mx.sym.FullyConnected(x, x, no_bias=True, num_hidden=shape[1]))
        grad_scale.append(np.prod(shape[1:]) * shape[1])
    return mx.sym.Group(gram_list), grad_scale


def get_loss(gram, content):
    gram_loss = []
    for i in range(len(gram.list_outputs())):
        gvar = mx.sym.Variable('target_gram_%d' % i)
        gram_loss.append(mx.sym.sum(mx.sym.square(gvar - gram[i])))
    cvar = mx.sym.Variable('target_content')
    content_loss = mx.sym.sum(mx.sym.square(cvar - content))
    return mx.sym.Group(gram_loss), content_loss


def get_tv_grad_executor(img, ctx, tv_weight):
    """Total variation: a convolution with the Laplacian, channel by channel."""
    nchannel = img.shape[1]
    simg = mx.sym.Variable('img')
    skernel = mx.sym.Variable('kernel')
    channels = mx.sym.SliceChannel(simg, num_outputs=nchannel)
    out = mx.sym.Concat(*[mx.sym.Convolution(data=channels[i], weight=skernel, num_filter=1, kernel=(3, 3), pad=(1, 1),
                                             no_bias=True, stride=(1, 1)) for i in range(nchannel)])
    kernel = mx.nd.array(np.array([[0, -1, 0], [-1, 4, -1], [0, -1, 0]]).reshape((1, 1, 3, 3)), ctx) / 8.0
    out = out * tv_weight
    return out.bind(ctx, args={'img': img, 'kernel': kernel})


def main():
    ctx, size, rng = mx.cpu(), (16, 16), np.random.RandomState(0)
    style, content = get_symbol()
    gram, gscale = style_gram_symbol(size, style)
    weights = {}
    shapes, _, _ = style.infer_shape(data=(1, 3) + size)
    for name, shape in zip(style.list_arguments(), shapes):
        if name != 'data':
            weights[name] = mx.nd.array(rng.normal(0, 0.3, shape), ctx)

    def picture(frequency):
        grid = np.mgrid[0:16, 0:16] * frequency
        return mx.nd.array(np.stack([np.sin(grid[0]), np.cos(grid[1]), np.sin(grid.sum(axis=0))])[None], ctx)

    def make(symbol, image, **targets):
        args = dict(weights, data=image, **targets)
        args = {name: args[name] for name in symbol.list_arguments()}
        grad = mx.nd.zeros(image.shape, ctx)
        exe = symbol.bind(ctx=ctx, args=args, args_grad={'data': grad},
                          grad_req={name: 'write' if name == 'data' else 'null' for name in symbol.list_arguments()})
        return Executor(exe, image, grad)

    content_img, style_img = picture(0.3), picture(1.1)
    fixed = make(mx.sym.Group([gram, content]), style_img)
    fixed.executor.forward()
    targets = {'target_gram_%d' % i: out.copy() for i, out in enumerate(fixed.executor.outputs[:2])}
    content_img.copyto(fixed.data)
    fixed.executor.forward()
    targets['target_content'] = fixed.executor.outputs[2].copy()

    style_loss, content_loss = get_loss(gram, content)
    img = mx.nd.array(rng.uniform(-0.1, 0.1, (1, 3) + size), ctx)
    model = make(mx.sym.Group([style_loss, content_loss]), img, **targets)
    grad_array = [mx.nd.ones((1,), ctx) * (1.0 / g) for g in gscale] + [mx.nd.ones((1,), ctx) * 0.001]
    tv_grad_executor = get_tv_grad_executor(img, ctx, 1e-3)

    optimizer = mx.optimizer.Adam(learning_rate=0.05, wd=0.0)
    optim_state = optimizer.create_state(0, img)
    losses = []
    for e in range(60):
        model.executor.forward(is_train=True)
        losses.append(sum(o.asnumpy().sum() * g.asnumpy()[0] for o, g in zip(model.executor.outputs, grad_array)))
        model.executor.backward(grad_array)
        gnorm = mx.nd.norm(model.data_grad).asscalar()
        if gnorm > 10:
            model.data_grad[:] *= 10 / gnorm
        tv_grad_executor.forward()
        optimizer.update(0, img, model.data_grad + tv_grad_executor.outputs[0], optim_state)
        img[:] = mx.nd.clip(img, -1.5, 1.5)
    print('loss at first %.4f' % losses[0])
    print('loss at last %.4f' % losses[-1])


if __name__ == '__main__':
    main()
