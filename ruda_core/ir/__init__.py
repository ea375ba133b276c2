"""The intermediate representation: what the frontend makes, passes change and dialects render."""
