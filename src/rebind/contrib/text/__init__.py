"""`mx.contrib.text`: counting tokens, vocabularies, and vectors of words from files."""

from typing import TYPE_CHECKING

from ...absent import old_names
from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
