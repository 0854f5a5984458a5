"""How right an answer is: seven classes, by rules where the gold is exact, else by a reader."""
