"""Rendered days with known identities, and how well they are told from pictures alone."""
