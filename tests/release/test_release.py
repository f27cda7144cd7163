"""Releases: what they hold, promise and refuse, on disk and off."""

import dataclasses
import json
import math
import multiprocessing
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.release import MANIFEST, OUTPUTS
from bayesdp.release.manifest_text import sealed
from bayesdp.storage import check_file, check_target, whole_file, whole_folder


@pytest.fixture
def folder(tmp_path: Path, grouped_release: bdp.Release) -> Path:
    return grouped_release.save(tmp_path / "release")


def edit(folder: Path, **changes) -> None:
    """Change a manifest's entries and its hash to match; a value of ... removes one."""
    manifest = json.loads((folder / MANIFEST).read_text())
    for name, value in changes.items():
        if value is ...:
            del manifest[name]
        else:
            manifest[name] = value
    (folder / MANIFEST).write_text(json.dumps(sealed(manifest)))


def test_saved_and_loaded_is_the_same(folder: Path, grouped_release: bdp.Release):
    loaded = bdp.Release.load(folder)
    assert loaded == grouped_release
    assert loaded.fingerprint == grouped_release.fingerprint
    assert loaded.guarantee == grouped_release.guarantee


@pytest.mark.parametrize("public_n", [True, False])
def test_a_drawn_release_survives_the_round_trip(tmp_path: Path, public_n: bool):
    synthesizer = bdp.BetaBinomialSynthesizer(2.0, copies=3, size=50, public_n=public_n)
    release = synthesizer.release(np.arange(90) % 3 == 0)
    release.save(tmp_path / "r")
    assert bdp.Release.load(tmp_path / "r") == release


def test_the_manifest_holds_nothing_confidential(tmp_path: Path):
    """Neither the count, nor n where it is confidential, nor a seed."""
    data = np.repeat([1, 0], [7919, 2081])
    release = bdp.BetaBinomialSynthesizer(1.0, size=30, public_n=False).release(data)
    text = (release.save(tmp_path / "r") / MANIFEST).read_text()
    text = text.replace(json.loads(text)["outputs"]["sha256"], "")  # any digits may be in a hash
    for secret in ("7919", "2081", "10000", "seed"):
        assert secret not in text
    assert json.loads(text)["parts"][0]["mechanism"]["parameters"]["n"] is None


def test_a_seeded_release_says_so_and_promises_nothing(folder: Path, grouped_release: bdp.Release):
    assert grouped_release.reproducible
    assert math.isinf(grouped_release.guarantee.epsilon)
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["reproducible"] is True
    assert manifest["guarantee"] is None


def test_a_claim_that_is_only_published_gets_no_surer_elsewhere(tmp_path):
    grid = {"grid": (0.1, 0.9), "n": 5, "size": 5}
    made = bdp.mechanisms.ModipsGridMechanism(
        bdp.families.Bernoulli(), epsilon=1.0, method="sphc", calibration="published", **grid
    )
    release = bdp.Release.of(made, [3])
    assert release.guarantee.strength is bdp.Strength.AS_PUBLISHED
    assert bdp.Release.load(release.save(tmp_path / "r")).guarantee == release.guarantee
    url = f"sqlite:///{tmp_path}/ledger.db"
    ledger = bdp.Ledger.open(url).create("d", epsilon=2.0, neighbours="replace_one")
    with pytest.raises(bdp.errors.InvalidInput, match="only as published"):
        ledger.spend(release.guarantee)


def test_a_release_made_elsewhere_is_conditional(charest_release: bdp.Release):
    guarantee = charest_release.guarantee
    assert guarantee.strength is bdp.Strength.CONDITIONAL
    assert "elsewhere" in guarantee.assumptions[-1]
    assert guarantee.epsilon == pytest.approx(math.log1p(100 / 15.65))


def test_frames_are_the_records_the_counts_stand_for(grouped_release: bdp.Release):
    frames = grouped_release.to_frames()
    assert len(frames) == grouped_release.copies
    for k, frame in enumerate(frames):
        assert list(frame.columns) == ["group", "value"]
        ones = frame.groupby("group")["value"].agg(["sum", "size"])
        for part in grouped_release.parts:
            assert ones.loc[part.group].tolist() == [part.outputs[k], part.mechanism.size]


