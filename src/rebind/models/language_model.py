"""A language model of LSTM layers."""

from __future__ import annotations

from .. import symbol as sym
from ..rnn import LSTMCell, SequentialRNNCell
from ..symbol import Symbol

__all__ = ["lstm_language_model"]


def lstm_language_model(
    vocabulary: int = 10_000,
    steps: int = 32,
    num_layers: int = 2,
    num_hidden: int = 200,
    num_embed: int = 200,
) -> Symbol:
    """Next word at each step, with the names of MXNet's bucketing example; data are (batch, steps).

    Predictions are (batch * steps, vocabulary), the words of one sentence after each other.

    Examples
    --------
    >>> lstm_language_model(vocabulary=20, steps=3, num_layers=1).list_arguments()[:3]
    ['data', 'embed_weight', 'lstm_l0_i2h_weight']
    """
    data = sym.Embedding(sym.var("data"), input_dim=vocabulary, output_dim=num_embed, name="embed")
    cells = SequentialRNNCell()
    for layer in range(num_layers):
        cells.add(LSTMCell(num_hidden=num_hidden, prefix=f"lstm_l{layer}_"))
    outputs, _ = cells.unroll(steps, inputs=data, merge_outputs=True)
    scores = sym.Reshape(outputs, shape=(-1, num_hidden), name="flat_words")
    scores = sym.FullyConnected(scores, num_hidden=vocabulary, name="pred")
    label = sym.Reshape(sym.var("softmax_label"), shape=(-1,), name="flat_label")
    return sym.SoftmaxOutput(scores, label, name="softmax")
