"""The journal: turns and summaries of sessions, in records or in ChromaDB."""
