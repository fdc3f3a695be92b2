from mxnet import np, npx  # expect: absent, absent
import mxnet as mx
import mxnet.numpy as mnp  # expect: absent

npx.set_np()
a = np.ones((2, 3))
b = mx.np.zeros(3)  # expect: absent
c = mx.npx.relu(b)  # expect: absent
mx.npx.set_np()  # expect: absent
