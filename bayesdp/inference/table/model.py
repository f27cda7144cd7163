r"""The model of a whole table: latent records, given noisy counts of its marginals.

    class shares ~ Dirichlet(a, ..., a),
    a column's base ~ Dirichlet(1, ..., 1), over its L levels,
    its probabilities in each class ~ Dirichlet(b L base), b of the column,
    record i: its class, and given it each column by itself,
    released counts, and choices of marginals on confidential ones | all records ~ mechanism.

Only the noisy counts are seen. Any dependence between columns is a mixture of enough classes
(Dunson and Xing 2009), so that the model's cost follows records, columns and marginals and never
the table's cells. a and the b are uniform on a grid of 40 logarithms, from that of 0.001 to that of
20 or as `concentration` says, which lets columns and classes that are nearly constant be so. All
classes have a column's base in common, so that where little says how a class differs, its levels
are as common as everywhere, not equally so: a rare label isn't drawn up.
Records that a rule of the schema excludes have prior probability 0 (the prior is restricted to
tables without any), and where n is confidential it is uniform. All parameters are summed out and
the records drawn (`bayesdp.kernels.table.records`).

The prior has much to say where noise is wide: it shrinks associations, and with them regressions'
coefficients, towards none. So the latent tables that are kept are raked to the released counts
(`bayesdp.engines.raked_tables`), which leaves the model the dependence that no marginal has.

Where synthetic copies were released, drawn by noisy counts that weren't (`modips_sequential`),
these counts are latent too (`bayesdp.kernels.table.unseen`), and the tables that are kept are the
exact posterior under the prior. Numeric columns of such copies are left out. Copies that were drawn
by the table's own counts (`sequential_dirichlet_multinomial`) have a closed law given the records,
and nothing else is latent (`bayesdp.kernels.table.predictive`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayesdp.checks import check_at_least_one, check_flag
from bayesdp.core.drawn_table import DrawnTableView
from bayesdp.core.fields import declared
from bayesdp.core.shared_sums import contradiction
from bayesdp.core.views import MeasuredTableView, View
from bayesdp.engines.draws import Draws
from bayesdp.engines.latent_records import (
    CONCENTRATION,
    Problem,
    Tables,
    sample,
    watched,
)
from bayesdp.engines.latent_tables import cells_of, variables_of
from bayesdp.engines.raked_tables import beside_noise, firsts_of, unfinished
from bayesdp.inference.base import Model, Option, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.several import Releases
from bayesdp.inference.table.doubts import doubted, warn_of_left_out
from bayesdp.inference.table.estimates import cell_name
from bayesdp.inference.table.prior import check_concentration
from bayesdp.inference.table.reading import counted, left_out, problem_of, views_of
from bayesdp.inference.table.released import RELEASED, stored
from bayesdp.schema.files import text_of

if TYPE_CHECKING:
    from bayesdp.inference.table.posterior import TablePosterior

RECORDS = "records"
"""Name of the latent tables among an engine's draws."""
LEFT_OUT = "left_out"
"""Attribute of a fit that names columns of the release that it isn't of."""
_LEVELS_A_CHAIN, _THINNEST = 6e7, 20
"""Levels of records that a chain draws where `thin` isn't given, at .2 microseconds each or so."""
_CARRYING = 6
"""Levels of a record that take as long as its moves that carry unseen counts along."""
_CELLS_A_CHAIN, _FEWEST, _USUAL = 6e8, 25, 200
"""Cells of records in all tables that a chain rakes where `tables` isn't given, some 30 times.

The effective number of independent tables of four chains is estimated to be under 400 in 1% of
numbers where each has 150, and in 0.02% where each has 200.
"""
_BYTES, _FEWEST_OF_ALL = 2**31, 4
"""Memory of all tables that are kept where `tables` isn't given, and a chain's fewest even so."""
_NOISY = 6.0
"""Records in a record's cells beside the noise's standard deviation, below which slopes shrink."""
_FAR = 4.0  # standard deviations of the mean square of as many normals
_EFFECTIVE = 10.0  # tables of a chain, the fewest by their weights


