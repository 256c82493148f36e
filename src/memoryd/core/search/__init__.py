"""The one read path: candidates, ranking, and what of them fits the budget."""
