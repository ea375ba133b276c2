"""Compiled code, and the threads that run it."""
