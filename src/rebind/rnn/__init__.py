"""Recurrent cells, which unroll into symbols; sentences in buckets; checkpoints with the weights of each gate.

>>> import rebind as mx
>>> stack = SequentialRNNCell()
>>> stack.add(LSTMCell(4, prefix="l0_"))
>>> stack.add(LSTMCell(4, prefix="l1_"))
>>> outputs, states = stack.unroll(3, inputs=mx.sym.var("data"), merge_outputs=True)
>>> outputs.infer_shape(data=(8, 3, 5))[1]
[(8, 3, 4)]
"""

import typing as _typing

from ..absent import old_names as _old_names
from ..completion import listing as _listing
from .base_cell import BaseRNNCell
from .cells import GRUCell, LSTMCell, RNNCell
from .checkpoint import do_rnn_checkpoint, load_rnn_checkpoint, rnn_unroll, save_rnn_checkpoint
from .containers import BidirectionalCell, SequentialRNNCell
from .conv_cells import BaseConvRNNCell, ConvGRUCell, ConvLSTMCell, ConvRNNCell
from .fused import FusedRNNCell
from .modifiers import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from .params import RNNParams
from .sentences import BucketSentenceIter, encode_sentences

__all__ = [
    "BaseConvRNNCell", "BaseRNNCell", "BidirectionalCell", "BucketSentenceIter", "ConvGRUCell", "ConvLSTMCell",
    "ConvRNNCell", "DropoutCell", "FusedRNNCell", "GRUCell", "LSTMCell", "ModifierCell", "RNNCell", "RNNParams",
    "ResidualCell", "SequentialRNNCell", "ZoneoutCell", "do_rnn_checkpoint", "encode_sentences",
    "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint",
]  # fmt: skip
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
