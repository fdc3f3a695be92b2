"""Models are read from every form in which people have them, and wrong files are refused with a sentence."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind._version import __version__ as VERSION
from rebind.convert import load_safetensors, read_model, save_safetensors
from rebind.convert.archives import _MOST_BYTES
from rebind.errors import FormatError, MissingFileError


def network() -> Any:
    data = mx.sym.BatchNorm(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="bn")
    return mx.sym.SoftmaxOutput(data, name="softmax")


def parameters(value: float = 1.0) -> tuple[dict[str, Any], dict[str, Any]]:
    args = {"fc_weight": (2, 5), "fc_bias": (2,), "bn_gamma": (2,), "bn_beta": (2,)}
    return (
        {name: mx.nd.full(shape, value) for name, shape in args.items()},
        {name: mx.nd.full((2,), value) for name in ("bn_moving_mean", "bn_moving_var")},
    )


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    """Return the prefix of a checkpoint of the epochs 2 and 10."""
    for epoch in (2, 10):
        mx.model.save_checkpoint(f"{tmp_path}/net", epoch, network(), *parameters(epoch))
    return f"{tmp_path}/net"


@pytest.mark.parametrize(
    ("ending", "epoch", "value"),
    [
        ("", None, 10),
        ("", 2, 2),
        ("-0002", None, 2),
        (",2", None, 2),
        (", 10", None, 10),
        ("-0002.params", None, 2),
        ("-symbol.json", None, 10),
        ("-symbol.json", 2, 2),
    ],
)
def test_prefix_with_or_without_an_epoch(prefix: str, ending: str, epoch: int | None, value: float) -> None:
    model = read_model(prefix + ending, epoch)
    assert model.name == "net" and model.symbol.list_outputs() == ["softmax_output"]
    assert model.arg_params["fc_bias"].asnumpy().tolist() == [value, value]
    assert list(model.aux_params) == ["bn_moving_mean", "bn_moving_var"]
    said = ("The parameters are those of epoch 10.",) if value == 10 and "10" not in ending else ()
    assert model.notes == said


def test_prefix_that_ends_in_a_number(tmp_path: Path) -> None:
    mx.model.save_checkpoint(f"{tmp_path}/net-2024", 3, network(), *parameters())
    assert read_model(f"{tmp_path}/net-2024").name == "net-2024"


def test_pair_of_files_of_any_names(prefix: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(Path(f"{prefix}-symbol.json").read_text())
    os.rename(f"{prefix}-0002.params", tmp_path / "b.bin")
    for pair in ([tmp_path / "a.json", tmp_path / "b.bin"], [tmp_path / "b.bin", tmp_path / "a.json"]):
        model = read_model(pair)
        assert model.name == "a" and model.arg_params["fc_bias"].asnumpy()[0] == 2
    with pytest.raises(FormatError, match=r"two paths must be those of a \.json and a \.params file"):
        read_model([tmp_path / "a.json"])
    with pytest.raises(MissingFileError, match=r"the file '.*c\.params' must exist"):
        read_model([tmp_path / "a.json", tmp_path / "c.params"])


def test_folder(prefix: str, tmp_path: Path) -> None:
    model = read_model(tmp_path)
    assert model.notes == (f"The checkpoint is 'net' in {tmp_path}.", "The parameters are those of epoch 10.")
    (tmp_path / "other-symbol.json").write_text("{}")
    with pytest.raises(
        MissingFileError,
        match=r"one network; it has net-symbol\.json, other-symbol\.json\. Name its prefix, as in ",
    ):
        read_model(tmp_path)


def test_missing_files(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(MissingFileError, match=r"There are files of the epochs 2, 10"):
        read_model(f"{prefix}-0003")
    with pytest.raises(MissingFileError, match=r"There are none of the prefix .*did you mean 'net'"):
        read_model(f"{tmp_path}/nett")
    for name in ("a.tar.gz", "a.safetensors"):
        with pytest.raises(MissingFileError, match=r"must exist"):
            read_model(tmp_path / name)


def archive(path: Path, members: Mapping[str, bytes | tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                file.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return path


def contents(prefix: str, name: str, epoch: int = 2) -> dict[str, bytes]:
    return {
        f"{name}-symbol.json": Path(f"{prefix}-symbol.json").read_bytes(),
        f"{name}-{epoch:04d}.params": Path(f"{prefix}-0002.params").read_bytes(),
    }


SAGEMAKER = {
    "image classification": (
        "image-classification",
        {"model-shapes.json": json.dumps([{"shape": [32, 3, 224, 224], "name": "data"}])},
        {"data": (0, 3, 224, 224)},
    ),
    "object detection": (
        "model_algo_1",
        {
            "hyperparams.json": json.dumps(
                {"image_shape": "512", "num_classes": "20", "base_network": "resnet-50"}
            )
        },
        {"data": (0, 3, 512, 512)},
    ),
    "with a shape of three sizes": (
        "model",
        {"hyperparams.json": json.dumps({"image_shape": "3,64,32"})},
        {"data": (0, 3, 64, 32)},
    ),
    "with files of other programs": ("model", {"hyperparams.json": "[1", "code.py": "import os"}, {}),
}


@pytest.mark.parametrize("folder", ["", "./", "model/"])
@pytest.mark.parametrize("kind", SAGEMAKER)
def test_archives_of_sagemaker(tmp_path: Path, prefix: str, kind: str, folder: str) -> None:
    name, others, shapes = SAGEMAKER[kind]
    members = contents(prefix, name, 0) | {each: text.encode() for each, text in others.items()}
    path = archive(tmp_path / "model.tar.gz", {folder + each: content for each, content in members.items()})
    model = read_model(path)
    assert model.name == name and model.shapes == shapes
    assert model.arg_params["fc_bias"].asnumpy().tolist() == [2, 2]
    assert model.notes == (f"The checkpoint is {name!r} in {path}.", "The parameters are those of epoch 0.")


def test_archive_of_segmentation_says_what_to_do(tmp_path: Path) -> None:
    members = {"hyperparams.json": b"{}", "model_best.params": b"", "model_algo-1": b""}
    with pytest.raises(
        MissingFileError, match=r"model_algo-1 has parameters only, for a network that GluonCV builds"
    ):
        read_model(archive(tmp_path / "model.tar.gz", members))


def linked() -> tarfile.TarInfo:
    info = tarfile.TarInfo("net-symbol.json")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return info


def enormous(path: Path) -> Path:
    """Make an archive that says that a small member is larger than any network."""
    info = tarfile.TarInfo("net-symbol.json")
    info.size = _MOST_BYTES[".json"] + 1
    path.write_bytes(info.tobuf() + b"\0" * 1024)
    return path


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"../net-symbol.json": b"{}"}, "members must be inside of it"),
        ({"/net-symbol.json": b"{}"}, "members must be inside of it"),
        ({"a/../../net-symbol.json": b"{}"}, "members must be inside of it"),
        ({"..\\net-symbol.json": b"{}"}, "members must be inside of it"),
        ({"net-symbol.json": linked()}, "must be a file; it is a link or a device"),
        ({"a/net-symbol.json": b"{}", "b/net-symbol.json": b"{}"}, "it must have one file 'net-symbol.json'"),
    ],
)
def test_archives_that_are_no_models(tmp_path: Path, members: Mapping[str, Any], says: str) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(FormatError, match=says):
        read_model(archive(tmp_path / "in" / "model.tar.gz", members))
    assert sorted(os.listdir(tmp_path)) == ["in"] and os.listdir(tmp_path / "in") == ["model.tar.gz"]


def test_archives_that_are_broken(tmp_path: Path, prefix: str) -> None:
    whole = archive(tmp_path / "model.tar.gz", contents(prefix, "net")).read_bytes()
    for name, content in {"short": whole[: len(whole) // 2], "text": b"no archive", "empty": b""}.items():
        path = tmp_path / f"{name}.tar.gz"
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"it must be a whole tar archive"):
            read_model(path)
    with pytest.raises(FormatError, match=r"must have at most 268435456 bytes"):
        read_model(enormous(tmp_path / "large.tar"))


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int32", "int64"])
def test_safetensors_hold_every_type(tmp_path: Path, dtype: str) -> None:
    array = mx.nd.array(np.arange(6).reshape(2, 3), dtype=dtype)
    save_safetensors(tmp_path / "a.safetensors", None, {"w": array, "s": mx.nd.array([1.5])}, {})
    symbol, args, auxs = load_safetensors(tmp_path / "a.safetensors")
    assert symbol is None and not auxs and args["w"].dtype == array.dtype
    np.testing.assert_array_equal(args["w"].asnumpy(), array.asnumpy())


def test_safetensors_hold_numbers_in_the_order_of_their_shape(tmp_path: Path) -> None:
    """The NumPy half of the package writes an array in the order of its memory, under its shape."""
    rows = mx.nd.array(np.arange(24).reshape(2, 3, 4))
    turned, row_sparse = rows.transpose((2, 0, 1)), mx.nd.array([[0, 0], [1, 2]]).tostype("row_sparse")
    channels_last = mx.nd.NDArray(mx.nd.ones((2, 3, 4, 5)).tensor.contiguous(memory_format=_channels_last()))
    channels_last[:] = np.arange(120).reshape(2, 3, 4, 5)
    arrays = {"turned": turned, "part": rows[1:], "sparse": row_sparse, "last": channels_last}
    save_safetensors(tmp_path / "a.safetensors", None, arrays, {})
    found = load_safetensors(tmp_path / "a.safetensors")[1]
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name].asnumpy(), array.asnumpy())


def _channels_last() -> Any:
    import torch

    return torch.channels_last


def test_safetensors_hold_a_whole_checkpoint(tmp_path: Path, prefix: str) -> None:
    from safetensors import safe_open

    model = read_model(prefix)
    path = tmp_path / "all.safetensors"
    save_safetensors(path, model.symbol, model.arg_params, model.aux_params)
    again = read_model(path)
    assert again.name == "all" and again.symbol.tojson() == model.symbol.tojson()
    assert list(again.aux_params) == list(model.aux_params)
    with safe_open(path, "np") as file:
        assert file.metadata()["rebind_version"] == VERSION
        assert sorted(file.keys()) == sorted([*model.arg_params, *model.aux_params])
    with pytest.raises(FormatError, match=r"cannot both be named 'w'"):
        save_safetensors(path, None, {"w": mx.nd.ones(1)}, {"w": mx.nd.ones(1)})


def test_safetensors_that_are_wrong(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "a.safetensors"
    save_file({"w": np.ones(2, np.float32)}, path)
    assert list(load_safetensors(path)[1]) == ["w"]
    with pytest.raises(FormatError, match=r"it has no network in its metadata"):
        read_model(path)
    for names, says in {
        '["v"]': "must be of tensors in it; 'v' is not",
        "{": "must be a list of names in JSON",
    }.items():
        save_file({"w": np.ones(2, np.float32)}, path, {"aux_names": names})
        with pytest.raises(FormatError, match=says):
            load_safetensors(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(FormatError, match=r"it must be a whole safetensors file"):
        load_safetensors(path)
