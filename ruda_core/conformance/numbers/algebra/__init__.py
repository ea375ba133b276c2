"""Expressions that are equal to simpler ones over the reals, and not in a machine's arithmetic."""
