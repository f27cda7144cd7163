"""Public names, and the modules that they live in."""

from .evaluation.anonymity import anonymity as anonymity
from .evaluation.attribute_risk import attribute_risk as attribute_risk
from .evaluation.combining import combine as combine
from .evaluation.combining import combine_all as combine_all
from .evaluation.combining_nested import CombinedNested as CombinedNested
from .evaluation.combining_nested import combine_nested as combine_nested
from .evaluation.combining_results import Combined as Combined
from .evaluation.combining_results import CombinedVector as CombinedVector
from .evaluation.combining_tests import FTest as FTest
from .evaluation.combining_tests import likelihood_ratio_test as likelihood_ratio_test
from .evaluation.comparison_plot import plot_comparison as plot_comparison
from .evaluation.identification_risk import identification_risk as identification_risk
from .evaluation.interval_overlap import interval_overlap as interval_overlap
from .evaluation.planning.plan import plan as plan
from .evaluation.planning.result import Plan as Plan
from .evaluation.pseudo_posterior_plot import plot_pseudo_posterior as plot_pseudo_posterior
from .evaluation.risk_plot import plot_risk as plot_risk
from .evaluation.studies.cells import Simulated as Simulated
from .evaluation.studies.models import ModelAnalysis as ModelAnalysis
from .evaluation.studies.results import StudyResults as StudyResults
from .evaluation.studies.study import Study as Study
from .evaluation.utility import utility as utility
from .evaluation.utility_plot import plot_utility as plot_utility
from .inference.log_likelihood import log_likelihood as log_likelihood
from .report.explorer import write_explorer as write_explorer
from .report.html import write_report as write_report
