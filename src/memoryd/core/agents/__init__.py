"""Integration of coding agents: hooks and transcripts."""
