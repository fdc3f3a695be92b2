"""What ``import mxnet`` finds in the processes that a program under ``rebind run`` starts: rebind.

The folder of this file is on PYTHONPATH there, and nowhere else. A process of another Python, which inherits the
variable but cannot import rebind, finds its own mxnet.
"""

import importlib
import importlib.util
import os
import sys

del sys.modules[__name__]
try:
    from rebind import install_as_mxnet
except ModuleNotFoundError:
    here = os.path.dirname(os.path.abspath(__file__))
    # An environment without rebind: this folder must not hide the mxnet that it may have.
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
    importlib.invalidate_caches()
    if importlib.util.find_spec("mxnet") is None:
        raise
else:
    install_as_mxnet()
importlib.import_module("mxnet")
