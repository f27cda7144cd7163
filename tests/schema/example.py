"""A schema with a column of each kind."""

import bayesdp as bdp

TEXT = """\
unit = { person = "id", most = 2 }
[columns.age]
type = "integer"
bounds = [18, 90]
bins = [18, 30, 45, 60, 75, 90]
missing = true
[columns.income]
type = "real"
bounds = [0.0, 500000.0]
bins = { private = 8, share = 0.1 }
outside = "clamp"
[columns.education]
type = "ordered"
labels = ["none", "school", "college", "more"]
[columns.region]
type = "category"
labels = ["north", "south", "islands"]
other = "islands"
hierarchy = { mainland = ["north", "south"] }
[columns.smokes]
type = "boolean"
missing = true
[columns.visit]
type = "date"
bounds = [2020-01-01, 2024-12-31]
bins = "year"
[columns.sex]
type = "category"
labels = ["f", "m"]
public = true
[[zeros]]
age = [18, 30]
smokes = true
[[zeros]]
age = "missing"
region = "mainland"
"""
CUTS = {"income": [10_000, 20_000.5]}


def schema(path, text=TEXT) -> bdp.Schema:
    """Loaded from a file in that folder."""
    (path / "survey.toml").write_text(text)
    return bdp.Schema.load(path / "survey.toml")
