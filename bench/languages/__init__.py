"""Retrieval in nine languages: the same thirty facts in each; ten of them have a question and a keyword."""
