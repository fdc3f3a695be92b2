"""What layers with windows share: kernels, strides, borders."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ....symbol import Symbol
from ..node_reader import NodeReader

__all__ = ["Windows"]


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution or a pooling.

    Attributes
    ----------
    kernel, stride, dilate
        Their sizes, steps and spacing, a number for each axis of the image.
    before, after
        The border at the start and the end of each axis.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of_convolution(cls, reader: NodeReader) -> Windows:
        """Read those of a convolution, whose weight says the kernel where no attribute does."""
        weight = reader.shape(1) or []
        kernel = reader.attribute("kernel_shape", None) or weight[2:]
        if not kernel or not all(isinstance(n, int) for n in kernel):
            raise reader.refuse("the sizes of its kernel must be known")
        return cls.read(reader, tuple(n for n in kernel if isinstance(n, int)))

    @classmethod
    def read(cls, reader: NodeReader, kernel: tuple[int, ...]) -> Windows:
        """Read what attributes say of windows of a size."""
        axes = len(kernel)
        stride = tuple(reader.attribute("strides", [1] * axes))
        dilate = tuple(reader.attribute("dilations", [1] * axes))
        automatic = reader.attribute("auto_pad", "NOTSET")
        pads = reader.attribute("pads", [0] * (2 * axes))
        if automatic == "VALID":
            pads = [0] * (2 * axes)
        found = cls(kernel, stride, dilate, tuple(pads[:axes]), tuple(pads[axes:]))
        if automatic in ("SAME_UPPER", "SAME_LOWER"):
            return found._same(reader, upper=automatic == "SAME_UPPER")
        return found

    def _same(self, reader: NodeReader, *, upper: bool) -> Windows:
        """Return windows whose border makes as many of them as the stride fits into the image."""
        sizes = (reader.shape() or [])[2:]
        small, large = [], []
        for size, k, s, d in zip(sizes, self.kernel, self.stride, self.dilate):
            extent = (k - 1) * d + 1
            if s == 1:
                total = extent - 1
            elif isinstance(size, int):
                total = max((-(-size // s) - 1) * s + extent - size, 0)
            else:
                raise reader.refuse("with auto_pad and strides the spatial sizes must be known")
            small.append(total // 2)
            large.append(total - total // 2)
        before, after = (small, large) if upper else (large, small)
        return replace(self, before=tuple(before), after=tuple(after))

    @property
    def is_symmetric(self) -> bool:
        """Whether each axis has one width of border at both ends."""
        return self.before == self.after

    def padded(self, reader: NodeReader, data: Symbol, value: float = 0.0) -> tuple[Symbol, Windows]:
        """Return data with its border, and windows that need none."""
        width = [n for pair in zip(self.before, self.after) for n in pair]
        found = reader.op("Pad", data, mode="constant", pad_width=(0, 0, 0, 0, *width), constant_value=value)
        none = (0,) * len(self.kernel)
        return found, replace(self, before=none, after=none)
