"""`mx.models`: the symbols that people use, with the parameter names that published MXNet checkpoints have."""

from ..completion import listing as _listing
from .alexnet import alexnet, caffenet
from .arcface import arcface_head, arcface_resnet
from .catalogue import get
from .catalogue import names as list
from .densenet import densenet
from .faster_rcnn import fast_rcnn, faster_rcnn, region_proposal_network
from .googlenet import googlenet
from .inception_bn import inception_bn
from .inception_resnet_v2 import inception_resnet_v2
from .inception_v3 import inception_v3
from .inception_v4 import inception_v4
from .language_model import lstm_language_model
from .lenet import lenet
from .mlp import mlp
from .mobilefacenet import mobilefacenet
from .mobilenet import mobilenet, mobilenet_v2
from .mobilenet_v3 import mobilenet_v3
from .resnet import resnet
from .resnext import resnext
from .retinaface import retinaface
from .squeezenet import squeezenet
from .ssd import ssd
from .vgg import vgg

__all__ = [
    "alexnet", "arcface_head", "arcface_resnet", "caffenet", "densenet", "fast_rcnn", "faster_rcnn", "get",
    "googlenet", "inception_bn", "inception_resnet_v2", "inception_v3", "inception_v4", "lenet", "list",
    "lstm_language_model", "mlp", "mobilefacenet", "mobilenet", "mobilenet_v2", "mobilenet_v3",
    "region_proposal_network", "resnet", "resnext", "retinaface", "squeezenet", "ssd", "vgg",
]  # fmt: skip
__dir__ = _listing(globals())
