"""Models of other engines become checkpoints."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.convert.checkpoints import pictures

import rebind_command
from rebind.convert import export, import_file, prepared, read_model
from rebind.convert.network import run
from rebind.errors import ExistingFileError, FormatError, MissingFileError

SHAPES = {"onnx": {"in-data": (0, 3, 8, 8)}, "pt2": {"in-data": (0, 3, 8, 8)}, "safetensors": None}


@pytest.mark.parametrize("to", ["onnx", "pt2", "safetensors"])
def test_a_network_comes_back(to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = export(pictures(), to, out=tmp_path, check=False, shape=SHAPES[to]).path
    assert rebind_command.main(["import", file, "--out", f"{tmp_path}/back"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/back-symbol.json\n{tmp_path}/back-0000.params\n"
    networks = prepared(read_model(f"{tmp_path}/back")), prepared(pictures())
    data = np.random.RandomState(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
    found, expected = (
        run(each.symbol, each.params, {name: data for name in each.inputs.data}) for each in networks
    )
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MissingFileError, match=r"^import: the file '.*a\.onnx' must exist$"):
        import_file(tmp_path / "a.onnx")
    (tmp_path / "a.txt").touch()
    with pytest.raises(
        FormatError, match=r"^import: the file must end in \.onnx, \.pt2 or \.safetensors; got "
    ):
        import_file(tmp_path / "a.txt", tmp_path)
    (tmp_path / "a.pt2").write_bytes(b"no program")
    with pytest.raises(FormatError, match=r"^import: '.*a\.pt2' must be a whole file that torch\.export"):
        import_file(tmp_path / "a.pt2", tmp_path)
    (tmp_path / "a-symbol.json").write_text("somebody's")
    with pytest.raises(
        ExistingFileError, match=r"^import: '.*a-symbol\.json' exists already; overwrite=True"
    ):
        import_file(tmp_path / "a.pt2", tmp_path)
    assert rebind_command.main(["import", str(tmp_path / "a.onnx")]) == 1
    assert capsys.readouterr().err.startswith("rebind import: the file '")
    assert sorted(os.listdir(tmp_path)) == ["a-symbol.json", "a.pt2", "a.txt"] and torch.__version__


@pytest.mark.parametrize("ending", ["onnx", "pt2", "safetensors"])
@pytest.mark.parametrize("content", [b"", b"no model", bytes(range(256)) * 8, "archive"], ids=str)
def test_other_files_are_refused_in_one_sentence(
    ending: str, content: bytes | str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"a.{ending}"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/b.txt", "no model")
    assert rebind_command.main(["import", str(path), "--out", f"{tmp_path}/back"]) == 1
    written = capfd.readouterr()
    assert written.out == "" and len(written.err.splitlines()) == 1 and "import" in written.err
    assert os.listdir(tmp_path) == [path.name]
