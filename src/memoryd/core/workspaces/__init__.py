"""Workspaces: the units of isolation, from their creation to their archive."""
