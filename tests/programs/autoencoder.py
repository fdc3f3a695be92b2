"""A stacked denoising autoencoder: layers are trained one by one, then together; features come from an inner output."""
import logging

import mxnet as mx
import numpy as np

logging.basicConfig(level=logging.INFO)


class AutoEncoderModel(object):
    def __init__(self, dims, pt_dropout=0.2):
        self.dims, self.N = dims, len(dims) - 1
        self.args = {}
        self.data = mx.symbol.Variable('data')
        self.stacks = [self.make_stack(i, self.data, dims[i], dims[i + 1], pt_dropout, None if i == 0 else 'relu',
                                       None if i == self.N - 1 else 'relu') for i in range(self.N)]
        self.encoder = self.make_encoder()
        self.decoder = self.make_decoder(self.encoder)
        self.loss = mx.symbol.LinearRegressionOutput(data=self.decoder, name='rec')

    def make_stack(self, istack, data, num_input, num_hidden, idropout, decoder_act, encoder_act):
        x = mx.symbol.Dropout(data=data, p=idropout) if idropout else data
        x = mx.symbol.FullyConnected(name='encoder_%d' % istack, data=x, num_hidden=num_hidden)
        if encoder_act:
            x = mx.symbol.Activation(data=x, act_type=encoder_act)
        x = mx.symbol.FullyConnected(name='decoder_%d' % istack, data=x, num_hidden=num_input)
        if decoder_act:
            x = mx.symbol.Activation(data=x, act_type=decoder_act)
        return mx.symbol.LinearRegressionOutput(data=x, name='rec')

    def make_encoder(self):
        x = self.data
        for i in range(self.N):
            x = mx.symbol.FullyConnected(data=x, name='encoder_%d' % i, num_hidden=self.dims[i + 1])
            if i < self.N - 1:
                x = mx.symbol.Activation(data=x, act_type='relu', name='encoder_relu_%d' % i)
        return x

    def make_decoder(self, feature):
        x = feature
        for i in reversed(range(self.N)):
            x = mx.symbol.FullyConnected(data=x, name='decoder_%d' % i, num_hidden=self.dims[i])
            if i > 0:
                x = mx.symbol.Activation(data=x, act_type='relu')
        return x

    def _fit(self, symbol, X, num_epoch, lr):
        it = mx.io.NDArrayIter(X, {'rec_label': X}, batch_size=50, shuffle=True)
        mod = mx.mod.Module(symbol, label_names=['rec_label'])
        mod.fit(it, num_epoch=num_epoch, eval_metric='mse', optimizer='adam', optimizer_params={'learning_rate': lr},
                initializer=mx.init.Xavier(), arg_params=self.args, allow_missing=True)
        self.args.update(mod.get_params()[0])
        return mod

    def layerwise_pretrain(self, X, num_epoch):
        data = X
        for i in range(self.N):
            logging.info('Pre-training layer %d...', i)
            self._fit(self.stacks[i], data, num_epoch, 0.01)
            data = self.extract(self.encoder.get_internals()['encoder_%d_output' % i], X)
            if i < self.N - 1:
                data = np.maximum(data, 0)

    def finetune(self, X, num_epoch):
        logging.info('Fine tuning...')
        return self._fit(self.loss, X, num_epoch, 0.005)

    def extract(self, feature, X):
        mod = mx.mod.Module(feature, label_names=None)
        mod.bind([('data', X.shape)], for_training=False)
        mod.set_params(self.args, {}, allow_extra=True)
        return mod.predict(mx.io.NDArrayIter(X, batch_size=X.shape[0])).asnumpy()

    def eval(self, X):
        return np.mean(np.square(self.extract(self.decoder, X) - X)) / 2.0


if __name__ == '__main__':
    mx.random.seed(3)
    np.random.seed(3)
    basis = np.random.normal(0, 1, (3, 20))
    X = np.tanh(np.random.normal(0, 1, (600, 3)).dot(basis)).astype('float32')
    train_X, val_X = X[:500], X[500:]
    ae_model = AutoEncoderModel([20, 16, 3])
    ae_model.layerwise_pretrain(train_X, 4)
    ae_model.finetune(train_X, 15)
    feature = ae_model.extract(ae_model.encoder, val_X)
    print('features %s variance %.3f' % (feature.shape, val_X.var() / 2))
    print('Validation error %.4f' % ae_model.eval(val_X))
