"""The command that packs pictures: lists, and records made of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rebind_command
from rebind.imaging import encode, resize
from rebind.recordio import MXIndexedRecordIO, unpack, unpack_img

pytest.importorskip("cv2")

SIZES = {
    "a.jpg": (20, 30),
    "b.png": (30, 20),
    "c.JPEG": (24, 24),
    "cats/d.png": (10, 40),
    "dogs/e.png": (7, 9),
}


def picture(size: tuple[int, int], seed: int = 0) -> np.ndarray:
    small = np.random.default_rng(seed).integers(0, 256, (4, 4, 3)).astype(np.uint8)
    return resize(small, size[1], size[0])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    for seed, (name, size) in enumerate(SIZES.items()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(encode(picture(size, seed), Path(name).suffix))
    (folder / "notes.txt").write_text("no picture")
    return folder


def im2rec(*arguments: object) -> int:
    return rebind_command.main(["im2rec", *map(str, arguments)])


def records(prefix: Path) -> dict[int, bytes]:
    with MXIndexedRecordIO(f"{prefix}.idx", f"{prefix}.rec", "r") as record:
        return {key: record.read_idx(key) for key in record.keys}


@pytest.mark.parametrize(
    ("flags", "written"),
    [
        (["--no-shuffle"], {"": "0\t0.000000\ta.jpg\n1\t0.000000\tb.png\n2\t0.000000\tc.JPEG\n"}),
        (["--no-shuffle", "--exts", ".png"], {"": "0\t0.000000\tb.png\n"}),
        (["--exts", ".png", ".JPG", "--no-shuffle"], {"": "0\t0.000000\ta.jpg\n1\t0.000000\tb.png\n"}),
        (
            ["--no-shuffle", "--recursive", "--exts", ".png"],
            {"": "0\t0.000000\tb.png\n1\t1.000000\tcats/d.png\n2\t2.000000\tdogs/e.png\n"},
        ),
        # The order of MXNet's tool: that of random.seed(100).
        ([], {"": "2\t0.000000\tc.JPEG\n1\t0.000000\tb.png\n0\t0.000000\ta.jpg\n"}),
        (
            ["--no-shuffle", "--chunks", "2"],
            {"_0": "0\t0.000000\ta.jpg\n1\t0.000000\tb.png\n", "_1": "2\t0.000000\tc.JPEG\n"},
        ),
        (
            ["--no-shuffle", "--recursive", "--train-ratio", "0.4", "--test-ratio", "0.2"],
            {
                "_test": "0\t0.000000\ta.jpg\n",
                "_train": "1\t0.000000\tb.png\n2\t0.000000\tc.JPEG\n",
                "_val": "3\t1.000000\tcats/d.png\n4\t2.000000\tdogs/e.png\n",
            },
        ),
        (
            ["--no-shuffle", "--train-ratio", "0.4", "--test-ratio", "0.6"],
            {"_test": "0\t0.000000\ta.jpg\n", "_train": "1\t0.000000\tb.png\n"},
        ),
    ],
)
def test_lists(flags, written, root, tmp_path, capsys):
    assert im2rec("--list", tmp_path / "data", root, *flags) == 0
    found = {path.stem.removeprefix("data"): path.read_text() for path in tmp_path.glob("*.lst")}
    assert found == written
    shown = [". 0", "cats 1", "dogs 2"] if "--recursive" in flags else []
    assert capsys.readouterr().out.splitlines() == shown


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("flags", "shapes"),
    [
        ([], [(20, 30, 3), (30, 20, 3), (24, 24, 3)]),
        (["--resize", "10"], [(10, 15, 3), (15, 10, 3), (10, 10, 3)]),
        (["--center-crop"], [(20, 20, 3), (20, 20, 3), (24, 24, 3)]),
        (["--center-crop", "--resize", "40", "--color", "0"], [(40, 40), (40, 40), (40, 40)]),
        (["--encoding", ".png", "--quality", "9"], [(20, 30, 3), (30, 20, 3), (24, 24, 3)]),
    ],
)
def test_records(flags, shapes, threads, root, tmp_path):
    prefix = tmp_path / "data"
    im2rec("--list", prefix, root)
    assert im2rec(*flags, "--num-thread", threads, prefix, root) == 0
    found = records(prefix)
    assert [*found] == [2, 1, 0]  # the order of the list
    pictures = [unpack_img(found[key]) for key in (0, 1, 2)]
    assert [image.shape for _, image in pictures] == shapes
    assert [(header.id, header.label) for header, _ in pictures] == [(0, 0.0), (1, 0.0), (2, 0.0)]
    if ".png" in flags:
        assert np.array_equal(pictures[1][1][:, :, ::-1], picture(SIZES["b.png"], 1))


def test_files_as_they_are(root, tmp_path):
    im2rec("--list", tmp_path / "data", root)
    im2rec("--pass-through", tmp_path / "data", root)
    assert unpack(records(tmp_path / "data")[0])[1] == (root / "a.jpg").read_bytes()


@pytest.mark.parametrize("all_labels", [True, False])
def test_several_labels(all_labels, root, tmp_path):
    (tmp_path / "data.lst").write_text("7\t1\t2.5\ta.jpg\n\n9\t3\tb.png\n")
    im2rec(*(["--pack-label"] if all_labels else []), tmp_path / "data", root)
    found = records(tmp_path / "data")
    assert np.array_equal(unpack(found[7])[0].label, [1, 2.5] if all_labels else 1)
    assert unpack(found[9])[0].label == 3.0 and unpack(found[9])[0].flag == 0


def test_every_list_of_the_prefix(root, tmp_path):
    im2rec("--list", "--chunks", "3", tmp_path / "data", root)
    assert im2rec("--pass-through", tmp_path / "data", root) == 0
    assert sorted(path.name for path in tmp_path.glob("data_*.rec")) == [
        "data_0.rec",
        "data_1.rec",
        "data_2.rec",
    ]


def test_files_that_are_no_pictures(root, tmp_path, capsys):
    (root / "b.png").write_bytes(b"no picture")
    (tmp_path / "data.lst").write_text("0\t0\ta.jpg\n1\t0\tb.png\n2\t0\tmissing.png\n3\t0\tc.JPEG\n")
    (tmp_path / "data.rec").write_text("older")
    assert im2rec(tmp_path / "data", root) == 1
    said = capsys.readouterr().err
    assert "b.png' must hold an image" in said and "--skip-broken leaves such files out." in said
    assert (tmp_path / "data.rec").read_text() == "older" and not [*tmp_path.glob("*.partial")]
    assert im2rec("--skip-broken", tmp_path / "data", root) == 0
    said = capsys.readouterr().err
    assert "2 files were left out of" in said and "b.png' must hold" in said and "missing.png" in said
    assert [*records(tmp_path / "data")] == [0, 3]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--list", "{tmp}/data", "{tmp}/nowhere"], "nowhere' must exist"),
        (
            ["--list", "{tmp}/data", "{tmp}"],
            "must contain pictures, files that end in .jpeg, .jpg, .png. For pictures in subfolders",
        ),
        (["{tmp}/data", "{tmp}"], "there must be a list file whose name begins with"),
        (["{tmp}/nowhere/data", "{tmp}"], "there must be a list file whose name begins with"),
        (["{tmp}/bad", "{tmp}"], r"bad.lst', line 2 must be a number >= 0, one or more labels and a path"),
    ],
)
def test_mistakes(arguments, says, tmp_path, capsys):
    (tmp_path / "bad.lst").write_text("0\t0\ta.jpg\n1\ta.jpg\n")
    assert im2rec(*(each.format(tmp=tmp_path) for each in arguments)) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--chunks", "0"], "Invalid value for '--chunks': 0 is not in the range x>=1"),
        (["--train-ratio", "1.5"], "Invalid value for '--train-ratio': 1.5 is not in the range 0"),
        (["--encoding", ".gif"], "Invalid value for '--encoding': '.gif' is not one of '.jpg', '.png'"),
    ],
)
def test_usage(flags, says, capsys):
    with pytest.raises(SystemExit):
        im2rec(*flags, "a", "b")
    assert says in capsys.readouterr().err


# What MXNet's own tool uses, as it uses it: worker processes that encode, one that writes.
PROGRAM = """
import json, multiprocessing, os, sys
import cv2
import mxnet as mx

