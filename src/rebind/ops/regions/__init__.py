"""Pooling over regions of interest: each box on an image becomes a small map of one size.

Boxes are the rows of an array `rois`: the index of its image in the batch, then coordinates in pixels of the
original image, which `spatial_scale` turns into those of the feature map. Boxes are taken as they are: no gradient
flows to them. A box whose index names no image (-1 fills up arrays of boxes) gives zeros.
"""

from .maxima import roi_pooling
from .means import roi_align, rroi_align
from .sensitive import deformable_psroi_pooling, psroi_pooling

__all__ = ["deformable_psroi_pooling", "psroi_pooling", "roi_align", "roi_pooling", "rroi_align"]