def test_groups_named_as_what_was_released_are_no_column_of_it():
    made = bdp.mechanisms.DiscreteLaplaceMechanism(1.0)
    release = bdp.Release.of_groups({1: (made, [3]), 2: (made, [5])}, by="value")
    with pytest.raises(bdp.errors.InvalidInput, match="by is 'value', which is a column"):
        release.to_frames()
    (frame,) = dataclasses.replace(release, by="group").to_frames()
    assert frame.to_dict("list") == {"group": [1, 2], "value": [3, 5]}


def test_labels_of_several_types_stay_what_they_are():
    made = bdp.mechanisms.DiscreteLaplaceMechanism(1.0)
    release = bdp.Release.of_groups({1: (made, [3]), "2": (made, [5])})
    assert release.to_frames()[0]["group"].tolist() == [1, "2"]
    with pytest.raises(bdp.errors.InvalidInput, match="two groups have labels that are one text"):
        bdp.Release.of_groups({1: (made, [3]), "1": (made, [5])})


def test_one_group_of_many(grouped_release: bdp.Release):
    alone = grouped_release["b"]
    assert alone.outputs == grouped_release.parts[1].outputs
    assert alone.mechanism.n == 80
    with pytest.raises(bdp.errors.InvalidInput, match="has 3 groups"):
        _ = grouped_release.outputs
    with pytest.raises(bdp.errors.InvalidInput, match="group is 'd'"):
        _ = grouped_release["d"]


@pytest.mark.parametrize("outputs", [[], [101], [-1], [38.0], ["38"], [[38]], [True]])
def test_outputs_that_cannot_be_are_refused(outputs: list):
    mechanism = bdp.mechanisms.BetaBinomialMechanism(n=100, size=100, prior=(15.65, 15.65))
    with pytest.raises(bdp.errors.InvalidInput, match="output"):
        bdp.Release.of(mechanism, outputs)


MADE = bdp.mechanisms.DiscreteLaplaceMechanism(1.0)


@pytest.mark.parametrize("outputs", [38, None, 3.5, {38, 39}, {38: 1}])
def test_outputs_that_are_no_list_are_refused(outputs):
    with pytest.raises(bdp.errors.InvalidInput, match=r"outputs is .* give a list"):
        bdp.Release.of(MADE, outputs)


@pytest.mark.parametrize("mechanism", [None, "laplace", type(MADE)])
def test_what_is_no_mechanism_is_refused(mechanism):
    for use in (
        lambda: bdp.Release.of(mechanism, [38]),
        lambda: bdp.Release.of_groups({"a": (mechanism, [38])}),
        lambda: bdp.publish(mechanism, 38),
    ):
        with pytest.raises(
            bdp.errors.InvalidInput, match=r"mechanism is .* one of bdp\.mechanisms"
        ):
            use()


@pytest.mark.parametrize("parts", [[(MADE, [38])], {"a": MADE}, {"a": (MADE,)}, None])
def test_groups_are_a_mapping_of_mechanisms_and_outputs(parts):
    with pytest.raises(bdp.errors.InvalidInput, match=r"parts is .* must map each group's label"):
        bdp.Release.of_groups(parts)


def test_groups_must_fit_together():
    public = bdp.mechanisms.BetaBinomialMechanism(10, 10, (1.0, 1.0))
    hidden = bdp.mechanisms.BetaBinomialMechanism(None, 10, (1.0, 1.0))
    with pytest.raises(bdp.errors.InvalidInput, match="public in some"):
        bdp.Release.of_groups({"a": (public, [1]), "b": (hidden, [1])})
    with pytest.raises(bdp.errors.InvalidInput, match="differ in number"):
        bdp.Release.of_groups({"a": (public, [1]), "b": (public, [1, 2])})


def test_where_outputs_are_from_is_one_of_two():
    """Of any other place, the promise would be that of a draw of ours."""
    with pytest.raises(bdp.errors.InvalidInput, match="origin is 'census'"):
        bdp.Release.of_groups({"a": (MADE, [38])}, origin="census")  # type: ignore[arg-type]
    made = bdp.Release.of(MADE, [38])
    with pytest.raises(bdp.errors.InvalidInput, match="reproducible is 'no'"):
        dataclasses.replace(made, reproducible="no")


