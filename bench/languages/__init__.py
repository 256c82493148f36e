"""What is found in nine languages: the same thirty facts in each, of which ten are asked about, with a keyword each."""
