"""Cards, one-line representations and pictures."""
