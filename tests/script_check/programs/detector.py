import mxnet as mx
from mxnet import symbol as sym
from mxnet.symbol import contrib

def head(data, anchors, labels):
    scores = sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=84, name="scores")
    target = contrib.MultiBoxTarget(  # expect: value
        anchors, labels, scores, overlap_threshold=0.5, negative_mining_ratio=3, minimum_negative_samples=4
    )
    boxes = contrib.MultiBoxDetection(scores, target[0], anchors, nms_threshold=0.5, nms_topk=400)
    pairs = contrib.bipartite_matching(scores, threshold=0.5, topk=2)  # expect: value
    crossed = sym.Correlation(data, data, kernel_size=2)  # expect: value
    wrong = contrib.box_nmss(boxes)  # expect: mistake
    return sym.Group([boxes, pairs, crossed, wrong])


iterator = mx.image.ImageDetIter(batch_size=2, data_shape=(3, 300, 300), path_imgrec="train.rec")
iterator.sync_label_shap(iterator)  # expect: mistake
iterator.draw_next(color=(255, 0, 0), waitKey=0)
rolled = mx.image.ImageIter(2, (3, 8, 8), path_imglist="a.lst", last_batch_handle="roll_over")  # expect: value
