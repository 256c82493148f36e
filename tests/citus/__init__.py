"""Citus: memoryd's tables on several servers."""
