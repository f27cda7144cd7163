"""No file but a mechanism's own, and the synthesizer's that makes it, asks which mechanism it is.

What a mechanism's outputs tell is said by its views (`bayesdp.core.views`), so that a new one is
read by whatever reads its views. Ladders of `isinstance`, `singledispatch` on a mechanism's class
and tables of mechanisms would have to be entered by hand.
"""

import ast
from pathlib import Path

import pytest

import bayesdp
from bayesdp.mechanisms.families import FAMILIES
from bayesdp.mechanisms.registry import REGISTRY

PACKAGE = Path(bayesdp.__file__).parent
CLASSES = {cls.__name__ for cls in REGISTRY.values()}
BASES = {
    base.__name__
    for cls in REGISTRY.values()
    for base in cls.__mro__[1:]
    if base.__module__.startswith("bayesdp.mechanisms")
}
# Words of families and of noise too: as texts they aren't the names of mechanisms alone.
NAMES = set(REGISTRY) - set(FAMILIES) - {"laplace", "gaussian", "exponential", "conjugate"}


def named(node):
    """Names of mechanisms' classes, or of bases they share, in an expression."""
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    found |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    return found & (CLASSES | BASES)


def is_told(node):
    """Whether a literal's entry is a mechanism's class, or the name of one."""
    if isinstance(node, ast.Constant):
        return node.value in NAMES
    return isinstance(node, ast.Name | ast.Attribute) and bool(named(node))


def made_in(tree):
    """Classes that a module itself constructs or calibrates."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            made = node.func
            if isinstance(made, ast.Attribute) and made.attr in ("calibrate", "of"):
                made = made.value
            if isinstance(made, ast.Name | ast.Attribute):
                found |= {getattr(made, "id", getattr(made, "attr", ""))} & CLASSES
    return found


def faults(text):
    """Lines on which a module's text asks which mechanism it is, and what for."""
    tree = ast.parse(text)
    own = made_in(tree)
    registries = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Registry", "Lazy")
        for argument in node.args
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "isinstance",
            "issubclass",
        ):
            asked = named(node.args[1])
        elif isinstance(node, ast.FunctionDef) and any("register" in ast.dump(d) or
            "singledispatch" in ast.dump(d) for d in node.decorator_list):  # fmt: skip
            parts = [*node.decorator_list, *(a.annotation for a in node.args.args if a.annotation)]
            asked = set().union(*map(named, parts))
        elif isinstance(node, ast.Compare):  # type(made) is Kind, made.name == "kind"
            sides = [node.left, *node.comparators]
            typed = any(
                isinstance(s, ast.Call) and getattr(s.func, "id", "") == "type" for s in sides
            )
            by_name = any(isinstance(s, ast.Attribute) and s.attr == "name" for s in sides)
            asked = set().union(*map(named, sides)) if typed else set()
            if by_name and any(is_told(s) for s in sides):
                asked = asked | {"name"}
        elif isinstance(node, ast.Match):
            asked = set().union(*(named(case.pattern) for case in node.cases))
        else:
            asked = set()
        if asked - own:
            found.append((node.lineno, ", ".join(sorted(asked - own))))
        if isinstance(node, ast.Dict):
            entries = [entry for entry in (*node.keys, *node.values) if entry is not None]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            entries = node.elts
        else:
            entries = []
        several = sum(map(is_told, entries)) > 1
        if several and id(node) not in registries:
            found.append((node.lineno, "a table"))
    return found


def outside():
    """Texts of all modules that mechanisms aren't in."""
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        if inside.parts[0] != "mechanisms":
            yield inside.as_posix(), path.read_text()


def test_mechanisms_are_read_by_their_views():
    found = {name: each for name, text in outside() if (each := faults(text))}
    assert found == {}


PLANTED = {
    "a ladder": "def f(m):\n    return isinstance(m, AdditiveNoise)",
    "one of several": "isinstance(m, (int, bdp.mechanisms.EdgeFlipMechanism))",
    "a union": "def f(m):\n    return isinstance(m, int | ConjugateMechanism)",
    "a type": "def f(m):\n    return type(m) is BetaBinomialMechanism",
    "a name": "def f(m):\n    return m.name == 'beta_binomial'",
    "dispatch": "@law_of.register\ndef _(m: ExponentialMechanism):\n    return m",
    "dispatch by argument": "@law_of.register(ExponentialMechanism)\ndef _(m):\n    return m",
    "a match": "match m:\n    case BetaBinomialMechanism():\n        pass",
    "classes": "READERS = {BetaBinomialMechanism: 1, RandomizedResponseMechanism: 2}",
    "names": "COUNTS = ('beta_binomial', 'discrete_laplace')",
    "names to functions": "WAYS = {'beta_binomial': f, 'modips_sbs': g}",
}


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED)
def test_a_planted_fault_is_found(text):
    assert faults(text)


def test_what_is_allowed_is():
    own = "made = EdgeFlipMechanism.calibrate(epsilon=1)\nok = isinstance(m, EdgeFlipMechanism)"
    assert not faults(own)
    assert not faults("R = Registry('a', 'b', {'beta_binomial': 'x:Y', 'edge_flip': 'x:Z'})")
    assert not faults("noise = ('laplace', 'gaussian')\nok = isinstance(m, NoiseView)")


def test_models_engines_and_reports_import_no_mechanism():
    """Nor can they ask by another name for it: they know views alone."""
    found = {}
    for name, text in outside():
        if name.split("/")[0] in ("inference", "engines", "report"):
            names = {
                alias.name
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            }
            if wrong := names & (CLASSES | BASES):
                found[name] = wrong
    assert found == {}
