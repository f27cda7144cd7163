"""The table of a release's outputs: one row or more for each copy, in plain columns."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidRelease, quoted

if TYPE_CHECKING:
    from bayesdp.mechanisms.base import Mechanism

Columns = dict[str, NDArray[Any]]
_CELLS = 1 << 24  # that any table may have; more need a file of some length
_CELLS_PER_BYTE = 64
_EXPANSION = 1 << 12  # of a compressed page


def write_table(parts: Sequence[tuple[Mechanism, Sequence[Any]]]) -> bytes:
    """Write each part's outputs as Parquet bytes; the column `part` numbers the parts from 0."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for index, (mechanism, outputs) in enumerate(parts):
        columns = mechanism.encode(outputs)
        tables.append(pa.table({"part": [index] * len(columns["copy"]), **columns}))
    buffer = io.BytesIO()
    pq.write_table(pa.concat_tables(tables), buffer)
    return buffer.getvalue()


def read_table(data: bytes, where: str) -> Columns:
    """Read the columns of a Parquet file of numbers, booleans and strings.

    A missing string or boolean is None, e.g. for a node whose attribute isn't known; numbers are
    never missing.

    The size that the file declares is checked before anything is read, so that a small file can't
    take all memory.

    Raises
    ------
    InvalidRelease
        If it isn't Parquet, holds anything else, or is larger than a table of outputs can be.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        _check_size(file.metadata, len(data), where)
        _check_columns(file.schema_arrow, where)
        texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
        # So that a text which is repeated is held once.
        reader = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        table = reader.read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InvalidRelease):
            raise
        raise InvalidRelease(f"{where} can't be read as Parquet: {error}") from error
    for field in table.schema:
        if table.column(field.name).null_count and not _may_be_missing(field.type):
            raise InvalidRelease(f"{where} has missing values in column {quoted(field.name)}")
    return {name: _values(table.column(name).combine_chunks()) for name in table.column_names}


def split_table(columns: Columns, parts: int, copies: int, where: str) -> Iterator[Columns]:
    """Split the columns by part; each part's copies are numbered from 0.

    Raises
    ------
    InvalidRelease
        If rows belong to no part, or a part has other copies than the manifest says.
    """
    for name in ("part", "copy"):
        if name not in columns or columns[name].dtype.kind not in "iu":
            raise InvalidRelease(f"{where} has no column {quoted(name)} of whole numbers")
    part = columns["part"]
    if part.size and not (part.min() >= 0 and part.max() < parts):
        raise InvalidRelease(f"{where} has rows that belong to no part of the manifest")
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(min(parts, part.size) + 1))
    for index in range(parts):
        # A part beyond the last row has none.
        start, stop = bounds[index : index + 2] if index + 1 < bounds.size else (0, 0)
        mine = {name: values[order[start:stop]] for name, values in columns.items()}
        numbers = np.unique(mine["copy"])
        if numbers.size != copies or (numbers != np.arange(numbers.size)).any():
            raise InvalidRelease(
                f"copies is {copies} in the manifest, but part {index} of {where} has "
                f"{numbers.size}, numbered {numbers[:5].tolist()}..."
            )
        yield mine


def _check_size(metadata: Any, length: int, where: str) -> None:
    """Refuse a Parquet file that says it holds more than its bytes can, or contradicts itself."""
    rows, expanded = 0, 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        chunks = [group.column(k) for k in range(group.num_columns)]
        if any(chunk.num_values != group.num_rows for chunk in chunks):
            raise InvalidRelease(f"{where} has columns of different lengths")
        rows += group.num_rows
        expanded += sum(chunk.total_uncompressed_size for chunk in chunks)
    if rows * metadata.num_columns > max(_CELLS, _CELLS_PER_BYTE * length) or expanded > max(
        8 * _CELLS, _EXPANSION * length
    ):
        raise InvalidRelease(
            f"{where} has {length:,} bytes and says it holds {rows:,} rows of "
            f"{metadata.num_columns} columns, which no table of outputs does"
        )


def _check_columns(schema: Any, where: str) -> None:
    if len(set(schema.names)) < len(schema.names):
        raise InvalidRelease(f"{where} has two columns of one name: {', '.join(schema.names)}")
    for field in schema:
        if not _is_number(field.type) and not _is_text(field.type):
            raise InvalidRelease(
                f"{where} has values of type {field.type} in column {quoted(field.name)}; they "
                "must be numbers, truth values or texts"
            )


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _may_be_missing(kind: Any) -> bool:
    import pyarrow.types as types

    return _is_text(kind) or bool(types.is_boolean(kind))


def _values(column: Any) -> NDArray[Any]:
    """An Arrow array as NumPy's, where a missing value is None.

    Arrow's own `to_numpy` isn't used, as it imports pandas, and so does its `fill_null`.
    """
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        distinct = np.array([*column.dictionary.to_pylist(), None], dtype=object)
        indices = column.indices
        if indices.null_count:
            indices = indices.fill_null(len(distinct) - 1)
        return np.asarray(distinct[_numbers(indices)])
    if _is_text(column.type) or (types.is_boolean(column.type) and column.null_count):
        return np.array(column.to_pylist(), dtype=object)
    if types.is_boolean(column.type):
        return _numbers(column.cast(pa.uint8())).astype(bool)
    return _numbers(column)


def _numbers(column: Any) -> NDArray[Any]:
    return np.from_dlpack(column)
