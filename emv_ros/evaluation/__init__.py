"""Measurements of this memory, on lives that are made up and on recordings."""
