"""The foreign formats that memoryd imports, one module each: pure readers, which yield the items of a source."""

from memoryd.core.transfer.formats import json_lines, markdown
from memoryd.core.transfer.formats.source import Format

FORMATS: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in (markdown, json_lines)}
"""By name, in the order in which they are recognized: what is more particular comes first."""
