"""The contracts that rooms share: what a mechanism offers, and what a model asks for."""
