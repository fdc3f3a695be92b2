"""What MXNet gives is in ``parity/snippets/text.py``; here is what differs, and what goes wrong."""

import inspect
import zipfile
from collections import Counter

import numpy as np
import pytest

import rebind as mx
from rebind.contrib.text import embedding, utils, vocab
from rebind.contrib.text.vectors_file import read_vectors
from rebind.errors import (
    ArgumentError,
    FormatError,
    MissingFileError,
    NameLookupError,
    ParameterError,
    ShapeError,
)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("a 0.5 2 3\nb 1 2 3\n<unk> 5 5 5\nc 4 5 6\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a 1 2\nb 1\nx y 3\n", "vectors.txt, line 3: must be a token and 2 numbers; got 'y 3'"),
        ("a 1 2\nb 1 2 3\n", "line 2: must have 2 numbers, as before; got 3"),
        ("a 1 2\n\nb 1 2\n", "line 2: must be a token and its vector; got ''"),
        ("a\n", "line 1: must be a token and its vector; got 'a'"),
        ("a 1  2\n", "line 1: must be a token and 3 numbers; got '1  2'"),
        ("a 1 \u0663\n", "line 1: must be a token and 2 numbers"),
        ("", "must have at least one vector; got none"),
        ("2 3\n", "must have at least one vector; got none"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is taken for a header")
def test_files_that_do_not_parse(text, says, path):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=says):
        embedding.CustomEmbedding(str(path))


def test_the_line_of_a_mistake_among_many(path):
    lines = [f"w{i} {i} {i}" for i in range(9000)]
    lines[8500] = "w8500 1 -"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(FormatError, match="line 8501: must be a token and 2 numbers; got '1 -'"):
        read_vectors(str(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [("2 3\na 1 2 3\n", "line 1: '2' with one number"), ("a 1 2\na 3 4\n", "line 2: 'a' was there before")],
)
def test_what_is_skipped_is_said(text, says, path):
    path.write_text(text, encoding="utf-8")
    with pytest.warns(UserWarning, match=says) as caught:
        found = embedding.CustomEmbedding(str(path))
    assert caught[0].filename == __file__
    assert found.idx_to_token == ["<unk>", "a"]


def test_encodings(path):
    path.write_bytes("é,1,2".encode("latin-1"))
    assert embedding.CustomEmbedding(str(path), ",", "latin-1").to_indices("é") == 1
    with pytest.raises(FormatError, match="must be text in the encoding 'utf8'"):
        embedding.CustomEmbedding(str(path), ",")


def test_reserved_tokens_have_the_vector_of_the_unknown_one(path):
    # MXNet has a row less than tokens.
    found = embedding.CustomEmbedding(str(path), reserved_tokens=["<pad>", "b"])
    assert found.idx_to_token == ["<unk>", "<pad>", "b", "a", "c"]
    np.testing.assert_array_equal(
        found.idx_to_vec.asnumpy(), [[5, 5, 5], [5, 5, 5], [1, 2, 3], [0.5, 2, 3], [4, 5, 6]]
    )


def test_vectors_are_the_weight_of_a_network(path):
    tokens = vocab.Vocabulary(Counter(["b", "b", "zz"]))
    vectors = embedding.CustomEmbedding(str(path), vocabulary=tokens)
    net = mx.sym.Embedding(
        mx.sym.var("data"), input_dim=len(vectors), output_dim=vectors.vec_len, name="words"
    )
    data = mx.nd.array(tokens.to_indices(["b", "nothing"]))
    executor = net.bind(mx.cpu(), {"data": data, "words_weight": vectors.idx_to_vec})
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [[1, 2, 3], [5, 5, 5]])


@pytest.mark.parametrize(("name", "file"), [("glove", "glove.6B.50d.txt"), ("fasttext", "wiki.simple.vec")])
def test_published_files_are_taken_from_their_folder(name, file, tmp_path):
    with pytest.raises(MissingFileError, match=f"the file {file} must be at .*; nothing is downloaded"):
        embedding.create(name, pretrained_file_name=file, embedding_root=str(tmp_path))
    folder = tmp_path / "embeddings" / name
    folder.mkdir(parents=True)
    (folder / "broken.zip").write_bytes(b"PK")
    with zipfile.ZipFile(folder / "files.zip", "w") as archive:
        archive.writestr(file, "a 1 2\nb 3 4\n")
    with mx.test_utils.environment("MXNET_HOME", str(tmp_path)):
        for _ in range(2):  # out of the archive, and then as a file
            assert embedding.create(name, pretrained_file_name=file).vec_len == 2
    assert (folder / file).exists()


