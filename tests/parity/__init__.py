"""Comparisons with the real MXNet: what it computes and writes, recorded."""
