"""Search over everything: words, vectors, their fusion, and excerpts for a model to read."""
