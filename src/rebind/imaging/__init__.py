"""Pictures as NumPy arrays: read from the bytes of a file, written to them, resized. OpenCV does the work."""

from .codec import INTERPOLATIONS, REDUCTIONS, decode, decode_flagged, encode, jpeg_size, opencv, resize

__all__ = [
    "INTERPOLATIONS",
    "REDUCTIONS",
    "decode",
    "decode_flagged",
    "encode",
    "jpeg_size",
    "opencv",
    "resize",
]
