"""What coding agents bring: hooks and transcripts."""
