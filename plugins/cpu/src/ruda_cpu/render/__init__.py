"""From regions to LLVM's text."""