@pytest.mark.parametrize(
    ("cls", "default"),
    [(embedding.GloVe, "glove.840B.300d.txt"), (embedding.FastText, "wiki.simple.vec")],
)
def test_defaults_and_documentation_of_published_files(cls, default, tmp_path):
    name = cls.__name__.lower()
    given = inspect.signature(cls).parameters
    assert list(given) == [
        "pretrained_file_name", "embedding_root", "init_unknown_vec", "vocabulary", "kwargs",
    ]  # fmt: skip
    assert given["pretrained_file_name"].default == default
    assert f"folder ``{name}`` of" in cls.__doc__
    assert default in embedding.get_pretrained_file_names(name)
    with pytest.raises(MissingFileError, match=f"{cls.__name__}: the file {default} must be"):
        cls(embedding_root=str(tmp_path))


def test_names_of_a_class_of_ones_own():
    class Own(embedding._TokenEmbedding):
        pretrained_file_name_sha1 = {"own.txt": "0"}

    embedding.register(Own)
    try:
        assert embedding.get_pretrained_file_names("own") == ["own.txt"]
        assert embedding.get_pretrained_file_names()["own"] == ["own.txt"]
    finally:
        del embedding._embeddings._entries["own"]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda e: e.get_pretrained_file_names("glov"), NameLookupError, "did you mean 'glove'"),
        (lambda e: e.create("nothing"), NameLookupError, "no token embedding 'nothing'"),
        (lambda e: e.GloVe("glove.6B.55d.txt"), ParameterError, "did you mean 'glove.6B.50d.txt'"),
        (lambda e: e.register(dict), ArgumentError, "must be a subclass of _TokenEmbedding"),
        (lambda e: e._TokenEmbedding().idx_to_vec, ArgumentError, "there are no vectors"),
        (lambda e: e.CompositeEmbedding("v", []), ArgumentError, "must be a text.vocab.Vocabulary; got 'v'"),
        (
            lambda e: e.CustomEmbedding("nowhere.txt"),
            MissingFileError,
            "nowhere.txt must be a file of word vectors",
        ),
        (lambda e: vocab.Vocabulary({"a": 1}), ArgumentError, "must be a collections.Counter"),
        (lambda e: vocab.Vocabulary(min_freq=0), ParameterError, "min_freq must be >= 1; got 0"),
        (lambda e: vocab.Vocabulary(reserved_tokens=["a", "a"]), ParameterError, "must be different"),
        (lambda e: vocab.Vocabulary().to_tokens(-1), ParameterError, r"must be in 0..0; got -1"),
    ],
)
def test_bad_calls(call, error, says):
    with pytest.raises(error, match=says):
        call(embedding)


@pytest.mark.parametrize(
    ("tokens", "shape", "error"),
    [("zz", (3,), ParameterError), ("a", (2,), ShapeError), (["a", "b"], (3,), ShapeError)],
)
def test_bad_updates(tokens, shape, error, path):
    with pytest.raises(error, match="update_token_vectors"):
        embedding.CustomEmbedding(str(path)).update_token_vectors(tokens, mx.nd.ones(shape))


def test_counting_goes_on():
    counter = Counter(a=2)
    assert utils.count_tokens_from_str("a b\na", counter_to_update=counter) is counter
    assert counter == {"a": 4, "b": 1}


@pytest.mark.parametrize(
    ("text", "given", "counts"),
    [  # MXNet 1.9.1 splits first, and then takes the lower case
        ("axbXc\nd", {"token_delim": "X"}, {"axb": 1, "c": 1, "d": 1}),
        ("a B<SEQ>c", {"seq_delim": "<SEQ>"}, {"a": 1, "b": 1, "c": 1}),
        ("aX bY", {"seq_delim": "Y"}, {"ax": 1, "b": 1}),
        ("A b\nB a", {}, {"a": 2, "b": 2}),
    ],
)
def test_what_is_between_tokens_keeps_its_case(text, given, counts):
    assert utils.count_tokens_from_str(text, to_lower=True, **given) == counts


@pytest.mark.parametrize("reserved", [None, ["<pad>"], ["c"]])
def test_the_unknown_token_of_a_vocabulary_has_the_vector_of_unknown_ones(reserved, path):
    # MXNet 1.9.1 answers so, though the file has a vector for 'a'.
    words = vocab.Vocabulary(Counter(["foo"]), unknown_token="a", reserved_tokens=reserved)
    kept = embedding.CustomEmbedding(str(path), vocabulary=words)
    both = embedding.CompositeEmbedding(words, [embedding.CustomEmbedding(str(path))] * 2)
    known = {"c": [4, 5, 6]}
    expected = [known.get(token, [5, 5, 5]) for token in ["a", *(reserved or []), "foo"]]
    assert kept.idx_to_vec.asnumpy().tolist() == expected
    assert both.idx_to_vec.asnumpy().tolist() == [row + row for row in expected]
