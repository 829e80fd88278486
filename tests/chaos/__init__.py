"""Chaos: documents flow while processes are killed and the store is cut off; then the store proves what became of them.

``python -m tests.chaos [--seed 1] [--kills 200] [--documents 24] [--seconds 3600]``
"""
