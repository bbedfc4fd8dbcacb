"""The subtraction from a GPU's memory down to the KV pool, and what a sequence takes of it."""
