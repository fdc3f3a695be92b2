"""Vectors of tokens, from files."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import torch

from ...absent import old_names
from ...defaults import init_defaults
from ...errors import ArgumentError, MissingFileError, ParameterError, ShapeError, near_names, shown
from ...files import atomic_write, data_dir
from ...ndarray import NDArray, array, zeros
from ...ndarray.creation import from_torch
from ...registry import Registry
from .pretrained import FASTTEXT_FILES, GLOVE_FILES
from .vectors_file import read_vectors
from .vocab import Vocabulary

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "create",
    "get_pretrained_file_names",
    "register",
]

#: Makes the vector of the unknown token from a shape: `mx.nd.zeros`, or a function like it.
InitVector = Callable[..., NDArray]


class _TokenEmbedding(Vocabulary):
    """A vocabulary with a vector for each token: base of the embeddings here and of a program's own.

    A subclass calls `_load_embedding`, and then, if it takes a vocabulary, `_build_embedding_for_vocabulary`.
    """

    #: The names of its files, for `get_pretrained_file_names`.
    pretrained_file_names: ClassVar[Sequence[str]] = ()

    _idx_to_vec: NDArray | None = None

    @property
    def vec_len(self) -> int:
        """The length of the vectors; 0 before there are any."""
        return 0 if self._idx_to_vec is None else self._idx_to_vec.shape[1]

    @property
    def idx_to_vec(self) -> NDArray:
        """The vectors, one in each row, in the order of the tokens' numbers: the weight of `mx.sym.Embedding`."""
        if self._idx_to_vec is None:
            raise ArgumentError(
                f"{type(self).__name__}: there are no vectors. Load them with _load_embedding()."
            )
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: str | list[str], lower_case_backup: bool = False) -> NDArray:
        """Return the vector of a token, or those of a list of tokens, one in each row.

        Parameters
        ----------
        tokens
            A token or several; one that is not known has the vector of the unknown token.
        lower_case_backup
            Whether to look for a token in lower case too where it is not known as it is.
        """
        single = not isinstance(tokens, list)
        asked: list[Any] = [tokens] if single else tokens  # type: ignore[assignment]  # a list, from the line before
        known = self.token_to_idx
        rows = [known.get(token, known.get(token.lower(), 0) if lower_case_backup else 0) for token in asked]
        vectors = self.idx_to_vec.tensor
        found = vectors.index_select(0, torch.tensor(rows, dtype=torch.int64, device=vectors.device))
        return from_torch(found[0] if single else found)

    def update_token_vectors(self, tokens: str | list[str], new_vectors: NDArray | np.ndarray) -> None:
        """Write the vectors of tokens.

        Parameters
        ----------
        tokens
            A token or several, all of which are known.
        new_vectors
            As many vectors, one in each row; for a single token a vector will do.

        Raises
        ------
        ParameterError
            When a token is not known.
        ShapeError
            When there are not as many vectors, of `vec_len` numbers.
        """
        asked = tokens if isinstance(tokens, list) else [tokens]
        unknown = [token for token in asked if token not in self.token_to_idx]
        if unknown:
            raise ParameterError(
                f"update_token_vectors: tokens must be known; got {shown(unknown[0])}. "
                f"The vector of unknown tokens is that of {self.unknown_token!r}."
            )
        values = new_vectors if isinstance(new_vectors, NDArray) else array(new_vectors)
        wanted = (len(asked), self.vec_len)
        if values.shape != wanted and not (len(asked) == 1 and values.shape == wanted[1:]):
            raise ShapeError(
                f"update_token_vectors: new_vectors must have shape {wanted}; got {values.shape}"
            )
        vectors = self.idx_to_vec.tensor
        rows = torch.tensor(self.to_indices(asked), device=vectors.device)
        vectors[rows] = values.tensor.reshape(wanted).to(vectors)

    def _load_embedding(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        init_unknown_vec: InitVector = zeros,
        encoding: str = "utf8",
    ) -> None:
        """Add the tokens of a file, with their vectors."""
        tokens, vectors = read_vectors(pretrained_file_path, elem_delim, encoding)
        table = _filled(len(self) + len(tokens), vectors.shape[1], init_unknown_vec)
        rows = []
        for token in tokens:
            row = self._token_to_idx.setdefault(token, len(self._idx_to_token))
            if row == len(self._idx_to_token):
                self._idx_to_token.append(token)
            rows.append(row)
        table[rows] = torch.from_numpy(vectors).to(table.device)
        if self._unknown_token in tokens:  # reserved tokens that the file lacks are unknown to it
            missing = set(range(len(self._idx_to_token))).difference(rows)
            table[list(missing)] = table[0].clone()
        self._idx_to_vec = from_torch(table[: len(self._idx_to_token)].clone())

    def _build_embedding_for_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        """Keep the tokens of a vocabulary only, in its order; nothing without one."""
        if vocabulary is not None:
            _check_vocabulary(vocabulary)
            self._take_vectors(vocabulary, [self])

    def _take_vectors(self, vocabulary: Vocabulary, embeddings: Sequence[_TokenEmbedding]) -> None:
        # MXNet gives the unknown token of a vocabulary the vector that a file has for unknown ones, whatever its name.
        tokens = vocabulary.idx_to_token[1:]
        parts = [
            torch.cat([each.idx_to_vec.tensor[:1], each.get_vecs_by_tokens(tokens).tensor])
            for each in embeddings
        ]
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._unknown_token = vocabulary.unknown_token
        reserved = vocabulary.reserved_tokens
        self._reserved_tokens = None if reserved is None else list(reserved)
        self._idx_to_vec = from_torch(torch.cat(parts, dim=1))


