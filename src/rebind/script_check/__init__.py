r"""What a program uses that rebind lacks or treats otherwise, by file and line: what ``rebind check`` prints.

Programs are read with `ast`; they are never imported or run. Names are followed through imports and plain assignments
to what they stand for in this very package, in the installed NumPy and in this Python; what cannot be followed is not
guessed.

>>> for finding in check_source("import mxnet as mx\nmx.nd.ons((2, 3))\n", "train.py"):
...     print(finding.line, finding.kind, finding.message)
2 mistake mxnet.nd has no 'ons', neither here nor in MXNet 1.9.1; did you mean 'ones' ...
"""

from .findings import Finding
from .programs import check_file, check_source, files_of

__all__ = ["Finding", "check_file", "check_source", "files_of"]
