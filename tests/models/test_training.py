"""A network of `mx.models` is trained from a record file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rebind as mx
from rebind.models.training import train
from rebind_command.train import train as command

pytest.importorskip("cv2")


def test_a_network_is_trained_from_a_record_file(tmp_path: Path) -> None:
    path = str(tmp_path / "bars.rec")
    record = mx.recordio.MXRecordIO(path, "w")
    random = np.random.RandomState(0)
    for index in range(64):
        picture = random.randint(0, 60, (28, 28, 3)).astype(np.uint8)
        picture[:, : 14 if index % 2 else 28] //= 4
        picture[:14] += np.uint8(150 * (index % 2))
        header = mx.recordio.IRHeader(0, float(index % 2), index, 0)
        record.write(mx.recordio.pack_img(header, picture, img_fmt=".png"))
    record.close()
    prefix = str(tmp_path / "bars")
    np.random.seed(0)
    mx.random.seed(0)
    train("mlp", path, path, classes=2, shape=(3, 28, 28), epochs=2, batch_size=16, lr=1e-4, prefix=prefix)
    symbol, arguments, _ = mx.model.load_checkpoint(prefix, 2)
    assert symbol.list_arguments() == mx.models.get("mlp", num_classes=2).list_arguments()
    module = mx.mod.Module.load(prefix, 2)
    batches = mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 28, 28), batch_size=16)
    module.bind(batches.provide_data, batches.provide_label, for_training=False)
    assert dict(module.score(batches, "acc"))["accuracy"] > 0.9
    assert arguments["fc3_weight"].shape == (2, 64)


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "empty.rec"
    path.touch()
    done = CliRunner().invoke(command, ["--model", "lenet", "--data", str(path), "--shape", "28,28"])
    assert (
        done.exit_code == 2 and "must be CHANNELS,HEIGHT,WIDTH, as in 3,224,224; got '28,28'" in done.output
    )
    done = CliRunner().invoke(command, ["--model", "lenet5", "--data", str(path)], standalone_mode=False)
    assert done.return_value == 1 and "lenet5" in done.stderr