def _filled(rows: int, width: int, init_unknown_vec: InitVector) -> torch.Tensor:
    unknown = init_unknown_vec(shape=(width,))
    return unknown.tensor.to(dtype=torch.float32).expand(rows, width).clone()


def _check_vocabulary(vocabulary: object) -> None:
    if not isinstance(vocabulary, Vocabulary):
        raise ArgumentError(f"vocabulary must be a text.vocab.Vocabulary; got {shown(vocabulary)}")


_embeddings: Registry[type[_TokenEmbedding]] = Registry("token embedding", _TokenEmbedding)


def register(embedding_cls: type[_TokenEmbedding]) -> type[_TokenEmbedding]:
    """Register a class of embeddings under its name, for `create`; a decorator.

    >>> @register
    ... class Letters(_TokenEmbedding):
    ...     pass
    >>> len(create("letters"))
    1
    """
    if not (isinstance(embedding_cls, type) and issubclass(embedding_cls, _TokenEmbedding)):
        raise ArgumentError(f"register: must be a subclass of _TokenEmbedding; got {embedding_cls!r}")
    found: type[_TokenEmbedding] = _embeddings.register(embedding_cls)
    return found


def create(embedding_name: str, **kwargs: Any) -> _TokenEmbedding:
    """Return an embedding by the name of its class, whatever the case.

    >>> create("glove", pretrained_file_name="glove.6B.50d.txt", embedding_root="no-such-folder")
    Traceback (most recent call last):
    rebind.errors.MissingFileError: GloVe: the file glove.6B.50d.txt must be at no-such-folder/glove/... ...
    """
    found: _TokenEmbedding = _embeddings.create(embedding_name, **kwargs)
    return found


def get_pretrained_file_names(embedding_name: str | None = None) -> dict[str, list[str]] | list[str]:
    """Return the names of the files of an embedding, or those of all embeddings, by the names of these.

    >>> get_pretrained_file_names("glove")[:2]
    ['glove.42B.300d.txt', 'glove.6B.50d.txt']
    """
    if embedding_name is not None:
        return _names_of(_embeddings[embedding_name])
    return {name: _names_of(_embeddings[name]) for name in _embeddings if _names_of(_embeddings[name])}


def _names_of(embedding_cls: type[_TokenEmbedding]) -> list[str]:
    # A program's own class may have them as MXNet's did: as the keys of a dict.
    return list(getattr(embedding_cls, "pretrained_file_name_sha1", embedding_cls.pretrained_file_names))


class _Published(_TokenEmbedding):
    """An embedding from one of the files that are published for it, which is looked for, not downloaded.

    A subclass says what is published; see `_published`.
    """

    _page: ClassVar[str]

    def __init__(
        self,
        pretrained_file_name: str = "",
        embedding_root: str | None = None,
        init_unknown_vec: InitVector = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        path = self._find(pretrained_file_name, embedding_root)
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)

    @classmethod
    def _find(cls, name: str, root: str | None) -> str:
        """Return the path of a file, which is taken out of an archive beside its place if one has it."""
        if name not in cls.pretrained_file_names:
            raise ParameterError(
                f"{cls.__name__}: pretrained_file_name must be one of get_pretrained_file_names"
                f"({cls.__name__.lower()!r}); got {name!r}{near_names(name, cls.pretrained_file_names)}"
            )
        folder = os.path.join(root or os.path.join(data_dir(), "embeddings"), cls.__name__.lower())
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
        archives = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        for archive in archives:
            if archive.endswith(".zip") and _extract(os.path.join(folder, archive), name, path):
                return path
        raise MissingFileError(
            f"{cls.__name__}: the file {name} must be at {path}; nothing is downloaded. Get it, or the archive with "
            f"it, from {cls._page} and put it there."
        )


