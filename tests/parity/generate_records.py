"""Record what MXNet 1.9.1 writes to record files, and what its iterators read from them.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_records

It writes ``data/records.json`` and ``data/records.npz`` beside this file: the checksums of the files, orders of
samples, and one batch for each way of augmentation in which nothing is left to chance.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from .golden import DATA, Pack, write_manifest
from .oracle import mx, origin
from .records import (
    DETECTION,
    DETECTION_DEFAULTS,
    ORDERS,
    PICTURE_DEFAULTS,
    PICTURES,
    first_batch,
    order_of,
    write_all,
    write_blocks,
)


def main() -> None:
    """Record everything."""
    pack = Pack()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = {"origin": origin(), "files": write_all(mx, folder)}
        write_blocks(mx, folder)
        manifest["orders"] = {key: order_of(mx, folder, row) for key, row in ORDERS.items()}
        for part, kind, rows, defaults in (
            ("pictures", "ImageRecordIter", PICTURES, PICTURE_DEFAULTS),
            ("detection", "ImageDetRecordIter", DETECTION, DETECTION_DEFAULTS),
        ):
            manifest[part] = {
                key: [pack.add(each) for each in first_batch(mx, kind, folder, {**defaults, **row})]
                for key, row in rows.items()
            }
        mean = mx.nd.load(str(folder / "mean.bin"))
        manifest["mean_img"] = pack.add_all({key: value.asnumpy() for key, value in mean.items()})
    write_manifest(DATA / "records.json", manifest)
    pack.write(DATA / "records.npz")


if __name__ == "__main__":
    main()
