"""The knowledge graph: entities, observations, relations, and what can be computed from them."""
