"""A compiled mechanism: its equations, states and questions."""
