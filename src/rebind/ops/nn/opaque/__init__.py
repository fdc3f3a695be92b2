"""Calls that a compiler on the CPU takes as they are, for its own code would be slower, or does not run.

PyTorch's compiler writes code of its own for what operators do in PyTorch. What is here it calls without looking into
it. Each module is imported where something is first compiled: to declare an operator takes 2 ms.
"""

__all__: list[str] = []