# What a damaged, foreign or newer folder says.


def test_truncated_manifest(folder: Path):
    text = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(text[: len(text) // 2])
    with pytest.raises(bdp.errors.InvalidRelease, match="truncated"):
        bdp.Release.load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 3}, "newer bayesdp"),
        ({"version": "1"}, "version"),
        ({"format": "another"}, "not a bayesdp release"),
        ({"copies": ...}, "copies: Field required"),
        ({"copies": 3}, "copies is 3"),
        ({"copies": True}, "copies"),
        ({"secret": 1}, "secret: Extra inputs"),
        ({"parts": []}, "parts"),
        ({"by": None}, "by names the groups"),
        ({"origin": "moon"}, "origin"),
        ({"reproducible": False}, "promises nothing"),
        ({"outputs": {"file": "../x", "sha256": "0" * 64}}, "outputs.file"),
    ],
)
def test_manifests_that_are_refused(folder: Path, changes: dict, message: str):
    edit(folder, **changes)
    with pytest.raises(bdp.errors.InvalidRelease, match=message):
        bdp.Release.load(folder)


def mechanism_entry(folder: Path, **changes) -> list:
    parts = json.loads((folder / MANIFEST).read_text())["parts"]
    parts[0]["mechanism"].update(changes)
    return parts


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "cauchy"}, "mechanism is 'cauchy'.*it knows beta_binomial"),
        ({"parameters": {"n": 50, "size": 50}}, "they must be"),
        ({"parameters": {"n": 50, "size": 0, "prior": [1, 1]}}, "size is 0"),
        ({"parameters": {"n": 50, "size": 50, "prior": [1, -1]}}, "prior is"),
        ({"parameters": {"n": 50, "size": 3, "prior": [1, 1]}}, "from 0 to size = 3"),
    ],
)
def test_mechanisms_that_are_refused(folder: Path, changes: dict, message: str):
    edit(folder, parts=mechanism_entry(folder, **changes))
    with pytest.raises(bdp.errors.InvalidRelease, match=message) as raised:
        bdp.Release.load(folder)
    assert str(folder) in str(raised.value)  # of many, say, in a loop


@pytest.mark.parametrize(
    "family",
    [{"kind": "bernoulli"}, {"kind": "bernoulli", "prior": {"1.0": 1, "2.0": 2}}],
    ids=["left out", "of another form"],
)
def test_a_parameter_within_another_has_no_default(tmp_path: Path, family: dict):
    made = bdp.mechanisms.ModipsSBSMechanism(bdp.families.Bernoulli(), 3, (1.5,), n=4)
    folder = bdp.Release.of(made, [2]).save(tmp_path / "r")
    parameters = mechanism_entry(folder)[0]["mechanism"]["parameters"]
    edit(folder, parts=mechanism_entry(folder, parameters=parameters | {"family": family}))
    with pytest.raises(bdp.errors.InvalidRelease, match=r"modips_sbs"):
        bdp.Release.load(folder)


def test_a_promise_that_the_mechanism_does_not_keep(tmp_path: Path, charest_release: bdp.Release):
    folder = charest_release.save(tmp_path / "r")
    promise = json.loads((folder / MANIFEST).read_text())["guarantee"]
    for change in ({"epsilon": 0.1}, {"strength": "proved"}, {"neighbours": "add_remove"}):
        edit(folder, guarantee={**promise, **change})
        with pytest.raises(
            bdp.errors.InvalidRelease, match=r"promises epsilon = .* give epsilon = 2\.0"
        ):
            bdp.Release.load(folder)


def test_changed_outputs(folder: Path):
    data = bytearray((folder / OUTPUTS).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / OUTPUTS).write_bytes(data)
    with pytest.raises(bdp.errors.InvalidRelease, match="doesn't match the hash"):
        bdp.Release.load(folder)


