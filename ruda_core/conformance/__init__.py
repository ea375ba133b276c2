"""The conformance kit: what a backend must answer as the language says, and what compares it with the reference."""
