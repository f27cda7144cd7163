"""How a release is randomised: one file per mechanism, with its guarantee, sampler and law."""
