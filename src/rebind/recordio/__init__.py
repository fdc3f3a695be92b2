"""Record files: many payloads in one file, such as pictures with their labels, in MXNet's format."""

import typing as _typing

from ..absent import old_names as _old_names
from ..completion import listing as _listing
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
__dir__ = _listing(globals())

# The form of a header, which programs read by these names of MXNet's.
_IR_FORMAT, _IR_SIZE = "IfQQ", 24

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
