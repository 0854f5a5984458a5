"""Measurements: what memory, tree and search take in time and space, and how well they find."""
