"""The part of MXNet's gluon that builds symbols: blocks that are called on symbols and trained by a `Module`.

Blocks make networks with the names that MXNet gives them: prefixes, `name_scope`, `params.get`. They hold no arrays:
a block that is called on an `NDArray`, and everything else of gluon (trainers, data sets, losses, cells, the model
zoo), says so when it is used. It can be named and derived from, so that modules which define such classes import.

>>> import rebind as mx
>>> net = nn.HybridSequential(prefix="mlp_")
>>> with net.name_scope():
...     net.add(nn.Dense(8, activation="relu"), nn.Dense(2))
>>> net(mx.sym.var("data")).list_arguments()
['data', 'mlp_dense0_weight', 'mlp_dense0_bias', 'mlp_dense1_weight', 'mlp_dense1_bias']
"""

from typing import TYPE_CHECKING

from ..absent import old_names
from . import absent, block, nn, parameter, utils
from .absent import contrib, data, loss, model_zoo, rnn, trainer
from .block import Block, HybridBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict

SymbolBlock = absent.named("SymbolBlock")
Trainer = absent.named("trainer.Trainer")

__all__ = [
    "Block", "Constant", "DeferredInitializationError", "HybridBlock", "Parameter", "ParameterDict", "SymbolBlock",
    "Trainer", "absent", "block", "contrib", "data", "loss", "model_zoo", "nn", "parameter", "rnn", "trainer",
    "utils",
]  # fmt: skip

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
