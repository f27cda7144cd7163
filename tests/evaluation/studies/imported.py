"""What a study needs, imported and not run: for processes that are forked when it is there."""

import pandas  # noqa: F401
import pyarrow.parquet  # noqa: F401
import scipy.stats  # noqa: F401

import bayesdp.synthesis.beta_binomial  # noqa: F401
from tests.evaluation.studies import parts

parts.short()
