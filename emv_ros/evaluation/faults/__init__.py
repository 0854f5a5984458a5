"""Faults that robots meet, repeated at random moments against the real parts of the memory."""
