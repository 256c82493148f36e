"""The rows of a workspace as lines of a file: the format of each column, and its checks."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.core.base.clock import moment
from memoryd.errors import InvalidInputError, StoreError
from memoryd.model import Kind
from memoryd.store.base import UNIT, Row
from memoryd.store.columns import EXPORTED, Column, Holds

FORMAT, VERSION = "workspaces", 2
WORKSPACE = "workspace"
WORKSPACE_FIELDS = ("name", "description", "created_at", "updated_at")
UNKNOWN = "unknown"
"""The type of an entity without a stated type."""
NEW_MEMORY = {
    "importance": 0.5,
    "access_count": 0,
    "accessed_at": None,
    "consolidated": 0,
    "superseded_by": None,
    "ending": "",
    "reason": "",
    "gist": "",
}
"""The details of a memory of which nothing else is known, besides its fingerprint."""
UNSCORED = dict.fromkeys(("quality", "productivity", "impact", "complexity"))
"""The scores of a summary that has none."""
KEY_LENGTH = 2_000  # maximum characters of an id
DIM_MOST = 1 << 16  # maximum components of a vector
COUNT = 1 << 31  # exclusive upper bound of numbers

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_KINDS = {str(kind) for kind in Kind}


# writing -------------------------------------------------------------------------------------------------------------


def line(table: str, row: Row) -> dict[str, Any]:
    """Return a row as a line; raise StoreError for a vector that no import would accept."""
    if table == "embeddings" and not _is_unit(row["vector"]):
        raise StoreError(
            f"A vector of record {row['id']} is damaged. Nothing was written; drop it with `memoryd doctor --repair`, "
            "and export again."
        )
    return {table: {name: _written(column, row[name]) for name, column in EXPORTED[table].columns.items()}}


def _written(column: Column, value: Any) -> Any:
    if column.holds is Holds.TEXTS:
        return json.loads(value)
    if column.holds is Holds.VECTOR:
        return base64.b64encode(value.astype("<f2").tobytes()).decode()
    return value


# reading -------------------------------------------------------------------------------------------------------------


def texts(table: str, value: Any) -> dict[str, Any]:
    """Return the fields of a line that may contain any text; the others have a format that is checked."""
    if table == "embeddings" or not isinstance(value, Mapping):
        return {}
    names = _FREE.get(table, ("name", "description"))
    return {name: value[name] for name in names if name in value}


def row(table: str, value: Any) -> Row:
    """Return the row in a line; raise an InvalidInputError that says what is wrong with it."""
    columns = EXPORTED[table].columns
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"has {table} that are not an object")
    if missing := [name for name, column in columns.items() if name not in value and column.since == 1]:
        raise InvalidInputError(f"lacks {missing[0]}")
    if unknown := [name for name in value if name not in columns]:
        raise InvalidInputError(f"has {unknown[0][:50]!r}, which {table} do not have")
    found = {name: _read(name, column, value.get(name, "")) for name, column in columns.items()}
    if "vector" in found:
        found["vector"] = _vector(found["vector"], found["dim"])
    return found


def _read(name: str, column: Column, value: Any) -> Any:
    if value is None and column.optional:
        return None
    try:
        return _CHECKS[column.holds](value)
    except InvalidInputError as error:
        raise InvalidInputError(f"has a {name} that {error}") from None


def _that(is_fit: Callable[[Any], object], fault: str) -> Callable[[Any], Any]:
    """Return a function that returns a fit value, and raises InvalidInputError for any other one."""

    def check(value: Any) -> Any:
        if not is_fit(value):
            raise InvalidInputError(fault)
        return value

    return check


_text = _that(lambda value: isinstance(value, str), "is not a text")
_number = _that(lambda value: type(value) is int and 0 <= value < COUNT, f"is not an integer from 0 to {COUNT - 1}")
_share = _that(lambda value: type(value) in (int, float) and 0 <= value <= 1, "is not a number from 0 to 1")
_list = _that(
    lambda value: isinstance(value, list) and all(isinstance(part, str) for part in value), "is not a list of texts"
)


def _key(value: Any) -> str:
    if not _text(value).strip() or len(value) > KEY_LENGTH:
        raise InvalidInputError(f"has {len(value)} characters; 1 to {KEY_LENGTH} are allowed, and not only blanks")
    return str(value)


def time(value: Any) -> str:
    """Return a time in the format of rows; raise InvalidInputError for anything else."""
    if not _TIME.fullmatch(_text(value)):
        raise InvalidInputError("is not a time such as 2026-03-04T05:06:07.089Z")
    moment(value)
    return str(value)


def _vector(value: str, dim: int) -> NDArray[np.float16]:
    try:
        whole = base64.b64decode(value, validate=True)
    except ValueError:  # binascii's, or not even ASCII
        raise InvalidInputError("has a vector that is not base64") from None
    if len(whole) != 2 * dim:
        raise InvalidInputError(f"has a vector of {len(whole)} bytes, which are not {dim} float16 numbers")
    vector = np.frombuffer(whole, "<f2")
    if not _is_unit(vector):
        raise InvalidInputError("has a vector whose length is not 1")
    return vector


def _is_unit(vector: NDArray[np.float16]) -> bool:
    return bool(abs(np.linalg.norm(vector.astype(np.float32)) - 1) <= UNIT)  # NaN is not


_FREE = {
    table: [name for name, column in of.columns.items() if column.holds in (Holds.KEY, Holds.TEXT, Holds.TEXTS)]
    for table, of in EXPORTED.items()
}
_CHECKS: Mapping[Holds, Callable[[Any], Any]] = {
    Holds.KEY: _key,
    Holds.TEXT: _text,
    Holds.KIND: _that(
        lambda value: isinstance(value, str) and value in _KINDS, f"is not one of {', '.join(sorted(_KINDS))}"
    ),
    Holds.TEXTS: lambda value: json.dumps(_list(value), ensure_ascii=False),
    Holds.EMPTY: _that(lambda value: value == "", 'is not "": the memories of a single session are not imported'),
    Holds.TIME: time,
    Holds.NUMBER: _number,
    Holds.SHARE: lambda value: float(_share(value)),
    Holds.DIM: lambda value: _that(lambda dim: 1 <= dim <= DIM_MOST, f"is not 1 to {DIM_MOST}")(_number(value)),
    Holds.VECTOR: _text,
}
"""The function that checks and converts a value of a file, by the contents of its column."""
