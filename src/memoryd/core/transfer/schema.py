"""The rows of a workspace as lines of a file: how each column is written there, and what is demanded of it."""

import base64
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.core.base.clock import moment
from memoryd.errors import InvalidInputError, StoreError
from memoryd.model import Kind
from memoryd.store.base import UNIT, Row
from memoryd.store.rows import OF_WORKSPACE

FORMAT, VERSION = "workspaces", 2
WORKSPACE = "workspace"
TOLD = ("name", "description", "created_at", "updated_at")
KEY_LENGTH = 2_000  # characters of an id at most
DIM_MOST = 1 << 16  # components of a vector at most
COUNT = 1 << 31  # what a number stays below
DETAILS: Mapping[str, Kind] = {
    "memory_details": Kind.MEMORY, "entity_details": Kind.ENTITY, "observation_details": Kind.OBSERVATION,
    "interaction_details": Kind.INTERACTION, "summary_details": Kind.SUMMARY,
}  # fmt: skip
"""Whose details a table holds: each record of the kind has one row of it."""

LISTS = ("tags", "technologies")  # columns that hold JSON text
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_KINDS = {str(kind) for kind in Kind}
Demand = Callable[[Any], Any]
"""What a value of a file is in a row. Raises InvalidInputError that says what it is not."""


# writing -------------------------------------------------------------------------------------------------------------


def line(table: str, row: Row) -> dict[str, Any]:
    """A row as a line: without running numbers, lists as lists, vectors as base64 of float16.

    Raises StoreError for a vector that no import would take.
    """
    if table == "embeddings" and not _is_unit(row["vector"]):
        raise StoreError(
            f"A vector of record {row['id']} is damaged. Nothing was written; drop it with `memoryd doctor --repair`, "
            "and export again."
        )
    return {table: {column: _written(column, row[column]) for column in SHAPES[table]}}


def _written(column: str, value: Any) -> Any:
    if column in LISTS:
        return json.loads(value)
    if column == "vector":
        return base64.b64encode(value.astype("<f2").tobytes()).decode()
    return value


# reading -------------------------------------------------------------------------------------------------------------


def row(table: str, said: Any) -> Row:
    """The row that a line holds. Raises InvalidInputError that says what is wrong with it."""
    shape = SHAPES[table]
    if not isinstance(said, Mapping):
        raise InvalidInputError(f"holds {table} that are no object")
    said = {**SINCE_2.get(table, {}), **said}
    if lacking := [column for column in shape if column not in said]:
        raise InvalidInputError(f"lacks {lacking[0]}")
    if unknown := [column for column in said if column not in shape]:
        raise InvalidInputError(f"has {unknown[0][:50]!r}, which {table} do not have")
    found = {}
    for column, demand in shape.items():
        try:
            found[column] = demand(said[column])
        except InvalidInputError as error:
            raise InvalidInputError(f"has a {column} that {error}") from None
    if "vector" in found:
        found["vector"] = _vector(found["vector"], found["dim"])
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInputError("is no text")
    return value


def _key(value: Any) -> str:
    if not _text(value).strip() or len(value) > KEY_LENGTH:
        raise InvalidInputError(f"has {len(value)} characters; 1 to {KEY_LENGTH} are allowed, and not only blanks")
    return str(value)


def _kind(value: Any) -> str:
    if not isinstance(value, str) or value not in _KINDS:
        raise InvalidInputError(f"is none of {', '.join(sorted(_KINDS))}")
    return str(value)


def _texts(value: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise InvalidInputError("is no list of texts")
    return json.dumps(value, ensure_ascii=False)


def _nothing(value: Any) -> str:
    if value != "":
        raise InvalidInputError('is not "": what belongs to a session alone is not imported')
    return ""


def time(value: Any) -> str:
    """A time as every row keeps it."""
    if not _TIME.fullmatch(_text(value)):
        raise InvalidInputError("is no time such as 2026-03-04T05:06:07.089Z")
    moment(value)
    return str(value)


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < COUNT:
        raise InvalidInputError(f"is no whole number from 0 to {COUNT - 1}")
    return value


def _dim(value: Any) -> int:
    if not 1 <= _number(value) <= DIM_MOST:
        raise InvalidInputError(f"is not 1 to {DIM_MOST}")
    return int(value)


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 or math.isnan(value):
        raise InvalidInputError("is no number from 0 to 1")
    return float(value)


def _optional(demand: Demand) -> Demand:
    return lambda value: None if value is None else demand(value)


def _vector(value: str, dim: int) -> NDArray[np.float16]:
    try:
        whole = base64.b64decode(value, validate=True)
    except ValueError:  # binascii's, or not even ASCII
        raise InvalidInputError("has a vector that is no base64") from None
    if len(whole) != 2 * dim:
        raise InvalidInputError(f"has a vector of {len(whole)} bytes, which are not {dim} numbers of float16")
    vector = np.frombuffer(whole, "<f2")
    if not _is_unit(vector):
        raise InvalidInputError("has a vector whose length is not 1")
    return vector


def _is_unit(vector: NDArray[np.float16]) -> bool:
    return bool(abs(np.linalg.norm(vector.astype(np.float32)) - 1) <= UNIT)  # NaN is not


_OPTIONAL_NUMBER, _OPTIONAL_TEXT, _OPTIONAL_TIME = _optional(_number), _optional(_text), _optional(time)

SHAPES: Mapping[str, Mapping[str, Demand]] = {
    "records": {
        "id": _key, "kind": _kind, "name": _OPTIONAL_TEXT, "type": _text, "body": _text, "tags": _texts,
        "scope": _nothing, "session_id": _OPTIONAL_TEXT, "client": _text, "tool": _text, "created_at": time,
        "updated_at": time, "deleted_at": _OPTIONAL_TIME,
    },
    "memory_details": {
        "id": _key, "fingerprint": _text, "importance": _share, "access_count": _number,
        "accessed_at": _OPTIONAL_TIME, "consolidated": _number, "superseded_by": _optional(_key),
        "ending": _text, "reason": _text, "gist": _text,
    },
    "entity_details": {"id": _key, "summary_updated_at": _OPTIONAL_TIME, "next_ordinal": _number},
    "observation_details": {"id": _key, "entity_id": _key, "ordinal": _number},
    "interaction_details": {"id": _key, "thought_at": _number, "response_at": _number},
    "summary_details": {
        "id": _key, "memory_count": _number, "quality": _OPTIONAL_NUMBER, "productivity": _OPTIONAL_NUMBER,
        "impact": _OPTIONAL_NUMBER, "complexity": _OPTIONAL_NUMBER, "technologies": _texts,
    },
    "relations": {
        "id": _key, "from_entity": _key, "to_entity": _key, "relation_type": _text, "created_at": time,
        "deleted_at": _OPTIONAL_TIME,
    },
    "perspectives": {"name": _key, "template": _text},
    "embeddings": {"id": _key, "perspective": _key, "model": _key, "chunk": _number, "dim": _dim, "vector": _text},
    "events": {"at": time, "operation": _text, "subject": _OPTIONAL_TEXT},
}  # fmt: skip
"""The columns of each table in the order in which they are written."""

TABLES = tuple(table for table in OF_WORKSPACE if table in SHAPES)
"""What a file tells of: not of what its records said before."""
ORDER = {table: place for place, table in enumerate(TABLES)}
SINCE_2: Mapping[str, Mapping[str, str]] = {
    "records": {"client": "", "tool": ""}, "memory_details": {"ending": "", "reason": "", "gist": ""},
}  # fmt: skip
"""What a file of version 1 does not say."""
