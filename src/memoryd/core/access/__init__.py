"""Access to workspaces: sessions and tokens."""
