"""The one reason-carrying signal of this package."""


class Unusable(Exception):  # noqa: N818  a reason to leave a row out, not a fault
    """The row cannot be predicted; the text is the reason that is counted."""