@pytest.mark.parametrize("name", [MANIFEST, OUTPUTS])
def test_missing_files(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(bdp.errors.InvalidRelease, match=f"has no {name}"):
        bdp.Release.load(folder)


def test_not_a_folder(tmp_path: Path):
    with pytest.raises(bdp.errors.InvalidRelease, match="not a release folder"):
        bdp.Release.load(tmp_path / "nothing")


@pytest.mark.parametrize("folder", [None, 3, "", b"r", "\0"])
def test_what_is_no_path(folder, charest_release, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for step in (bdp.Release.load, charest_release.save):
        with pytest.raises(bdp.errors.InvalidInput, match=r"folder is .*; it must be a path"):
            step(folder)


def test_outputs_of_another_shape(folder: Path):
    import hashlib

    frame = pd.read_parquet(folder / OUTPUTS)
    frame.rename(columns={"ones": "counts"}).to_parquet(folder / OUTPUTS)
    digest = hashlib.sha256((folder / OUTPUTS).read_bytes()).hexdigest()
    edit(folder, outputs={"file": OUTPUTS, "sha256": digest})
    with pytest.raises(bdp.errors.InvalidRelease, match="not what its manifest says"):
        bdp.Release.load(folder)


# Saving.


def test_a_rho_is_carried_and_checked(tmp_path: Path, charest_release, monkeypatch):
    honest = bdp.mechanisms.BetaBinomialMechanism.guarantee

    def with_rho(self, **how):
        return dataclasses.replace(honest(self, **how), rho=0.125)

    old = charest_release.save(tmp_path / "old")
    monkeypatch.setattr(bdp.mechanisms.BetaBinomialMechanism, "guarantee", with_rho)
    folder = bdp.Release.of(charest_release.mechanism, [38]).save(tmp_path / "new")
    assert bdp.Release.load(folder).guarantee.rho == 0.125
    promise = json.loads((folder / MANIFEST).read_text())["guarantee"]
    assert promise["rho"] == 0.125
    for false in (0.1, 0.0):
        edit(folder, guarantee={**promise, "rho": false})
        with pytest.raises(bdp.errors.InvalidRelease, match="the manifest promises"):
            bdp.Release.load(folder)
    promise = json.loads((old / MANIFEST).read_text())["guarantee"]
    del promise["rho"]  # as written before there was one
    edit(old, guarantee=promise)
    assert bdp.Release.load(old).guarantee.rho == 0.125
    monkeypatch.setattr(bdp.mechanisms.BetaBinomialMechanism, "guarantee", honest)
    with pytest.raises(bdp.errors.InvalidRelease, match="the manifest promises"):
        bdp.Release.load(folder)


def test_disjoint_groups_have_the_largest_rho_if_all_have_one():
    plain, noisy = (
        bdp.mechanisms.DiscreteLaplaceMechanism(2.0),
        bdp.mechanisms.DiscreteGaussianMechanism(3.0),
    )
    noisier = bdp.mechanisms.DiscreteGaussianMechanism(5.0)
    both = joint_guarantee([noisier, noisy], 1, 1e-6)
    assert both.rho == noisy.guarantee(delta=1e-6).rho == pytest.approx(1 / 18)
    assert joint_guarantee([plain, noisy], 1, 1e-6).rho is None


def test_disjoint_groups_are_no_surer_than_the_least_sure():
    sure = bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_one", 5, (1.0, 1.0), size=9)
    less = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", 5, (50.0, 50.0))
    both = joint_guarantee([sure, less], 1, 1e-3)
    assert both.epsilon == sure.guarantee(delta=1e-3).epsilon
    assert both.strength is bdp.Strength.CONDITIONAL
    assert set(less.guarantee(delta=1e-3).assumptions) < set(both.assumptions)


def test_a_seeded_release_has_no_rho():
    with bdp.reproducible(1):
        seeded = bdp.publish(bdp.mechanisms.DiscreteGaussianMechanism(3.0), 7, delta=1e-6)
    assert seeded.guarantee.rho is None


def test_an_existing_folder_is_never_overwritten_silently(folder: Path, charest_release):
    before = (folder / MANIFEST).read_bytes()
    with pytest.raises(bdp.errors.ReleaseExists, match="--force"):
        charest_release.save(folder)
    assert (folder / MANIFEST).read_bytes() == before
    charest_release.save(folder, force=True)
    assert bdp.Release.load(folder) == charest_release
    assert [p.name for p in folder.parent.iterdir()] == [folder.name]


def test_force_is_a_truth_value(tmp_path: Path, charest_release: bdp.Release):
    """A text such as 'no' would be true, and replace what is there."""
    folder = charest_release.save(tmp_path / "release")
    before = (folder / MANIFEST).read_bytes()
    with pytest.raises(bdp.errors.InvalidInput, match="force is 'no'; it must be True or False"):
        charest_release.save(folder, force="no")  # type: ignore[arg-type]
    with pytest.raises(bdp.errors.InvalidInput, match="force is 1"):
        check_file(folder / MANIFEST, force=1)  # type: ignore[arg-type]
    assert (folder / MANIFEST).read_bytes() == before


def test_force_replaces_releases_only(tmp_path: Path, charest_release: bdp.Release):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").touch()
    with pytest.raises(bdp.errors.ReleaseExists, match=r"no manifest\.json"):
        charest_release.save(tmp_path / "home", force=True)
    assert (tmp_path / "home" / "thesis.tex").exists()


def test_a_missing_parent_is_named(tmp_path: Path, charest_release: bdp.Release):
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't exist"):
        charest_release.save(tmp_path / "no" / "where")


def test_a_place_that_cannot_be_written_is_named(charest_release: bdp.Release):
    """/proc refuses root too; elsewhere it isn't there, and says so."""
    with pytest.raises(bdp.errors.InvalidInput, match="/proc"):
        charest_release.save("/proc/release")


def test_a_disk_with_little_room_is_named_before_anything_is_drawn_and_saved_on_after(
    tmp_path: Path, charest_release: bdp.Release
):
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        with pytest.raises(bdp.errors.InvalidInput, match="nothing can be written in folder"):
            check_target(tmp_path / "r", MANIFEST, force=False)
        assert bdp.Release.load(charest_release.save(tmp_path / "r")) == charest_release
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("name", [".", "..", "/", "x" * 300])
@pytest.mark.parametrize("force", [True, False])
def test_a_folder_that_cannot_be_replaced_is_refused_before_anything_is_drawn(
    name: str, force: bool, tmp_path: Path, monkeypatch, charest_release: bdp.Release
):
    monkeypatch.chdir(charest_release.save(tmp_path / "r"))
    with pytest.raises(bdp.errors.InvalidInput, match=r"choose another|name a new one"):
        check_target(Path(name), MANIFEST, force=force)
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(bdp.errors.ReleaseExists, match="exists"):
        check_target(tmp_path / "link", MANIFEST, force=force)


def test_a_long_name_is_as_good_as_another(tmp_path: Path, charest_release: bdp.Release):
    for force in (False, True):
        folder = charest_release.save(tmp_path / ("x" * 250), force=force)
    assert bdp.Release.load(folder) == charest_release
    with whole_file(tmp_path / ("é" * 127)) as work:
        work.touch()
    assert len(list(tmp_path.iterdir())) == 2


def test_an_error_while_writing_leaves_nothing(tmp_path: Path):
    def write_half() -> None:
        with whole_folder(tmp_path / "out", MANIFEST) as work:
            (work / MANIFEST).write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert list(tmp_path.iterdir()) == []


def _save_forever(release: bdp.Release, folder: Path) -> None:
    i = 0
    while True:
        release.save(folder / f"r{i}")
        release.save(folder / "same", force=True)
        i += 1


@pytest.mark.slow
def test_killed_at_any_point_there_is_a_whole_folder_or_none(tmp_path: Path, grouped_release):
    """Some time after its first release is there, whenever that may be."""
    rng = np.random.default_rng(0)
    context = multiprocessing.get_context("forkserver")  # a fork would take locked locks along
    context.set_forkserver_preload([__name__, "bayesdp.release.folder", "pyarrow.parquet"])
    for round_ in range(12):
        place = tmp_path / str(round_)
        place.mkdir()
        process = context.Process(target=_save_forever, args=(grouped_release, place))
        process.start()
        while not (place / "r0").exists():
            assert process.is_alive()
            time.sleep(0.001)
        time.sleep(0.1 * rng.random())
        process.kill()
        process.join()
        for folder in place.iterdir():
            if not folder.name.startswith("."):
                assert bdp.Release.load(folder) == grouped_release
