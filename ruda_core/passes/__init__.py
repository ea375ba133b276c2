"""Analyses and rewrites of the IR, one a file; `compiler` knows their order."""
