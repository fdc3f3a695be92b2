"""`mx.contrib.text`: counting tokens, vocabularies, and vectors of words from files."""

import typing as _typing

from ...absent import old_names as _old_names
from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