def _extract(archive: str, name: str, path: str) -> bool:
    """Write the file `name` of an archive to `path`; return whether the archive has it."""
    try:
        with zipfile.ZipFile(archive) as files:
            if name not in files.namelist():
                return False
            with files.open(name) as source, atomic_write(path) as target:
                shutil.copyfileobj(source, target)
    except zipfile.BadZipFile:
        return False
    return True


#: What the docstrings of published embeddings go on with.
_PARAMETERS = """

    Nothing is downloaded: the file, or an archive that has it, is to be in the folder ``{name}`` of `embedding_root`.

    Parameters
    ----------
    pretrained_file_name
        One of ``get_pretrained_file_names({name!r})``.
    embedding_root
        The folder of embeddings; by default ``embeddings`` in `mx.base.data_dir()`.
    init_unknown_vec
        Makes the vector of unknown tokens from a shape, if the file has none.
    vocabulary
        The tokens to keep; all that the file has if None.
    **kwargs
        As for `Vocabulary`: `unknown_token`, `reserved_tokens`.
    """


E = TypeVar("E", bound=type[_Published])


def _published(default: str) -> Callable[[E], E]:
    """Decorate an embedding from published files, one of which is the default."""

    def decorate(cls: E) -> E:
        cls.__doc__ = f"{cls.__doc__ or ''}{_PARAMETERS.format(name=cls.__name__.lower())}"
        register(cls)
        return init_defaults(pretrained_file_name=default)(cls)

    return decorate


@_published("glove.840B.300d.txt")
class GloVe(_Published):
    """The word vectors of GloVe (https://nlp.stanford.edu/projects/glove)."""

    pretrained_file_names = GLOVE_FILES
    _page = "https://nlp.stanford.edu/projects/glove"


@_published("wiki.simple.vec")
class FastText(_Published):
    """The word vectors of fastText (https://fasttext.cc)."""

    pretrained_file_names = FASTTEXT_FILES
    _page = "https://fasttext.cc/docs/en/english-vectors.html"


class CustomEmbedding(_TokenEmbedding):
    """Word vectors from a file of one's own: a token and its numbers in each line.

    Parameters
    ----------
    pretrained_file_path
        The file.
    elem_delim
        What is between a token and the numbers, and between these.
    encoding
        The encoding of the file.
    init_unknown_vec
        Makes the vector of unknown tokens from a shape, if the file has none.
    vocabulary
        The tokens to keep; all that the file has if None.
    **kwargs
        As for `Vocabulary`: `unknown_token`, `reserved_tokens`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     print("good 1 2", "bad -1 0.5", sep=chr(10), file=file, flush=True)
    ...     vectors = CustomEmbedding(file.name)
    >>> vectors.get_vecs_by_tokens(["bad", "Good", "ugly"], lower_case_backup=True).asnumpy()
    array([[-1. ,  0.5],
           [ 1. ,  2. ],
           [ 0. ,  0. ]], dtype=float32)
    """

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: InitVector = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The vectors of several embeddings, one behind the other, for the tokens of a vocabulary.

    Parameters
    ----------
    vocabulary
        The tokens.
    token_embeddings
        An embedding or several.
    """

    def __init__(
        self, vocabulary: Vocabulary, token_embeddings: _TokenEmbedding | Sequence[_TokenEmbedding]
    ) -> None:
        _check_vocabulary(vocabulary)
        parts = (
            [token_embeddings] if isinstance(token_embeddings, _TokenEmbedding) else list(token_embeddings)
        )
        for part in parts:
            if not isinstance(part, _TokenEmbedding):
                raise ArgumentError(
                    f"CompositeEmbedding: token_embeddings must be embeddings; got {shown(part)}"
                )
        super().__init__()
        self._take_vectors(vocabulary, parts)


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
