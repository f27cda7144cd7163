"""Public names, and the modules that they live in."""

from .engines.stan.programs import include_path as include_path
from .engines.stan.programs import with_includes as with_includes
from .inference.stan_data import data as data
from .inference.stan_programs import sample as sample
