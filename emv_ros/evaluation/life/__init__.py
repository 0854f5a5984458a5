"""A life that is made up: as long as one likes, the same for the same seed, no day like another.

For measurements of what grows with age. Its days are alike in kind and amount, so that any trend
in a measurement is the memory's own. It is no simulation of physics and no test of perception.
"""
