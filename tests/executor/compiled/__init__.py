"""Compiled executors: the same as in the default mode."""
