"""The parts of an upload as one file that is read from the database a part at a time."""

import io
from collections.abc import Iterator

from planner.datasets.models import TraceUpload, UploadPart
from planner.planning.importers import Source

MAX_UNPACKED_BYTES = 64 << 20
"""Read while the caller waits: some 10 s of a core at most. Longer files are for the command."""


class PartsFile(io.RawIOBase):
    """Reads parts in order; holds one."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        while not self._rest:
            following = next(self._parts, None)
            if following is None:
                return 0
            self._rest = following
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def upload_parts(upload: TraceUpload) -> Iterator[bytes]:
    """The bytes of an upload, one part after the other."""
    for number in range(1, upload.parts + 1):
        yield bytes(UploadPart.objects.values_list("data", flat=True).get(upload=upload, number=number))


def upload_source(upload: TraceUpload) -> Source:
    """An upload as the importers read it; it unpacks to 64 MiB at most."""
    return Source(lambda: io.BufferedReader(PartsFile(upload_parts(upload))), MAX_UNPACKED_BYTES)
