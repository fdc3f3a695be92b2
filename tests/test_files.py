import os
import stat

import pytest

from rebind.errors import ParameterError
from rebind.files import atomic_write


@pytest.mark.parametrize(
    ("mode", "content", "expected"),
    [("wb", b"one", b"one"), ("w", "σ", "σ".encode())],
    ids=["bytes", "text-is-utf8"],
)
def test_file_appears_whole(tmp_path, mode, content, expected):
    path = tmp_path / "a.bin"
    with atomic_write(path, mode) as file:
        file.write(content)
        assert not path.exists()
    assert path.read_bytes() == expected
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_old_file_stays_when_writing_fails(tmp_path, error):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(error), atomic_write(path) as file:
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_links_are_followed_and_permissions_stay(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_new_file_has_the_permissions_of_an_opened_one(tmp_path):
    (tmp_path / "opened").write_bytes(b"")
    with atomic_write(tmp_path / "written"):
        pass
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "opened").stat().st_mode


def test_what_is_no_regular_file_is_written_directly():
    with atomic_write(os.devnull) as file:
        file.write(b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize(
    ("path", "mode", "error", "says"),
    [
        pytest.param("x", "r", ParameterError, "mode must be 'wb' or 'w'; got 'r'", id="mode"),
        pytest.param("nowhere/a", "wb", FileNotFoundError, "nowhere", id="missing-folder"),
    ],
)
def test_what_cannot_be_written_is_named(tmp_path, path, mode, error, says):
    with pytest.raises(error, match=says), atomic_write(tmp_path / path, mode):
        pass
