"""`mx.contrib.text`: counting tokens, vocabularies, and vectors of words from files."""

from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
