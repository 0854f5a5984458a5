"""A simulated household with a robot in it: where the recording of the demonstration comes from."""
