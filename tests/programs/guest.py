"""A program that uses much of the library, and looks at what is not the library's: loggers and random numbers."""

import logging
import os
import random
import sys

import numpy as np
import torch


def states():
    name, keys, position, *_ = np.random.get_state()
    return {
        "random": hash(random.getstate()),
        "numpy.random": (name, keys.tobytes(), position),
        "torch": torch.get_rng_state().numpy().tobytes(),
    }


def root():
    return logging.root.handlers[:], logging.root.level, logging.root.filters[:]


random.seed(1), np.random.seed(1), torch.manual_seed(1)
before, root_before = states(), root()
import rebind as mx  # noqa: E402

os.chdir(sys.argv[1])


def look(what):
    for name, state in states().items():
        if state != before[name]:
            print(what, "draws from", name)
            before[name] = state
    if root() != root_before:
        print(what, "changes the root logger:", root())
        logging.root.handlers[:] = root_before[0]


look("import")
logging.root.setLevel(logging.DEBUG)
root_before = root()
sys.path.insert(0, os.path.dirname(__file__))
mx.install_as_mxnet()
import forking  # noqa: E402  # its files and iterators

forking.write_files(".")
with open("a.lst", "w") as file:
    file.writelines(f"{i}\t{i % 4}\t{i}.png\n" for i in range(8))
for i in range(8):
    with open(f"{i}.png", "wb") as file:
        file.write(mx.recordio.pack_img(mx.recordio.IRHeader(0, i, i, 0), np.full((16, 16, 3), i, "uint8"), img_fmt=".png")[24:])
look("recordio")
made = forking.iterators(".", shuffle=False)
look("the iterators' construction")
for name, batches in made.items():
    forking.rest(batches)
    look(name)
pictures = mx.image.ImageIter(4, (3, 12, 12), path_imglist="a.lst", path_root=".")
list(pictures)
list(mx.image.ImageDetIter(4, (3, 12, 12), path_imgrec="a.rec"))
look("mx.image")

net = forking.network()
mx.viz.print_summary(net, shape={"data": (1, 400)})
look("print_summary")
values = np.random.RandomState(2).rand(40, 400).astype("float32")
batches = mx.io.NDArrayIter(values, np.arange(40) % 4, 20)
for option in ("off", "on"):
    os.environ["REBIND_PROGRESS"] = option
    module = mx.mod.Module(net)
    module.fit(
        batches, eval_data=batches, num_epoch=2, kvstore="local", monitor=mx.mon.Monitor(1),
        initializer=mx.init.Xavier(), optimizer="adam",
        optimizer_params={"lr_scheduler": mx.lr_scheduler.FactorScheduler(1)},
        batch_end_callback=[mx.callback.Speedometer(20, 1), mx.callback.log_train_metric(1), mx.callback.ProgressBar(2)],
        epoch_end_callback=[mx.callback.do_checkpoint("model"), mx.callback.module_checkpoint(module, "module", save_optimizer_states=True)],
        eval_end_callback=mx.callback.LogValidationMetricsCallback(),
    )  # fmt: skip
    module.score(batches, ["acc", "ce"]), module.predict(batches), batches.reset()
    look(f"fit, progress {option}")
mx.mod.Module.load("model", 2), mx.model.load_checkpoint("model", 2)
mx.model.FeedForward(net, num_epoch=1, numpy_batch_size=20).fit(batches)
look("models")
for kind in ("local", "device"):
    store = mx.kv.create(kind)
    store.init(3, mx.nd.ones((2, 3)))
    store.push(3, mx.nd.ones((2, 3)))
    store.pull(3, out=mx.nd.zeros((2, 3)))
mx.random.seed(3)
mx.nd.random.uniform(shape=(3, 4)), mx.nd.Dropout(mx.nd.ones((3, 4)), p=0.5)
mx.contrib.text.utils.count_tokens_from_str("a b")
look("the rest")


from rebind_command import main  # noqa: E402

with open("job.py", "w") as file:
    file.write(
        "import logging\nlogging.root.setLevel(logging.INFO)\nimport rebind as mx\n"
        "store = mx.kv.create('dist_sync')\nstore.init(3, mx.nd.ones((2, 3)))\nstore.push(3, mx.nd.ones((2, 3)))\n"
        "store.barrier()\nprint(logging.root.handlers)\n"
    )
for arguments in (["im2rec", "a", "."], ["launch", "-n", "2", sys.executable, "job.py"]):
    sys.argv = ["rebind", *arguments]
    try:
        code = main()
    except SystemExit as end:
        code = end.code
    if code:
        print(arguments, "ends with", code)
    look(arguments[0])
