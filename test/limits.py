"""Limits of time that tests hold things to."""

# What comes about at once, on a machine however busy. What the tests tell apart from it would take
# 15 s or more: the deadline of a call, a reply of a byte a second, a wait that a provider asks for.
SOON_S = 12.0
