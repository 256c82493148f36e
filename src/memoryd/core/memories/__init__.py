"""Memories: free texts, and those with a key."""
