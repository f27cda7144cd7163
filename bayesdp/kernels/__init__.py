"""Compiled code: numba kernels, their compilation, and the machine code kept of them."""
