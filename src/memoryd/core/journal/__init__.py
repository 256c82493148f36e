"""The journal: turns and summaries of sessions, in records or in a database of their own."""
