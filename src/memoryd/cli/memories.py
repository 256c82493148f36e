"""The memory at a terminal: store, recall, context, forget, inspect. They run the very tools that agents call."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import batched
from typing import Annotated, Any, cast

import typer
from pydantic import ValidationError
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memoryd.cli.frame import FAILED, PLACE, Json, command, existing_database, note, out, printable
from memoryd.core.engine import Engine
from memoryd.errors import InvalidInputError, NotFoundError
from memoryd.model import Workspace
from memoryd.models.providers import NONE
from memoryd.server.app import explain
from memoryd.settings import Settings
from memoryd.toolsets import chosen
from memoryd.toolsets.recall import CONTENT, IDS, View
from memoryd.toolsets.registry import Answer, Call
