"""Promises to charge a ledger with."""

import bayesdp as bdp


def promise(epsilon, delta=0.0, neighbours="replace_one", strength="proved"):
    return bdp.Guarantee(
        epsilon, delta, bdp.Neighbours(neighbours), bdp.Strength(strength), ("Holds.",), "a test"
    )
