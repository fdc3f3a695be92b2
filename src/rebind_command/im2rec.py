"""The flags of ``rebind im2rec``: those of MXNet's tool ``im2rec.py``, and ``--skip-broken``."""

from __future__ import annotations

import argparse

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "prefix", help="begin of the names of the list and record files: PREFIX.lst, PREFIX.rec, ..."
    )
    parser.add_argument("root", help="the folder with the pictures")
    _add_list_arguments(parser.add_argument_group("lists"))
    _add_record_arguments(parser.add_argument_group("records"))


def _add_list_arguments(lists: argparse._ArgumentGroup) -> None:
    lists.add_argument(
        "--list", action="store_true", help="make lists; otherwise make records of those that are there"
    )
    lists.add_argument(
        "--exts", nargs="+", default=[".jpeg", ".jpg", ".png"], metavar="EXT",
        help="endings of the pictures' names (default: %(default)s)",
    )  # fmt: skip
    lists.add_argument(
        "--chunks", type=_at_least_1, default=1, metavar="N", help="divide the pictures into N parts"
    )
    lists.add_argument(
        "--train-ratio", type=_ratio, default=1.0, metavar="R",
        help="share for PREFIX_train.lst (default: all, in PREFIX.lst); the rest is for PREFIX_val.lst",
    )  # fmt: skip
    lists.add_argument(
        "--test-ratio", type=_ratio, default=0.0, metavar="R", help="share for PREFIX_test.lst"
    )
    lists.add_argument(
        "--recursive", action="store_true",
        help="look in the folders below, too, and give each folder a label of its own; otherwise labels are 0",
    )  # fmt: skip
    lists.add_argument(
        "--no-shuffle",
        dest="shuffle",
        action="store_false",
        help="keep the pictures in the order of their names",
    )


def _add_record_arguments(records: argparse._ArgumentGroup) -> None:
    records.add_argument("--pass-through", action="store_true", help="store the files as they are")
    records.add_argument(
        "--resize",
        type=int,
        default=0,
        metavar="SIZE",
        help="resize the shorter edge to this (default: no change)",
    )
    records.add_argument(
        "--center-crop", action="store_true", help="crop the longer edge to the size of the shorter"
    )
    records.add_argument(
        "--quality", type=int, default=95,
        help="of a JPEG 1 to 100, the compression of a PNG 1 to 9 (default: %(default)s)",
    )  # fmt: skip
    records.add_argument(
        "--num-thread", type=_at_least_1, default=1, metavar="N", help="threads that encode pictures"
    )
    records.add_argument(
        "--color", type=int, default=1, choices=[-1, 0, 1],
        help="1: colour. 0: grey. -1: as stored (default: %(default)s)",
    )  # fmt: skip
    records.add_argument(
        "--encoding", default=".jpg", choices=[".jpg", ".png"], help="format (default: %(default)s)"
    )
    records.add_argument(
        "--pack-label", action="store_true", help="store all labels; otherwise the first one"
    )
    records.add_argument(
        "--skip-broken", action="store_true",
        help="leave out files that cannot be read as pictures, and name them; otherwise they are an error",
    )  # fmt: skip


def _at_least_1(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {value}")
    return value


def _ratio(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be from 0 to 1; got {text}")
    return value
