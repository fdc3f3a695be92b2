"""Arithmetic with 8-bit whole numbers: conversion, calibration, layers and element-wise operators.

An array of int8 or uint8 goes together with two arrays of one element, the range: the real numbers that its
outermost levels represent. Zero is always level 0, so that a level is worth ``max(|min|, |max|)`` divided by the
number of levels. Sums of products are int32; their range is that of the whole int32.

None of these operators has a gradient.
"""

from . import calibration, conversion, elementwise, layers, normalization, recurrent, same_range

__all__ = ["calibration", "conversion", "elementwise", "layers", "normalization", "recurrent", "same_range"]
