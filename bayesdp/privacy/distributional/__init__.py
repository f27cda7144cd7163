"""Distributional privacy: what a release reveals to an adversary who is uncertain of the data.

`guarantee` has the type of its promises, `worlds` the definitions over finite spaces and
`conversions` the theorems between them; beside them is one file a calculator. Everything public is
in `bdp.distributional`.
"""
