"""Fields of a protobuf message in a buffer of any size, by number: nothing is copied, and what is not asked for is jumped over.

A reader names the wire type of each field that it knows. Where a file has another, it is damaged: a parser that takes such a
field for an unknown one would read the message as if the field were absent, and a time that is absent is another time.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Mapping

Buffer = bytes | mmap.mmap

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_LARGEST_NUMBER = (1 << 29) - 1
_DOUBLE = struct.Struct("<d")


class WireError(Exception):
    """What is wrong with the bytes, and at which of them; `is_cut` when a field ends behind the message that holds it."""

    def __init__(self, what: str, offset: int, *, is_cut: bool = False) -> None:
        super().__init__(f"{what} at byte {offset}")
        self.offset = offset
        self.is_cut = is_cut


def fields(data: Buffer, start: int, stop: int, known: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
    """Yield the known fields of the message in [start, stop), in file order.

    A varint is (number, value, 0), everything else (number, first byte, byte behind the last). `known`: wire type by number.
    """
    at = start
    while at < stop:
        begin = at
        # most numbers are one byte: a call for each would take longer than all else
        key = data[at]
        at += 1
        if key >= 0x80:
            key, at = varint(data, begin, stop)
        number, wire = key >> 3, key & 7
        if not 0 < number <= _LARGEST_NUMBER:
            raise WireError(f"field number {number}", begin)
        if wire == LENGTH:
            if at < stop and (length := data[at]) < 0x80:
                at += 1
            else:
                length, at = varint(data, at, stop)
            first, second = at, at + length
            at = second
        elif wire == VARINT:
            if at < stop and (first := data[at]) < 0x80:
                at += 1
            else:
                first, at = varint(data, at, stop)
            second = 0
        elif wire in (FIXED64, FIXED32):
            first, second = at, at + (8 if wire == FIXED64 else 4)
            at = second
        else:  # groups, which no message of this schema has, and two numbers that mean nothing
            raise WireError(f"wire type {wire} of field {number}", begin)
        if at > stop:
            raise WireError(f"field {number} ends behind its message", begin, is_cut=True)
        expected = known.get(number)
        if expected is None:
            continue
        if wire != expected:
            raise WireError(f"field {number} has wire type {wire}, not {expected}", begin)
        yield number, first, second


def last_fields(data: Buffer, start: int, stop: int, known: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """The known fields of a small message by number: of one that is written twice the last counts."""
    return {number: (first, second) for number, first, second in fields(data, start, stop, known)}


def varint(data: Buffer, at: int, stop: int) -> tuple[int, int]:
    """Read a varint of at most ten bytes: its value as 64 bits without sign, and the byte behind it."""
    value = shift = 0
    begin = at
    while at < stop:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                raise WireError("a number of more than 64 bits", begin)
            return value, at
        shift += 7
        if shift > 63:
            raise WireError("a number of more than ten bytes", begin)
    raise WireError("a number without its end", begin, is_cut=True)


def signed(value: int) -> int:
    """An int64, whose negative values are written as 64 bits without sign."""
    return value - (1 << 64) if value >> 63 else value


def double(data: Buffer, at: int) -> float:
    """Read the eight bytes of a double."""
    return float(_DOUBLE.unpack_from(data, at)[0])


def text(data: Buffer, start: int, stop: int, limit: int = 4096) -> str:
    """Read a text, at most so many bytes of it: names of operations can be as long as a program."""
    return data[start : min(stop, start + limit)].decode("utf-8", "replace")
