"""Records: the one write path of every text, its vectors, its ids and its changes."""
