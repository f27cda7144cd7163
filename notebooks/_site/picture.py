"""Draw the README's picture, `python notebooks/_site/picture.py`: a survey's groups, both ways.

The survey is public today, so that its synthetic copies may be drawn with a seed.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import statsmodels.api as sm

import bayesdp as bdp

OUT = Path(__file__).parent / "survey.svg"


def main() -> None:
    survey = sm.datasets.fair.load_pandas().data
    answer = (survey["affairs"] > 0).rename("any affair")
    rating = survey["rate_marriage"].astype(int).rename("rating of the marriage")
    with bdp.reproducible(1):
        release = bdp.BetaBinomialSynthesizer(epsilon=2.0, copies=5).release(answer, by=rating)
    model, truth = bdp.BinomialModel(prior=(1, 1)), answer.groupby(rating).mean()
    figure, axis = plt.subplots(figsize=(7, 2.9), layout="constrained")
    for row, group in enumerate(release.groups):
        part = release[group]
        for shift, colour, marker, label, posterior in (
            (-0.16, "#0072B2", "o", "posterior given the mechanism", model.posterior(part)),
            (0.16, "#D55E00", "s", "copies taken for real", model.naive_posterior(part)),
        ):
            axis.plot(posterior.interval(0.95), [row + shift] * 2, color=colour, lw=2)
            axis.plot(posterior.mean(), row + shift, marker, color=colour, ms=4.5, label=label)
        axis.plot(truth[group], row, "k|", ms=16, mew=1.6, label="true proportion")
    axis.set(
        yticks=range(len(release.groups)),
        yticklabels=["very poor", "poor", "fair", "good", "very good"],
        xlabel="proportion of women who had any affair: mean and 95% interval",
        ylabel="rating of the marriage",
        xlim=(0, 1),
    )
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(handles[:3], labels[:3], frameon=False, loc="lower right")
    figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    plt.rcParams.update({"svg.hashsalt": "bayesdp", "font.size": 9})
    main()
