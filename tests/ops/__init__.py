"""Operators as functions on tensors."""
