"""The file of a `BucketingModule` with its keys."""

import numpy as np
import pytest

from rebind import nd
from rebind.module.bucket_keys import read_keys, write_keys


@pytest.mark.parametrize(
    "keys", [[8, 4], [(8, 1), (4, 2)], ["a", "b"], [("a", 1), 2, 0.5], [2**40], [(1,), (2, 3)], [-1]]
)
def test_keys_come_back(tmp_path, keys):
    path = str(tmp_path / "it.buckets")
    write_keys(path, keys)
    assert read_keys(path) == keys


def test_whole_numbers_are_written_as_by_mxnet(tmp_path):
    path = str(tmp_path / "it.buckets")
    write_keys(path, [np.int64(8), 4])
    (found,) = nd.load(path)
    assert found.dtype is np.int32 and found.asnumpy().tolist() == [8, 4]


@pytest.mark.parametrize("key", [None, True, object, ("a", None), frozenset((1,))])
def test_keys_that_no_file_can_hold(tmp_path, key):
    with pytest.raises(ValueError, match="a bucket's key must be a number, a string or a tuple of those"):
        write_keys(str(tmp_path / "it.buckets"), [key])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b'{"bucket": [1]}', b"{", b'{"buckets": 3}', b"nothing", b""])
def test_files_that_are_none(tmp_path, content):
    path = tmp_path / "it.buckets"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"it\.buckets"):
        read_keys(str(path))


def test_a_file_of_other_arrays(tmp_path):
    path = str(tmp_path / "it.buckets")
    nd.save(path, {"a": nd.ones((1,))})
    with pytest.raises(ValueError, match="must hold one array, the keys of buckets"):
        read_keys(path)
