"""What is promised: neighbouring relations and guarantees."""
