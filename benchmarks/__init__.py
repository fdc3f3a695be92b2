"""Timing of rebind beside PyTorch and MXNet 1.9.1, on the same networks in the same run.

``python -m benchmarks`` prints the table; `benchmarks/README.md` says how to read it.
"""
