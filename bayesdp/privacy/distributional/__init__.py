"""Distributional privacy: what a release reveals to an adversary who is uncertain of the data.

`guarantee` has the type of its promises, `worlds` the definitions over finite spaces and
`conversions` the theorems between them; each calculator has a file of its own. Everything public
is in `bdp.distributional`.
"""
