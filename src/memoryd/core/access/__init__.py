"""Who uses a workspace: sessions and tokens."""
