"""Public names: what one starts with, namespaces in one style, and old names that still work."""

import collections
import inspect
import json
import subprocess
import sys
import warnings
from types import ModuleType
from typing import Any

import pytest

import bayesdp as bdp
from bayesdp.mechanisms.registry import REGISTRY
from bayesdp.renamed import RENAMED

NAMESPACES = {
    "": bdp,
    **{
        f"{name}.": getattr(bdp, name)
        for name in bdp.__all__
        if isinstance(getattr(bdp, name), ModuleType)
    },
}
PUBLIC = {
    prefix + name: getattr(module, name)
    for prefix, module in NAMESPACES.items()
    for name in module.__all__
    if name != "__version__" and not isinstance(getattr(module, name), ModuleType)
}
OLD = [
    "Audit",
    "BayesDPError",
    "BetaBinomialMechanism",
    "BetaBinomialSynthesizer",
    "BetaMixture",
    "BetaModel",
    "BinomialModel",
    "BudgetExceeded",
    "CategoricalColumns",
    "CensoredBetaMechanism",
    "CensoredBetaSynthesizer",
    "Combined",
    "CombinedNested",
    "CombinedVector",
    "ConjugateRelease",
    "Count",
    "DPERGM",
    "DirichletMultinomialMechanism",
    "DirichletMultinomialSynthesizer",
    "DiscreteGaussianMechanism",
    "DiscreteLaplaceMechanism",
    "EdgeFlip",
    "EdgeFlipMechanism",
    "EngineFailed",
    "ErgmModel",
    "Evidence",
    "ExponentialMechanism",
    "FTest",
    "FamilySelection",
    "GaussianMechanism",
    "GaussianModel",
    "Guarantee",
    "HierarchicalBinomialModel",
    "HierarchicalGaussianModel",
    "HuComparators",
    "InvalidInput",
    "InvalidRelease",
    "LaplaceMechanism",
    "Ledger",
    "LedgerCorrupted",
    "LedgerUnavailable",
    "LinearRegression",
    "LogLinearModel",
    "LogLinearSynthesizer",
    "LogisticRegression",
    "MissingDependency",
    "ModelAnalysis",
    "Modips",
    "ModipsGrid",
    "ModipsSBS",
    "MultinomialModel",
    "Neighbours",
    "NestedModips",
    "NoisyDegrees",
    "NoisyDegreesMechanism",
    "NoisyMarginals",
    "NoisyMoments",
    "NoisyMomentsMechanism",
    "NoisyStatistics",
    "NoisyStatisticsMechanism",
    "NoisyTriangles",
    "NoisyTrianglesMechanism",
    "Normal",
    "NumericColumns",
    "PermuteAndFlip",
    "PerturbedCoefficients",
    "PerturbedCoefficientsMechanism",
    "PerturbedHistogram",
    "PerturbedHistogramSynthesizer",
    "Plan",
    "PoissonGammaMechanism",
    "PoissonGammaSynthesizer",
    "PoissonModel",
    "PosteriorSynthesizer",
    "PseudoPosterior",
    "PublicWeights",
    "RandomizedResponse",
    "RecordModel",
    "Release",
    "ReleaseExists",
    "SelectedModips",
    "SequentialModips",
    "SequentialModipsMechanism",
    "Simulated",
    "Strength",
    "Study",
    "StudyResults",
    "StudyStopped",
    "TruncatedStatistics",
    "TruncatedStatisticsMechanism",
    "__version__",
    "anonymity",
    "attribute_risk",
    "audit",
    "average_case_delta",
    "bootstrap_epsilon",
    "censor",
    "combine",
    "combine_all",
    "combine_nested",
    "compare",
    "compose",
    "distributional",
    "distributional_delta",
    "families",
    "identification_risk",
    "interval_overlap",
    "likelihood_ratio_test",
    "log_evidence",
    "networks",
    "noisy_mode",
    "observe",
    "plan",
    "plot_risk",
    "plot_utility",
    "posterior_predictive",
    "publish",
    "reproducible",
    "scan",
    "select_family",
    "subsampled",
    "utility",
    "write_explorer",
    "write_report",
]
"""All public names before there were namespaces."""
OLD_ELSEWHERE = {"networks.Normal", "distributional.ExactStatistic", "distributional.compose"}


def found(path: str) -> Any:
    """What is at a path from `bdp`."""
    thing: Any = bdp
    for name in path.split("."):
        thing = getattr(thing, name)
    return thing


def renamed(old: str) -> str | None:
    """How an old name is written now; None of one that stays."""
    namespace, _, name = old.rpartition(".")
    return RENAMED[f"bayesdp.{namespace}".rstrip(".")].get(name)


@pytest.mark.parametrize("old", [*OLD, *sorted(OLD_ELSEWHERE)])
def test_an_old_name_works_and_says_the_new_one(old: str):
    new = renamed(old)
    if new is None:
        assert old in bdp.__all__
        assert found(old) is not None
        return
    with pytest.warns(DeprecationWarning, match="is deprecated") as caught:
        thing = found(old)
    assert thing is PUBLIC[new]
    (warning,) = caught
    assert f"bdp.{old} is deprecated" in str(warning.message)
    assert str(warning.message).endswith(f"write bdp.{new}")
    assert warning.filename == __file__


