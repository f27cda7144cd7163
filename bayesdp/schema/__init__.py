"""The schema of a whole table: what each column may hold, and the codes of its values."""
