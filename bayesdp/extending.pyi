"""What is public, and where it lives."""

from .checks import check_at_least_one as check_at_least_one
from .core.fields import declared as declared
from .core.outputs import NamedNumbers as NamedNumbers
from .core.outputs import OutputSpace as OutputSpace
from .core.outputs import WholeNumbers as WholeNumbers
from .core.views import AnswersView as AnswersView
from .core.views import CountView as CountView
from .core.views import DyadsView as DyadsView
from .core.views import GraphView as GraphView
from .core.views import IntegersView as IntegersView
from .core.views import IntractableView as IntractableView
from .core.views import NoiseView as NoiseView
from .core.views import NormalView as NormalView
from .core.views import TableView as TableView
from .core.views import View as View
from .core.views import view_of as view_of
from .engines.draws import Draws as Draws
from .engines.enumeration import log_law_of_counts as log_law_of_counts
from .inference.base import Model as Model
from .inference.base import Run as Run
from .inference.several import parts_of as parts_of
from .mechanisms.base import Mechanism as Mechanism
from .mechanisms.counts.count import count_view as count_view
from .mechanisms.randomness import uniform_below as uniform_below
from .synthesis.base import Synthesizer as Synthesizer