def test_no_old_name_is_left_out_of_the_table():
    assert len(OLD) == 124
    table = {f"{module}.{name}"[8:] for module, names in RENAMED.items() for name in names}
    assert table <= {f".{name}"[1:] for name in OLD} | OLD_ELSEWHERE
    assert set(OLD) - table == {name for name in OLD if name in bdp.__all__}


def test_a_line_is_told_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        for _ in range(3):
            _ = bdp.EdgeFlip
        _ = bdp.EdgeFlip
    assert len(caught) == 2


def test_an_old_name_is_imported_with_a_warning():
    code = "from bayesdp import EdgeFlip; print(EdgeFlip.__module__)"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "bayesdp.synthesis.edge_flip"
    assert "write bdp.synthesizers.EdgeFlipSynthesizer" in done.stderr
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, check=False
    )
    assert done.returncode


@pytest.mark.parametrize(
    ("old", "name", "new"),
    [
        ("charest_study", "moments", "papers.charest.study"),
        ("charest_tables", "PRINTED_BIAS", "papers.charest.tables"),
        ("errata", "errata_table", "papers.errata"),
        ("errata", "evidence", "papers.errata"),
        ("errata", "find_errata", "papers.errata"),
        ("groce_tables", "top_coded_table", "papers.groce.tables"),
        ("reproduction", "COLOURS", "evaluation.colours"),
    ],
)
def test_what_tutorials_imported_of_the_papers_is_imported_with_a_warning(old, name, new):
    code = f"from bayesdp.evaluation.papers.{old} import {name} as old\n"
    code += f"from bayesdp.{new} import {name}\nassert old is {name}"
    with pytest.warns(DeprecationWarning, match=rf"import {name} from bayesdp\.{new}$") as caught:
        exec(compile(code, "a tutorial", "exec"), {})
    assert {warning.filename for warning in caught} == {"a tutorial"}


def test_what_a_tutorial_imported_of_a_mechanism_is_imported_with_a_warning():
    code = "from bayesdp.mechanisms.modips.grid_published import noise_scale as old\n"
    code += "from bayesdp.mechanisms.modips.grid import noise_scale\nassert old is noise_scale"
    with pytest.warns(DeprecationWarning, match=r"import noise_scale from .*grid$") as caught:
        exec(compile(code, "a tutorial", "exec"), {})
    assert {warning.filename for warning in caught} == {"a tutorial"}


def test_new_names_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(found(name) is thing for name, thing in PUBLIC.items())


@pytest.mark.parametrize("module", NAMESPACES.values(), ids=lambda m: m.__name__)
def test_a_module_shows_its_public_names_alone(module: ModuleType):
    if module not in (bdp.errors, bdp.families):  # which are modules as others
        assert dir(module) == sorted(module.__all__)
    assert not set(module.__all__) & set(RENAMED.get(module.__name__, ()))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


def test_the_front_door_is_small():
    names = [name for name in bdp.__all__ if not isinstance(getattr(bdp, name), ModuleType)]
    assert len(names) <= 33


def test_no_two_things_have_one_name():
    things = collections.defaultdict(set)
    for name, thing in PUBLIC.items():
        things[name.rpartition(".")[2]].add(id(thing))
    assert [name for name, ids in things.items() if len(ids) > 1] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_a_class_is_called_what_it_is(name: str):
    thing, last = PUBLIC[name], name.rpartition(".")[2]
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert thing.__name__ == last


def test_namespaces_hold_all_of_theirs_in_one_style():
    things = {name: thing for name, thing in PUBLIC.items() if not name.startswith("extending.")}
    mechanisms = {thing for name, thing in things.items() if name.endswith("Mechanism")}
    assert mechanisms == set(REGISTRY.values())
    assert mechanisms <= {getattr(bdp.mechanisms, name) for name in bdp.mechanisms.__all__}
    for namespace, ending, method in (
        (bdp.synthesizers, "Synthesizer", "release"),
        (bdp.models, "Model", "fit"),
    ):
        ours = {
            name
            for name, thing in things.items()
            if inspect.isclass(thing)
            and hasattr(thing, method)
            and thing not in mechanisms
            and not thing.__module__.startswith("bayesdp.networks")
        }
        names = {name.rpartition(".")[2] for name in ours}
        assert names <= set(namespace.__all__)
        assert names == {name for name in namespace.__all__ if name.endswith(ending)}


@pytest.mark.parametrize("name", PUBLIC)
def test_it_is_documented(name: str):
    thing = PUBLIC[name]
    if isinstance(thing, str | dict):
        return
    assert (thing.__doc__ or "").strip()
    for attribute, member in vars(thing).items() if isinstance(thing, type) else ():
        if callable(member) and not attribute.startswith("_"):
            assert (member.__doc__ or "").strip(), f"{name}.{attribute}"


def test_looking_around_loads_nothing_heavy():
    code = (
        "import sys, json, bayesdp as bdp; "
        "names = ('mechanisms', 'synthesizers', 'models', 'networks', 'evaluate', 'privacy'); "
        "[dir(getattr(bdp, name)) for name in (*names, 'distributional', 'errors')]; "
        "print(json.dumps([m for m in sys.modules if '.' not in m]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "pandas", "pyarrow", "pymc", "arviz", "pydantic", "numba"}
    assert not heavy & set(json.loads(out.stdout))
