"""Inference by another engine, to which parameters are constants."""

from __future__ import annotations

from .inference import InferenceProgram

__all__ = ["FrozenProgram"]


class FrozenProgram(InferenceProgram):
    """Forward alone, by an engine that has the parameters as constants, such as OpenVINO.

    What the engine compiled is what was prepared from the parameters (`FrozenCode.preparation`); it is compiled again
    when these change.
    """

    name = "frozen"
    chosen_when = "inference by a backend that freezes parameters, such as 'openvino'"