@dataclass(frozen=True)
class TableModel(Model):
    """Inference about a whole table by a latent class model of its records.

    Parameters
    ----------
    classes : int, optional
        Number of latent classes. Default: four a column, from 12 to 60. More let stronger
        dependence in; a fit whose classes can't follow what was released says so.
    rake : bool
        Whether latent tables are raked to the released counts, so that the model's prior has next
        to no say in what was measured (the default); otherwise they are the exact posterior under
        the prior, which shrinks associations that noise blurs.
    n : int, optional
        Number of records, where the release doesn't say it. Needed where all that was released is
        synthetic copies.
    concentration : tuple of two floats
        The least and the largest value of the prior's concentrations, from 1e-6 to 1e6: of the
        class shares, and of each column's probabilities within a class. Equal ends fix them. Small
        ones expect few classes, and columns that are nearly constant within one; large ones expect
        no dependence, as all classes then have a column's base, the prior of which is uniform.

    Raises
    ------
    InvalidInput
        If `classes` or `n` isn't a whole number, at least 1, `rake` isn't True or False, or
        `concentration` isn't two numbers in its range, the smaller first.

    Notes
    -----
    The model reads one or several releases of `bdp.TableSynthesizer`, of
    `bdp.synthesizers.SequentialDirichletMultinomialSynthesizer` and of the categorical columns of
    `bdp.synthesizers.SequentialModipsSynthesizer`, of the same records, without groups. Copies of
    the latter were drawn by noisy counts that weren't released, which are drawn with the latent
    tables; given copies, these aren't raked, as there are no counts to rake to. Numeric columns of
    the copies, which no label depends on, are left out, with a warning.
    `fit` returns a `TablePosterior`: an InferenceData that has, in the group "tables", the
    latent tables that were kept, raked, from which all else is computed, and by whose measured
    counts the verdict is reached; in its posterior each column's shares in these tables ("share",
    with the dimension "level"), and the number of their records where that is confidential ("n");
    and in sample_stats, of every draw and before raking, counts of up to 500 measured cells
    ("count") and the a and b above ("concentration"). It has doubts too where much of the spread of
    a column of numbers is in cells that noise drowns, or within wide cells; where chains differ in
    what no marginal has, estimates warn. `fit` has two options: `thin`, the number of sweeps over
    all records for each draw, by default as many as take a chain ten seconds or so, from 1 to 20;
    and `tables`, the number of whole tables that each chain keeps, by default from 25 for many
    records and marginals to 200, but fewer where all chains' would take more than 2 GiB.

    Raking is for intervals that cover; the tables' mean is nearer to the sample without it. On the
    8 columns of statsmodels' survey fair its mean total variation distance in all pairs, over five
    releases, is .069, and .062 with ``rake=False``, at epsilon .3; .031 and .026 at epsilon 1; and
    .013 and .012 at epsilon 3. AIM (McKenna et al. 2022), which chooses marginals, has .065, .044
    and .021, and no intervals. At epsilon .3 it helps to choose some here too: .065 and .057 with
    ``TableSynthesizer(..., chosen=6)``.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np, pandas as pd
    >>> schema = bdp.Schema(
    ...     {"smokes": {"type": "boolean"}, "sex": {"type": "category", "labels": ["f", "m"]}}
    ... )
    >>> rng = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"smokes": rng.random(300) < 0.3, "sex": rng.choice(["f", "m"], 300)})
    >>> release = bdp.TableSynthesizer(schema, epsilon=1.0).release(frame)
    >>> posterior = bdp.TableModel().fit(release, draws=200, seed=1)
    >>> list(posterior.table(["smokes", "sex"]).interval(0.95).columns)
    ['mean', 'sd', 'lower', 'upper', 'naive_lower', 'naive_upper']
    """

    classes: int | None = declared(check_at_least_one, optional=True, default=None)
    rake: bool = declared(check_flag, default=True)
    n: int | None = declared(check_at_least_one, optional=True, default=None)
    concentration: tuple[float, float] = declared(check_concentration, default=CONCENTRATION)

    family: ClassVar[str] = "table"
    views: ClassVar[tuple[type[View], ...]] = (MeasuredTableView, DrawnTableView)
    engines: ClassVar[tuple[str, ...]] = ("gibbs",)
    takes_groups: ClassVar[bool] = False
    reason: ClassVar[str] = "records are latent, and every parameter of theirs is summed out"
    usual: ClassVar[tuple[int, int]] = (1000, 500)
    options: ClassVar[Mapping[str, Option]] = {
        "thin": (None, check_at_least_one),
        "tables": (None, check_at_least_one),
    }
    apart: ClassVar[frozenset[str]] = frozenset({RECORDS})
    told: ClassVar[tuple[str, ...]] = ()
    remedy: ClassVar[str] = "Keep more latent tables (tables, draws), or sweep more (thin, warmup)"

    def read(self, release: Releases) -> Problem:
        """Read noisy counts, or copies drawn by them, and what the schema says of their columns.

        Raises
        ------
        InvalidInput
            If a release has groups or isn't of a table, several are of different schemas, or
            nothing says how many records there are.
        """
        return problem_of(
            release, self.classes, self.n, rake=self.rake, concentration=self.concentration
        )

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compare the sums of noisy counts over the columns that they share."""
        problem: Problem = self.read(release) if read is None else read
        names = list(self.schema_of(release).columns)
        return [Noise(0.0, 0, contradiction(counted(problem, names)))]

    def sample(self, run: Run) -> Draws:
        """Run chains over latent records."""
        import numba

        problem: Problem = run.read
        columns = len(problem.levels) + 2 * len(problem.pool)  # whose levels are many
        if problem.copied:
            columns += _CARRYING
        work = problem.size() * columns * run.draws
        thin = run.options["thin"] or int(np.clip(_LEVELS_A_CHAIN / work, 1, _THINNEST))
        marginals = len(problem.marginals)
        tables = run.options["tables"] or tables_kept(
            round(problem.size()), len(problem.levels), marginals, run.chained["chains"]
        )
        drawn = sample(problem, **run.chained, thin=thin, tables=tables, progress=run.progress)
        posterior = variables_of(drawn.records, problem.levels, sized=problem.n is None)
        posterior[RECORDS] = drawn.records
        stats = {
            "lp": drawn.log_law,
            "acceptance_rate": drawn.acceptance,
            "count": drawn.cells,
            "concentration": drawn.spread,
        }
        if problem.noisy:
            stats["misfit"] = drawn.misfit
        versions = {"numba": numba.__version__}
        return Draws(posterior, stats, run.engine, versions, tuple(_doubts(problem, drawn)))

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimensions: shares by level, counts by cell, and concentrations by column."""
        columns = self.schema_of(run.release).columns
        labels = [
            [cell_name(name, label) for label in each.names] for name, each in columns.items()
        ]
        pooled = [
            [each[c] for c in firsts_of(run.read.pools_of(k))] for k, each in enumerate(labels)
        ]
        marginals = run.read.marginals
        ends = np.cumsum([math.prod(shape) for _, shape in marginals])
        cells: list[str] = []
        for place in watched(run.read):
            own, shape = marginals[m := int(np.searchsorted(ends, place, side="right"))]
            cell = np.unravel_index(place - ends[m] + math.prod(shape), shape)
            named = labels if len(own) == 1 else pooled
            cells.append(":".join(named[k][c] for k, c in zip(own, cell, strict=True)))
        return {
            "coords": {
                "level": [label for each in labels for label in each],
                "cell": cells,
                "concentrated": [*columns, "classes"],
            },
            "dims": {
                "share": ["level"],
                "count": ["cell"],
                "concentration": ["concentrated"],
                "n": [],
            },
        }

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The number of classes, the schema and the measured marginals."""
        schema = self.schema_of(run.release)
        names = list(schema.columns)
        pool = {names[k]: firsts_of(each).tolist() for k, each in run.read.pool.items()}
        measured = dict.fromkeys(tuple(names[k] for k in own) for own, _ in run.read.marginals)
        return {
            "classes": json.dumps(run.read.classes),
            "concentration": json.dumps(self.concentration),
            "schema": text_of(schema.unit, schema.columns, schema.zeros),
            "measured": json.dumps(list(measured)),
            "pools": json.dumps(pool),
            **({LEFT_OUT: ", ".join(left)} if (left := left_out(run.release)) else {}),
        }

    def judged(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Measured counts in the latent tables, but those of cells that are as large in all."""
        problem, records = run.read, drawn.posterior[RECORDS]
        measured = dict.fromkeys(own for own, _ in problem.marginals)
        pooled = problem.pooled(records)
        counts = np.concatenate([cells_of(pooled, problem.pools, e) for e in measured], axis=-1)
        return {"count": counts[..., np.ptp(counts, axis=(0, 1)) > 0]}

    def result(self, run: Run, drawn: Draws, noises: Any = ()) -> TablePosterior:
        """Make a TablePosterior of the draws, with a verdict on them."""
        from bayesdp.inference.table.posterior import TablePosterior

        idata = super().result(run, drawn, noises)
        names = list(self.schema_of(run.release).columns)
        if not run.read.copied:
            idata.add_groups({RELEASED: stored(run.read.noisy, run.read.n, names)})
        warn_of_left_out(idata.attrs.get(LEFT_OUT, ""))
        made: TablePosterior = doubted(TablePosterior.of(idata, drawn.posterior[RECORDS]))
        return made

    def schema_of(self, release: Releases) -> Any:
        """The schema of a release."""
        return views_of(release)[0].schema


