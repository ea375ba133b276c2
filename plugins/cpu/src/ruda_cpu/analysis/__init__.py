"""What a kernel is before it is text: its normal form, its regions, and how values move from unit to unit."""
