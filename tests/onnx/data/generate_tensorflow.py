"""Write files of tf2onnx, with what Keras computes: ``python tests/onnx/data/generate_tensorflow.py``.

The files are of TensorFlow 2.21 and tf2onnx 1.17, for the processor.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf
import tf2onnx

FOLDER = Path(__file__).parent
L = tf.keras.layers


def images():
    """Layers of a network for images, channels last."""
    data = tf.keras.Input((8, 8, 3), batch_size=2, name="data")
    first = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(4, 3, padding="same", use_bias=False)(data)))
    second = L.Activation("swish")(L.DepthwiseConv2D(3, strides=2, padding="same")(first))
    net = L.UpSampling2D()(L.Concatenate()([second, L.AveragePooling2D(2)(first)]))
    net = L.GlobalAveragePooling2D()(L.Conv2DTranspose(2, 3, strides=2, padding="same")(net))
    return tf.keras.Model(data, L.Dense(5, activation="softmax")(net))


def words():
    """An embedding and recurrent layers, one of them in both directions."""
    data = tf.keras.Input((6,), batch_size=2, dtype="int32", name="data")
    net = L.LSTM(3, return_sequences=True)(L.Embedding(11, 4)(data))
    net = L.Bidirectional(L.LSTM(2))(net)
    return tf.keras.Model(data, L.Dense(2)(net))


def attention():
    """Attention with two heads, and a normalization."""
    data = tf.keras.Input((5, 8), batch_size=2, name="data")
    net = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(data, data) + data)
    return tf.keras.Model(data, L.GlobalMaxPooling1D()(L.Dense(8, activation="tanh")(net)))


for network in (images, words, attention):
    tf.keras.utils.set_random_seed(0)
    model = network()
    shape, dtype = model.inputs[0].shape, model.inputs[0].dtype
    random = np.random.RandomState(0)
    for weight in model.weights:  # means, variances and biases that count
        weight.assign(random.uniform(0.2, 1.0, weight.shape))
    values = (
        random.randint(0, 11, shape).astype("int32")
        if dtype == "int32"
        else random.randn(*shape).astype("float32")
    )
    signature = [tf.TensorSpec(shape, dtype, name="data")]
    call = tf.function(lambda data, model=model: model(data, training=False), input_signature=signature)
    written, _ = tf2onnx.convert.from_function(call, input_signature=signature, opset=17)
    (FOLDER / f"tensorflow_{network.__name__}.onnx").write_bytes(written.SerializeToString())
    np.savez(FOLDER / f"tensorflow_{network.__name__}.npz", values, model(values, training=False).numpy())
