"""The kit's tests, for pytest to collect: see `ruda_core.conformance.plugin`."""
