"""The parts of PyTorch that it does not document, by topic: all that rebind uses of them is here, and nowhere else.

A release of PyTorch may change or drop any of them. Each is looked up and tried once, when its module is imported
(`private`); where it is missing or does something else, a public form takes its place that gives the same numbers
and is slower, or what is built on it is switched off. ``REBIND_PRIVATE_TORCH=0`` does as if none was there.
"""
