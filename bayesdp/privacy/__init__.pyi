"""Public names, and the modules that they live in."""

from .audit import Audit as Audit
from .bootstrap import bootstrap_epsilon as bootstrap_epsilon
from .guarantee import Guarantee as Guarantee
from .guarantee import Strength as Strength
from .ledger import Ledger as Ledger
from .neighbours import Neighbours as Neighbours
from .subsampling import subsampled as subsampled