def encode(number, path, quality, queue):
    header = mx.recordio.IRHeader(0, [number, number + 0.5], number, 0)
    if number % 2:
        with open(path, "rb") as fin:
            queue.put((number, mx.recordio.pack(header, fin.read())))
    else:
        img = cv2.imread(path, 1)
        queue.put((number, mx.recordio.pack_img(header, img, quality=quality, img_fmt=".jpg")))

def write(prefix, count, queue):
    record = mx.recordio.MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "w")
    for _ in range(count):
        record.write_idx(*queue.get())
    record.close()

if __name__ == "__main__":
    prefix, *paths = sys.argv[1:]
    queue = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=encode, args=(i, p, 95, queue)) for i, p in enumerate(paths)]
    workers.append(multiprocessing.Process(target=write, args=(prefix, len(paths), queue)))
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    record = mx.recordio.MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "r")
    found = {}
    for key in sorted(record.keys):
        header, img = mx.recordio.unpack_img(record.read_idx(key))
        found[key] = [header.label.tolist(), list(img.shape)]
    print(json.dumps(found))
"""


def test_programs_like_the_tool_run(root, tmp_path):
    (tmp_path / "tool.py").write_text(PROGRAM)
    paths = [str(root / name) for name in ("a.jpg", "b.png", "c.JPEG")]
    done = subprocess.run(
        [sys.executable, "-m", "rebind", "run", "tool.py", str(tmp_path / "out"), *paths],
        cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "0": [[0, 0.5], [20, 30, 3]], "1": [[1, 1.5], [30, 20, 3]], "2": [[2, 2.5], [24, 24, 3]]
    }  # fmt: skip
