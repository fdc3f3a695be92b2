"""The part of MXNet's gluon that symbolic programs use: blocks, which are called on symbols or on arrays.

Blocks make networks with the names that MXNet gives them (prefixes, `name_scope`, `params.get`), for a `Module` to
train; after `initialize` or `load_parameters` they also compute. Everything else of gluon (trainers, data sets, losses,
cells, the model zoo) says what to use instead when it is made. It can be named and derived from, so that modules which
define such classes import.

>>> import rebind as mx
>>> net = nn.HybridSequential(prefix="mlp_")
>>> with net.name_scope():
...     net.add(nn.Dense(8, activation="relu"), nn.Dense(2))
>>> net(mx.sym.var("data")).list_arguments()
['data', 'mlp_dense0_weight', 'mlp_dense0_bias', 'mlp_dense1_weight', 'mlp_dense1_bias']
"""

import typing as _typing

from ..absent import old_names as _old_names
from . import absent, block, nn, parameter, utils
from .absent import contrib, data, loss, model_zoo, rnn, trainer
from .block import Block, HybridBlock, SymbolBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict

Trainer = absent.named("trainer.Trainer")

__all__ = [
    "Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter", "ParameterDict", "SymbolBlock",
    "Trainer", "absent", "block", "contrib", "data", "loss", "model_zoo", "nn", "parameter", "rnn", "trainer",
    "utils",
]  # fmt: skip

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
