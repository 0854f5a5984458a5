"""Simulated household histories, with questions whose right answers the simulator knows."""
