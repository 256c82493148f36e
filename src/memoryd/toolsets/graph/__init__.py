"""The knowledge graph of seeds b and c: a tool that both name exists once and serves both."""

from memoryd.toolsets.graph import consolidation, nodes, observations, reading, relations, search, traversal
from memoryd.toolsets.registry import Toolset

TOOLS = Toolset(
    [
        *nodes.TOOLS,
        *reading.TOOLS,
        *observations.TOOLS,
        *relations.TOOLS,
        *traversal.TOOLS,
        *search.TOOLS,
        *consolidation.TOOLS,
    ]
)
