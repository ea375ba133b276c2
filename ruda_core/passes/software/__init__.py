"""Functions and rules written in the IR itself, for targets that lack them."""
