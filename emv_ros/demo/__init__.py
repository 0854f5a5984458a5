"""The demonstration: a recording of three days of a household robot, and questions about it."""