def tables_kept(size: int, columns: int, marginals: int, chains: int) -> int:
    """Number of latent tables that each chain keeps if the user doesn't say.

    Parameters
    ----------
    size, columns, marginals : int
        Records of a table, its columns, and the marginals that it is raked to.
    chains : int
    """
    kept = int(np.clip(_CELLS_A_CHAIN / (size * marginals), _FEWEST, _USUAL))
    room = _BYTES // (chains * size * columns * np.dtype(np.uint16).itemsize)
    return min(kept, max(room, _FEWEST_OF_ALL))


def _doubts(problem: Problem, drawn: Tables) -> Iterator[str]:
    """Doubt the model where its records leave more noise than the mechanism's law has.

    The mean square of N standardised noises has mean 1 and variance 2 / N, for normal noise, and
    5 / N for Laplace noise; given the latent table it is a little less, as that follows the noise.
    """
    cells = max(1, sum(one.counts.size for one in problem.noisy))
    power = 2.0 if all(one.gaussian for one in problem.noisy) else 5.0
    misfit = float(drawn.misfit.mean())
    if misfit > 1 + _FAR * math.sqrt(power / cells):
        yield (
            f"{problem.classes} classes don't follow what was released: they leave noise whose "
            f"mean square is {misfit:.2f} times what the mechanism adds; take more (classes)"
        )
    beside = math.inf
    if problem.rake:
        beside = beside_noise(problem.levels, problem.noisy, problem.pool)
    if beside < _NOISY:
        yield (
            f"a record's cells have {beside:.1f} times as many records as the noise's standard "
            f"deviation, and below {_NOISY:g} slopes by latent tables are drawn to 0 and cover too "
            "seldom (those of regressions by moments don't): measure fewer marginals "
            "(workload), give columns fewer bins, or spend more"
        )
    if problem.rake and problem.chosen and drawn.effective.min() < _EFFECTIVE:
        yield (
            f"raked tables, weighed by the law of the choice of marginals, are worth "
            f"{drawn.effective.min():.0f} in a chain, too few to tell of: keep more (tables), or "
            "take TableModel(rake=False)"
        )
    if unfinished(drawn.off):
        yield (
            "no weights of a latent table's records follow what was released: what is measured "
            "is nearer to the model's prior there than raking leaves it"
        )
