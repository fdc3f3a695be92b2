"""Blocks, under MXNet's path."""

from typing import TYPE_CHECKING

from ..absent import old_names
from .base_block import Block
from .hybrid_block import HybridBlock, SymbolBlock
from .utils import HookHandle

__all__ = ["Block", "HookHandle", "HybridBlock", "SymbolBlock"]

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
