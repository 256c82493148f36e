"""Search: candidates, ranking, and a text of the best within a token budget."""
