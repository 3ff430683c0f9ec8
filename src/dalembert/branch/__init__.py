"""Closing loops and following their branches: the rows of positions, Newton's method, predictor and corrector."""
