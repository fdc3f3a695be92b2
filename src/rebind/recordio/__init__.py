"""Record files: many payloads in one file, such as pictures with their labels, in MXNet's format."""

from typing import TYPE_CHECKING

from ..absent import old_names
from .index import read_index
from .packing import IRHeader, pack, pack_img, unpack, unpack_img
from .record_io import MXIndexedRecordIO, MXRecordIO
from .stream import RecordReader, RecordWriter

__all__ = [
    "IRHeader",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "RecordReader",
    "RecordWriter",
    "pack",
    "pack_img",
    "read_index",
    "unpack",
    "unpack_img",
]

# The form of a header, which programs read by these names of MXNet's.
_IR_FORMAT, _IR_SIZE = "IfQQ", 24

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
