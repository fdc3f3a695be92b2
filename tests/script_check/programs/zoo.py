from mxnet.gluon.model_zoo import vision
from mxnet.gluon.model_zoo.vision import resnet50_v1 as make

net = vision.get_model("resnet18_v1", pretrained=True)  # expect: absent
other = make()  # expect: absent
third = vision.vgg16()  # expect: absent
