"""A hash for random numbers that depend on what they are drawn for, not on when."""

WORD = 2**32 - 1


def mixed(word: int) -> int:
    """A 32-bit hash of a 32-bit number, one to one: a low-bias constant pair of Chris Wellons's hash prospector (2018).

    Both factors are below 2**31, so that products stay within 64 bits in compiled code.
    """
    word = ((word ^ (word >> 16)) * 0x21F0AAAD) & WORD
    word = ((word ^ (word >> 15)) * 0x735A2D97) & WORD
    return word ^ (word >> 15)
