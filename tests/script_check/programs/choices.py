import mxnet as mx

data = mx.sym.Variable("data")
net = mx.sym.Activation(data, act_type="rleu")  # expect: choice
net = mx.symbol.Pooling(net, kernel=(2, 2), pool_type="maxx")  # expect: choice
net = mx.sym.FullyConnected(net, num_hidden=0)  # expect: choice
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden="10"), normalization="batch", name="softmax")
x = mx.nd.zeros((2, 3), dtype="flaot32")  # expect: choice
x = mx.nd.array([1]).astype("float32")
words = mx.models.get("resnet51")  # expect: choice
words = mx.models.get("resnet50", num_clases=10)  # expect: keyword
words = mx.models.get("LeNet", num_classes=10)
mx.profiler.set_config(profle_all=True)  # expect: keyword
mx.profiler.set_config(profile_all=True, profile_process="worker")
mx.profiler.set_state("start")  # expect: choice
mx.profiler.set_state("run")
opt = mx.optimizer.create("sgdd")  # expect: choice
opt = mx.optimizer.create("sgd", learning_rte=0.1)  # expect: keyword
opt = mx.optimizer.create("SGD", learning_rate=0.1)
opt = mx.optimizer.create("half_sgd", learning_rate=0.1)
opt = mx.optimizer.create("MySGD", any_setting=1)
metric = mx.metric.create("accurcy")  # expect: choice
metric = mx.metric.create(["acc", "cros-entropy"])  # expect: choice
metric = mx.metric.create("Accuracy")
metric = mx.metric.create("top_k_accuracy", topk=3)  # expect: keyword
metric = mx.metric.create('{"metric": "Accuracy"}')
start = mx.init.create("xavir")  # expect: choice
start = mx.init.create("Xavier", magntude=3)  # expect: keyword
start = mx.init.create('["normal", {"sigma": 0.5}]')
store = mx.kv.create("dist_snyc")  # expect: choice
store = mx.kv.create("device")
it = mx.io.NDArrayIter(x, last_batch_handle="padd")  # expect: choice
mod = mx.mod.Module(net)
mod.bind(it.provide_data, grad_req="wirte")  # expect: choice
mod.init_params("xavier")
mod.init_params("xaveir")  # expect: choice
mod.init_optimizer("device", "sgdd")  # expect: choice
mod.init_optimizer(optimizer="adam", optimizer_params=(("learning_rate", 0.1), ("beta3", 1)))  # expect: keyword
mod.init_optimizer(optimizer_params=dict(learning_rte=0.1))  # expect: keyword
mod.init_optimizer(optimizer=opt, optimizer_params={"whatever": 1})
name = "adamm"
settings = {"learning_rate": 0.1, "momentm": 0.9}  # expect: keyword
mod.fit(it, eval_metric="ac", optimizer=name, kvstore="devce")  # expect: choice, choice, choice
mod.fit(it, optimizer_params=settings, validation_metric="rmsee")  # expect: choice
mod.fit(it, optimizer_params={"learning_rate": 0.1}, **{"optimizer": "adam"})
mod.fit(it, eval_metric=["acc", "ce"], optimizer="Adam", initializer=mx.init.Xavier(), kvstore="local")
mx.mod.BucketingModule(lambda key: net).score(it, "perplexty")  # expect: choice, value
mx.model.FeedForward(net, optimizer="sgd", learning_rte=0.1)  # expect: keyword
mx.model.FeedForward(net, optimizer="sgd", learning_rate=0.1, begin_epoch=2)
mx.model.FeedForward.create(net, x, initializer="unifrm")  # expect: choice
if hasattr(mx, "models"):
    words = mx.models.get("resnet51")


@mx.optimizer.register
class MySGD(mx.optimizer.SGD):
    pass


mx.optimizer.Optimizer.opt_registry["half_sgd"] = mx.optimizer.register("half_sgd")(MySGD)
