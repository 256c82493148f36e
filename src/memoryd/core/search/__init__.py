"""Search: candidates, ranking, and a text of the best hits within a token budget."""
