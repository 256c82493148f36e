"""Retrieval in ten languages and English: the same sixty facts in each, thirty questions, a hundred prompts."""
