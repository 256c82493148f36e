"""The journal's texts and vectors in ChromaDB."""
