"""Compiled code: numba kernels, their compilation, and their cached machine code."""
