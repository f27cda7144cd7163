"""Cards and pictures of single objects, drawn alike in every room."""
