"""A program file as parts that can be bent and put together again: header, FlatBuffer, segments, and what lies in
these: nested programs and the blob "berth.meta"."""

import os

from schema import Schema
from sites import Walk, read

FORMAT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "format")
PROGRAM = Schema(os.path.join(FORMAT, "program.fbs"))
META = Schema(os.path.join(FORMAT, "meta.fbs"))

NESTED = b"BerthNst"
NESTED_HEADER = 32  # bytes
ALIGNMENT = 128  # of segments, in the file


class Part:
    """A FlatBuffer with the bytes around it. `name` says which: "program", "meta", "nested 0"."""

    def __init__(self, name, schema, data):
        self.name, self.data = name, data
        self.walk = Walk(schema, data)
        self.scalars, self.by_kind, self._vectors = {}, {}, None
        self.schema = schema
        for site in self.walk.sites:
            self.by_kind.setdefault(site.kind, []).append(site)
            if site.kind == "scalar":
                self.scalars.setdefault(site.name, []).append(site)


    def vectors(self):
        """Fields that are vectors of more than bytes: {name: (bytes of an item, whether items are offsets)}."""
        if self._vectors is None:
            self._vectors = {}
            for made in self.schema.types.values():
                for field in made.fields if made.kind == "table" else []:
                    if not field.type.startswith("["):
                        continue
                    item = field.type[1:-1]
                    is_offset = self.schema.kind(item) not in ("scalar", "struct")
                    self._vectors[f"{made.name}.{field.name}"] = (self.schema.size(item), is_offset)
        return self._vectors


class Program:
    """`parts[0]` is the program's own FlatBuffer; `inside` says in which segment each other part begins, and where."""

    def __init__(self, data):
        self.data = data
        self.has_header = data[8:12] == b"eh00"
        self.program_size = read(data, 16, 8) if self.has_header else len(data)
        self.base = read(data, 24, 8) if self.has_header else 0
        self.parts = [Part("program", PROGRAM, data[: self.program_size])]
        self.segments = []  # (its table in the FlatBuffer, offset, size)
        self.inside = {}
        walk = self.parts[0].walk
        for at in walk.tables.get("DataSegment", []):
            values = []
            for name in ("offset", "size"):
                place = walk.field(at, "DataSegment", name)
                values.append(read(data, place, 8) if place else 0)
            self.segments.append((at, *values))
        self._find_nested()
        self._find_meta(walk)

    def segment(self, index):
        _, offset, size = self.segments[index]
        return self.data[self.base + offset : self.base + offset + size]

    def _find_nested(self):
        for index in range(len(self.segments)):
            payload = self.segment(index)
            if payload[:8] != NESTED:
                continue
            size = read(payload, 16, 8)
            part = Part(f"nested {len(self.parts) - 1}", PROGRAM, payload[NESTED_HEADER : NESTED_HEADER + size])
            self.inside[len(self.parts)] = (index, NESTED_HEADER)
            self.parts.append(part)

    def _find_meta(self, walk):
        for at in walk.tables.get("NamedData", []):
            if walk.text(at, "NamedData", "key") != b"berth.meta":
                continue
            place = walk.field(at, "NamedData", "segment_index")
            index = read(self.data, place, 4) if place else 0
            self.inside[len(self.parts)] = (index, 0)
            self.parts.append(Part("meta", META, self.segment(index)))

    def seal(self, bent):
        """The file with the parts of `bent` {index: bytes} in place of its own; a part may have grown at its end."""
        flat = bytearray(bent.get(0, self.parts[0].data))
        area = bytearray(self.data[self.base :]) if self.base else bytearray()
        for index, data in bent.items():
            if index:
                self._put(flat, area, index, data)
        if not self.has_header:
            return bytes(flat) + self.data[self.program_size :]
        gap = self.data[self.program_size : self.base] if self.base else b""
        if len(flat) != self.program_size:
            gap = bytes(-len(flat) % ALIGNMENT) if self.base else b""
            if flat[16:24] == self.data[16:24]:
                flat[16:24] = len(flat).to_bytes(8, "little")
            if self.base and flat[24:32] == self.data[24:32]:
                flat[24:32] = (len(flat) + len(gap)).to_bytes(8, "little")
        if len(area) != len(self.data) - self.base and flat[32:40] == self.data[32:40]:
            flat[32:40] = len(area).to_bytes(8, "little")
        return bytes(flat) + gap + bytes(area)

    def _put(self, flat, area, index, data):
        segment, before = self.inside[index]
        table, offset, size = self.segments[segment]
        old = self.parts[index].data
        if len(data) == len(old):
            area[offset + before : offset + before + len(data)] = data
            return
        # A longer one goes behind the others.
        head = bytearray(area[offset : offset + before])
        if before and head[16:24] == len(old).to_bytes(8, "little"):
            head[16:24] = len(data).to_bytes(8, "little")
        area.extend(bytes(-len(area) % ALIGNMENT))
        place = len(area)
        area.extend(head + data)
        walk = self.parts[0].walk
        for name, value in (("offset", place), ("size", len(head) + len(data))):
            at = walk.field(table, "DataSegment", name)
            if at:
                flat[at : at + 8] = value.to_bytes(8, "little")
