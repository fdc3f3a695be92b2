"""`mx.contrib.text`: counting tokens, vocabularies, vectors of words from files."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

Snippet = Callable[[Any], object]

_TEXT = " Life is great ! \n life is good . \n"
_COUNTS = Counter(["a", "b", "b", "c", "c", "c", "some_word$"])
_VECTORS = "a 0.1 0.2 0.3\nb 1 2 3\n<unk> 5 5 5\nc 4 5 6\n"


def _text(mx: Any) -> Any:
    import importlib

    return importlib.import_module(f"{mx.__name__}.contrib.text")


def _counted(*args: Any, **given: Any) -> Snippet:
    return lambda mx: dict(_text(mx).utils.count_tokens_from_str(*args, **given))


def _vocabulary(counter: Any = _COUNTS, **given: Any) -> Snippet:
    def run(mx: Any) -> object:
        found = _text(mx).vocab.Vocabulary(counter, **given)
        return [
            len(found),
            found.idx_to_token,
            found.token_to_idx,
            found.reserved_tokens,
            found.unknown_token,
        ]

    return run


def _asked(ask: Callable[[Any], object]) -> Snippet:
    return lambda mx: ask(_text(mx).vocab.Vocabulary(_COUNTS, reserved_tokens=["<pad>"]))


def _embedding(look: Callable[[Any, Any], object], text: str = _VECTORS, **given: Any) -> Snippet:
    def run(mx: Any) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "vectors.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            if given.pop("with_vocabulary", False):
                counts = Counter(["b", "q", "q", "a"])
                given["vocabulary"] = _text(mx).vocab.Vocabulary(counts, reserved_tokens=["<pad>"])
            return look(mx, _text(mx).embedding.CustomEmbedding(path, **given))

    return run


def _all(mx: Any, found: Any) -> object:
    return [
        len(found),
        found.vec_len,
        found.idx_to_token,
        found.token_to_idx,
        found.idx_to_vec,
        found.unknown_token,
    ]


def _updated(tokens: Any, vectors: Any) -> Snippet:
    def look(mx: Any, found: Any) -> object:
        found.update_token_vectors(tokens, mx.nd.array(vectors))
        return found.idx_to_vec

    return _embedding(look)


def _composed(mx: Any, found: Any) -> object:
    text = _text(mx)
    tokens = text.vocab.Vocabulary(Counter(["c", "c", "a", "zz"]), reserved_tokens=["<pad>"])
    both = text.embedding.CompositeEmbedding(tokens, [found, found])
    return [_all(mx, both), both.get_vecs_by_tokens(["a", "nothing"]), both.reserved_tokens]


def _names(mx: Any) -> object:
    embedding = _text(mx).embedding
    found = embedding.get_pretrained_file_names()
    return [found, embedding.get_pretrained_file_names("glove")]


def _registered(mx: Any) -> object:
    embedding = _text(mx).embedding

    class OwnOfASnippet(embedding._TokenEmbedding):
        def __init__(self, size: int = 3) -> None:
            super().__init__()
            self.size = size

    embedding.register(OwnOfASnippet)
    return [embedding.create("ownofasnippet", size=4).size, embedding.create("OwnOfASnippet").idx_to_token]


SNIPPETS: dict[str, Snippet] = {
    "counted": _counted(_TEXT),
    "counted_in_lower_case": _counted(_TEXT, to_lower=True),
    "counted_by_patterns": _counted("*Life*is*great*!*\n*life*is*good*.*\n", r"\*", "\n", True),
    "counted_further": lambda mx: dict(
        _text(mx).utils.count_tokens_from_str(_TEXT, counter_to_update=Counter(life=5))
    ),
    "vocabulary": _vocabulary(),
    "vocabulary_of_nothing": _vocabulary(None),
    "vocabulary_most": _vocabulary(most_freq_count=2),
    "vocabulary_none": _vocabulary(most_freq_count=0),
    "vocabulary_frequent": _vocabulary(min_freq=2),
    "vocabulary_reserved": _vocabulary(reserved_tokens=["<pad>", "b"]),
    "vocabulary_reserved_and_most": _vocabulary(most_freq_count=2, reserved_tokens=["<pad>", "b"]),
    "vocabulary_unknown": _vocabulary(unknown_token="c"),
    "vocabulary_of_a_dict": _vocabulary({"a": 1}),
    "vocabulary_frequency_0": _vocabulary(min_freq=0),
    "vocabulary_reserved_twice": _vocabulary(reserved_tokens=["x", "x"]),
    "vocabulary_reserved_unknown": _vocabulary(reserved_tokens=["<unk>"]),
    "indices": _asked(lambda v: [v.to_indices("c"), v.to_indices(["c", "zz", "<pad>"]), v.to_indices([])]),
    "tokens": _asked(lambda v: [v.to_tokens(1), v.to_tokens([0, 2])]),
    "tokens_beyond": _asked(lambda v: v.to_tokens(100)),
    "tokens_of_a_float": _asked(lambda v: v.to_tokens(1.5)),
    "vectors": _embedding(_all),
    "vectors_for_a_vocabulary": _embedding(_all, with_vocabulary=True),
    "vectors_without_unknown": _embedding(_all, text="a,1,2\né,3,4\n", elem_delim=","),
    "vectors_unknown_by_a_function": _embedding(
        lambda mx, found: found.idx_to_vec.shape, text="a,1,2\n", elem_delim=","
    ),
    "vectors_of_another_length": _embedding(_all, text="a 1 2\nb 1 2 3\n"),
    "vectors_with_a_header": _embedding(_all, text="2 3\na 1 2 3\nb 4 5 6\n"),
    "vectors_twice": _embedding(_all, text="a 1 2\na 3 4\nb 5 6\n"),
    "vectors_without_numbers": _embedding(_all, text="a 1 2\nb\n"),
    "vectors_of_words": _embedding(_all, text="a 1 2\nb 1 x\n"),
    "vectors_blank_line": _embedding(_all, text="a 1 2\n\nb 1 2\n"),
    "looked_up": _embedding(
        lambda mx, e: [e.get_vecs_by_tokens("a"), e.get_vecs_by_tokens(["a", "zz", "A"])]
    ),
    "looked_up_in_lower_case": _embedding(
        lambda mx, e: e.get_vecs_by_tokens(["A", "ZZ"], lower_case_backup=True)
    ),
    "updated": _updated("a", [7, 8, 9]),
    "updated_by_a_row": _updated("a", [[7, 8, 9]]),
    "updated_several": _updated(["a", "<unk>"], [[7, 8, 9], [1, 1, 1]]),
    "updated_unknown": _updated("zz", [7, 8, 9]),
    "updated_too_short": _updated("a", [7, 8]),
    "updated_too_few": _updated(["a", "b"], [7, 8, 9]),
    "composed": _embedding(_composed),
    "names": _names,
    "registered": _registered,
}
