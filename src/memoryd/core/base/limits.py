"""The maximum lengths of texts that people and agents write: one for the tools, the page and imports alike."""

TEXT = 10_000
"""Characters of a memory without a key, of an observation, and of a summary of a node or a session."""

TAGS, TAG = 50, 100
"""Tags of a memory, and characters of a tag."""

MEMORY_KEY = 400
"""Characters of a key; with four bytes each, in a session with such a name too, they fit an index entry of Postgres."""

NODE_NAME, NODE_TYPE = 500, 200
"""Characters of the name of a new node, and of its type or that of a relation."""

KNOWN_NAME = 10_000
"""Characters of a name or type that the tools look up: one that was imported may be longer than a new one."""

TURN_TEXT = 1_000_000
"""Characters of each text of a turn."""
