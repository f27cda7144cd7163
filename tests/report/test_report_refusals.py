"""What the report refuses to summarise, and why."""

import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.report.summary import summarize
from tests.report.conftest import fit


class TestRefusals:
    def test_another_release(self, release, idata, grouped_release):
        with pytest.raises(bdp.errors.InvalidInput, match="another release"):
            summarize(idata, grouped_release)

    def test_another_family(self, release, idata):
        other = idata.copy()
        other.attrs = {**idata.attrs, "family": "poisson"}
        with pytest.raises(bdp.errors.InvalidInput, match=r"'poisson'; these are"):
            summarize(other, release)

    def test_no_attributes(self, release, idata):
        other = idata.copy()
        other.attrs = {}
        other.posterior.attrs = {}
        with pytest.raises(bdp.errors.InvalidInput, match="no attribute 'family'"):
            summarize(other, release)

    def test_naive_draws(self, release):
        naive = bdp.BinomialModel().fit_naive(release, seed=1)
        with pytest.raises(bdp.errors.InvalidInput, match="not of fit_naive"):
            summarize(naive, release)

    def test_no_posterior(self, release):
        with pytest.raises(bdp.errors.InvalidInput, match="without a posterior"):
            summarize({"p": [0.5]}, release)

    @pytest.mark.parametrize("other", [None, "release", 3])
    def test_no_release(self, idata, other, tmp_path):
        with pytest.raises(
            bdp.errors.InvalidInput, match=r"release is .*; it must be the bdp\.Rel"
        ):
            bdp.evaluate.write_report(idata, other, tmp_path / "report")

    def test_no_path(self, release, idata):
        with pytest.raises(bdp.errors.InvalidInput, match="folder is None; it must be a path"):
            bdp.evaluate.write_report(idata, release, None)

    def test_no_p(self, release, idata):
        other = idata.copy()
        other.posterior = other.posterior.rename({"p": "theta"})
        with pytest.raises(bdp.errors.InvalidInput, match="needs 'p'"):
            summarize(other, release)

    def test_some_groups(self, release, idata):
        with pytest.raises(bdp.errors.InvalidInput, match="all of them"):
            summarize(idata.sel(group=["a", "b"]), release)

    def test_other_dimensions(self, release, idata):
        with pytest.raises(bdp.errors.InvalidInput, match="dimensions"):
            summarize(idata.sel(group="a"), release)

    def test_impossible_draws(self, release, idata):
        other = idata.copy()
        other.posterior["p"][0, 0, 0] = np.nan
        with pytest.raises(bdp.errors.InvalidInput, match="outside"):
            summarize(other, release)

    @pytest.mark.parametrize("level", [0, 1, 95, math.nan])
    def test_level(self, release, idata, level):
        with pytest.raises(bdp.errors.InvalidInput, match="level is"):
            summarize(idata, release, level=level)

    @pytest.mark.parametrize(
        ("reference", "message"),
        [
            ({"z": 0.5}, "group 'z'"),
            ({"a": 40}, "reference is 40"),
            ({"a": "0.4"}, "reference is '0.4'"),
            ({"a": None}, "reference is None"),
            (0.4, "map their labels"),
        ],
    )
    def test_reference(self, release, idata, reference, message):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            summarize(idata, release, reference=reference)

    def test_reference_may_be_a_series(self, release, idata):
        summary = summarize(idata, release, reference=pd.Series({"b": 0.875, "c": 0.1}))
        assert [group.reference for group in summary.groups] == [None, 0.875, 0.1]

    def test_reference_of_a_release_without_groups(self, charest_release):
        idata = fit(charest_release)
        assert summarize(idata, charest_release, reference=0.4).groups[0].reference == 0.4
        with pytest.raises(bdp.errors.InvalidInput, match="must be a proportion"):
            summarize(idata, charest_release, reference={"a": 0.4})
