"""Parts of an arena that is allocated when all are known."""


class Words:
    """Gives them out, one behind the other."""

    def __init__(self, first: int) -> None:
        self.end = first

    def take(self, count: int) -> int:
        """Offset of the next `count` words."""
        offset = self.end
        self.end += count
        return offset
