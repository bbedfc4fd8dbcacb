"""Bytes of a file, unpacked within bounds and brought to UTF-8 with line feeds, a block at a time."""

from __future__ import annotations

import codecs
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from planner.planning.importers.errors import ImportRefused

BLOCK_BYTES = 1 << 20
HEAD_BYTES = 1 << 20
MAX_FILE_BYTES = 1 << 36
MAX_LINE_BYTES = 4 << 20
MAX_RATIO = 250
LEAST_PAIRS = 8
RATIO_FROM_BYTES = 64 << 20
"""gzip reaches about 1,000 : 1 on zeros and 5 to 15 : 1 on traces; the ratio is judged from 64 MiB on."""

_PACKINGS = ((b"(\xb5/\xfd", "zstd"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"7z\xbc\xaf", "7z"), (b"Rar!", "rar"))
_WEB_PAGE = (b"<!doctype html", b"<html")


@dataclass(frozen=True, slots=True)
class Source:
    """A file that can be opened more than once, and how many bytes of it are read at most once it is unpacked."""

    open: Callable[[], BinaryIO]
    most_bytes: int = MAX_FILE_BYTES


def bytes_source(data: bytes) -> Source:
    """Bytes in memory as a source."""
    return Source(lambda: io.BytesIO(data))


def file_source(path: Path) -> Source:
    """A regular file; links are not followed, devices and pipes not opened. Raises ImportRefused on opening."""
    return Source(lambda: _open_regular(path))


def _open_regular(path: Path) -> BinaryIO:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if path.is_symlink():
        raise ImportRefused("symlink_refused", "Links are not followed; name the file itself.")
    try:
        handle = os.open(path, flags)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be opened"
        raise ImportRefused("file_unreadable", f"The file cannot be read: {reason}.") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ImportRefused("not_a_file", "Only regular files are read.")
    return os.fdopen(handle, "rb")


@dataclass(frozen=True, slots=True)
class Opened:
    """A source whose packing and encoding are known. head: the first unpacked MiB at most, as UTF-8 with line feeds."""

    source: Source
    packing: str
    encoding: str
    is_parquet: bool
    head: bytes
    is_whole: bool

    def blocks(self) -> Iterator[bytes]:
        """All of it, unpacked, as UTF-8 with line feeds; blocks of about 1 MiB that may end anywhere."""
        with self.source.open() as file:
            yield from _normalised(_unpacked(file, self.packing, self.source.most_bytes), self.encoding)

    def lines(self) -> Iterator[bytes]:
        """Blocks of whole lines, each with its line feed; only the last may lack it."""
        return whole_lines(self.blocks())

    def text_lines(self) -> Iterator[str]:
        """Lines without their feeds."""
        for block in self.lines():
            for line in block.split(b"\n")[: block.count(b"\n") + (not block.endswith(b"\n"))]:
                yield line.decode("utf-8", "replace")


def open_source(source: Source) -> Opened:
    """Looks at the first bytes. Raises ImportRefused."""
    with source.open() as file:
        magic = file.read(8)
    _refuse_packings(magic)
    packing = "gzip" if magic.startswith(b"\x1f\x8b") else "plain"
    if magic.startswith(b"PAR1"):
        return Opened(source, packing, "utf-8", True, b"", False)
    with source.open() as file:
        raw, is_whole = _first(_unpacked(file, packing, source.most_bytes), HEAD_BYTES)
    if packing == "gzip":
        _refuse_packings(raw[:8])
        if raw.startswith(b"\x1f\x8b"):
            raise ImportRefused("archive_refused", "gzip inside gzip is not unpacked.")
    encoding = _encoding(raw, is_whole=is_whole)
    head = b"".join(_normalised(iter([raw]), encoding, is_whole=is_whole))
    if not head.strip():
        raise ImportRefused("empty", "The file holds nothing.")
    if head.lstrip()[:14].lower().startswith(_WEB_PAGE):
        raise ImportRefused("web_page", "It is a web page, perhaps one to sign in, where a file was meant.")
    return Opened(source, packing, encoding, False, head, is_whole)


def whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks cut at line feeds. Raises ImportRefused(line_too_long)."""
    rest = b""
    row = 1
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if not cut:
            rest += block
            _check_line(rest, row)
            continue
        lines = rest + block[:cut]
        if len(lines) > MAX_LINE_BYTES:
            _check_lines(lines, row)
        yield lines
        row += lines.count(b"\n")
        rest = block[cut:]
    if rest:
        _check_line(rest, row)
        yield rest


def _check_line(line: bytes, row: int) -> None:
    if len(line) > MAX_LINE_BYTES:
        raise ImportRefused("line_too_long", f"A line is longer than {MAX_LINE_BYTES >> 20} MiB.", row)


def _check_lines(lines: bytes, row: int) -> None:
    start = 0
    while start < len(lines):
        end = lines.find(b"\n", start) + 1
        _check_line(lines[start:end], row)
        start, row = end, row + 1


def _refuse_packings(magic: bytes) -> None:
    if magic.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        detail = "Archives and workbooks (zip, xlsx) are not unpacked; save the table as CSV, or pack it with gzip."
        raise ImportRefused("archive_refused", detail)
    if magic.startswith(b"\xd0\xcf\x11\xe0"):
        raise ImportRefused("workbook_refused", "Old workbooks are not read; save the table as CSV.")
    for mark, name in _PACKINGS:
        if magic.startswith(mark):
            raise ImportRefused("packing_unknown", f"{name} is not unpacked; use gzip.")


def _first(blocks: Iterator[bytes], most: int) -> tuple[bytes, bool]:
    """At most `most` bytes, and whether that was all."""
    data = b""
    for block in blocks:
        data += block
        if len(data) > most:
            return data[:most], False
    return data, True


def _unpacked(file: BinaryIO, packing: str, most_bytes: int) -> Iterator[bytes]:
    total = 0
    for block in _inflated(file) if packing == "gzip" else iter(lambda: file.read(BLOCK_BYTES), b""):
        total += len(block)
        if total > most_bytes:
            raise ImportRefused("too_large", f"More than {most_bytes >> 20} MiB.")
        yield block


def _inflated(file: BinaryIO) -> Iterator[bytes]:
    """gzip members one after the other, at most BLOCK_BYTES at a time."""
    packed = unpacked = 0
    inflate = zlib.decompressobj(wbits=31)
    data = b""
    try:
        while True:
            if not data:
                data = file.read(BLOCK_BYTES)
                packed += len(data)
                if not data:
                    break
            if inflate.eof:
                inflate = zlib.decompressobj(wbits=31)
            block = inflate.decompress(data, BLOCK_BYTES)
            data = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
            if inflate.eof and not data.strip(b"\0"):
                data = b""
            unpacked += len(block)
            if unpacked > RATIO_FROM_BYTES and unpacked > MAX_RATIO * packed:
                raise ImportRefused("decompression_bomb", f"It unpacks to more than {MAX_RATIO} times its size.")
            if block:
                yield block
    except zlib.error:
        raise ImportRefused("gzip_damaged", "The gzip data are damaged.") from None
    if not inflate.eof:
        raise ImportRefused("gzip_damaged", "The gzip data end before their end mark; the file was cut.")


def _encoding(raw: bytes, *, is_whole: bool) -> str:
    if raw.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if raw.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in raw:
        return _encoding_of_pairs(raw)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(raw, final=is_whole)
    except UnicodeDecodeError as error:
        if is_whole and error.reason == "unexpected end of data":  # cut inside a character
            return "utf-8"
        return "cp1252"
    return "utf-8"


def _encoding_of_pairs(raw: bytes) -> str:
    """UTF-16 that lost its mark: of mostly Latin text every other byte is zero. Raises ImportRefused."""
    even, odd = raw[0::2], raw[1::2]
    half = min(len(even), len(odd))
    for name, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if half >= LEAST_PAIRS and zeros.count(0) >= 0.9 * half and others.count(0) == 0:
            return name
    raise ImportRefused("binary", "The file is not text.")


def _normalised(blocks: Iterator[bytes], encoding: str, *, is_whole: bool = True) -> Iterator[bytes]:
    """UTF-8 without mark, with line feeds; control characters other than tabs are refused."""
    decoder = None if encoding in {"utf-8", "utf-8-sig"} else codecs.getincrementaldecoder(encoding)("replace")
    held = b"" if encoding != "utf-8-sig" else None
    for raw in blocks:
        block = raw if decoder is None else decoder.decode(raw).encode()
        if held is None:
            block, held = block.removeprefix(codecs.BOM_UTF8), b""
        if b"\r" in block or held:
            block = held + block
            held = b"\r" if block.endswith(b"\r") else b""
            block = block[: len(block) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\0" in block:
            raise ImportRefused("binary", "The file is not text.")
        if block:
            yield block
    rest = (held or b"").replace(b"\r", b"\n")
    if decoder is not None and is_whole:
        rest += decoder.decode(b"", final=True).encode()
    if rest:
        yield rest
