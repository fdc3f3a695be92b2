"""Detectors and losses whose numbers decide how much is computed: functions that are written into the file."""

from __future__ import annotations

from ..node_writer import NodeWriter, Value
from ..translations import translation

__all__ = [
    "bipartite_matching", "box_nms", "ctc_loss", "multi_box_detection", "multi_box_prior", "multi_box_target",
    "proposal", "rroi_align",
]  # fmt: skip


def _call(writer: NodeWriter, helper: str, *arguments: object, without: tuple[str, ...] = ()) -> str:
    """Call a function of the file with those parameters that are not the defaults."""
    p, parameters = writer.params, writer.node.operator.signature.parameters
    settings = [
        f"{name}={p[name]!r}".replace("'", '"')
        for name, parameter in parameters.items()
        if name not in without and p[name] != parameter.default
    ]
    return f"{writer.helper(helper)}({', '.join([*map(str, arguments), *settings])})"


@translation("_contrib_box_nms")
def box_nms(writer: NodeWriter, data: Value) -> str:
    """Take boxes, the best first, that no better one suppresses."""
    return _call(writer, "box_nms", data)


@translation("_contrib_MultiBoxDetection")
def multi_box_detection(writer: NodeWriter, cls_prob: Value, loc_pred: Value, anchor: Value) -> str:
    """Take the class, score and box of each anchor."""
    return _call(writer, "multi_box_detection", cls_prob, loc_pred, anchor, without=("background_id",))


@translation("_contrib_MultiBoxPrior")
def multi_box_prior(writer: NodeWriter, data: Value) -> str:
    """Make the anchors of a map."""
    return _call(writer, "multi_box_prior", data)


@translation("_contrib_MultiBoxTarget")
def multi_box_target(writer: NodeWriter, anchor: Value, label: Value, cls_pred: Value) -> str:
    """Take what anchors are to learn."""
    return _call(writer, "multi_box_target", anchor, label, cls_pred)


@translation("_contrib_bipartite_matching")
def bipartite_matching(writer: NodeWriter, data: Value) -> str:
    """Match rows with columns, the best pair first."""
    return _call(writer, "bipartite_matching", data)


@translation("_contrib_RROIAlign")
def rroi_align(writer: NodeWriter, data: Value, rois: Value) -> str:
    """Take means over the bins of rotated boxes."""
    return _call(writer, "rotated_roi_align", data, rois)


@translation("_contrib_Proposal", "_contrib_MultiProposal")
def proposal(writer: NodeWriter, cls_prob: Value, bbox_pred: Value, im_info: Value) -> str:
    """Take the best regions of each image."""
    call = _call(writer, "propose", cls_prob, bbox_pred, im_info, without=("output_score",))
    return call if writer.params.output_score else f"{call}[0]"


@translation("CTCLoss")
def ctc_loss(writer: NodeWriter, data: Value, label: Value, *lengths: Value | None) -> str:
    """Sum over the ways to write the labels out."""
    names = ("data_lengths", "label_lengths")
    given = [f"{name}={value}" for name, value in zip(names, lengths, strict=True) if value is not None]
    flags = ("use_data_lengths", "use_label_lengths")
    return _call(writer, "ctc_loss", data, label, *given, without=flags)
