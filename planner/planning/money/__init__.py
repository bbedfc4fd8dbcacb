"""Both bills of a month, where they cross, and what moves the difference."""
