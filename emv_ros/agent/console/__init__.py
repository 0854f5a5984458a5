"""The console in which a model's code runs: sandbox, what it offers, the state of the tree."""
