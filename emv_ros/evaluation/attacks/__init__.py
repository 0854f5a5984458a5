"""Words as attacks: recorded text that poses as an instruction, and what it does to answers.

Each hostile text stands in a small memory with a question whose right answer is known. The same
question is asked with and without it; the answer's claim must be the same. What people say to a
robot is the attacker's whole power here: no attack on files, networks or a model's weights.
"""
