"""Everything in a FlatBuffer that a mutation may change, found by its schema.

A Site is a place of `size` bytes. What it means is told by its kind:

    scalar   a number; `name` says which: "Tensor.scalar_type"
    offset   refers to what begins at `target`: a table, a vector or a string, as `name` says
    length   of a vector or a string
    type     of a union's value
    slot     of a vtable: where a table has a field; 0: it does not have it
    vtable   of a table, which lies as far in front of it
    text     the bytes of a string or of a vector of bytes
"""

import struct
from collections import namedtuple

Site = namedtuple("Site", "kind at size name target signed", defaults=(0, False))


def read(data, at, size, signed=False):
    return int.from_bytes(data[at : at + size], "little", signed=signed)


class Walk:
    """`sites` of a sound buffer; `tables` are the places of all tables by their types."""

    def __init__(self, schema, data, most=200_000):
        self.schema, self.data, self.most = schema, data, most
        self.sites, self.tables, self.seen = [], {}, set()
        self.offset(0, schema.root, "root")

    def add(self, *args, **more):
        if len(self.sites) < self.most:
            self.sites.append(Site(*args, **more))

    def offset(self, at, kind, name):
        target = at + read(self.data, at, 4)
        self.add("offset", at, 4, name, target)
        if (target, kind) in self.seen:
            return
        self.seen.add((target, kind))
        what = self.schema.kind(kind)
        if what == "table":
            self.table(target, kind)
        elif what == "string":
            self.bytes(target, name, 1)
        else:
            self.vector(target, kind[1:-1], name)

    def bytes(self, at, name, item):
        count = read(self.data, at, 4)
        self.add("length", at, 4, name)
        if count:
            self.add("text", at + 4, count * item, name)

    def vector(self, at, item, name):
        kind, count = self.schema.kind(item), read(self.data, at, 4)
        if kind == "scalar" and self.schema.size(item) == 1:
            self.bytes(at, name, 1)
            return
        self.add("length", at, 4, name)
        for i in range(count):
            self.value(at + 4 + i * self.schema.size(item), item, name)

    def value(self, at, kind, name):
        what = self.schema.kind(kind)
        if what == "scalar":
            size, signed = self.schema.scalar(kind)
            self.add("scalar", at, size, name, signed=signed)
        elif what == "struct":
            places, _ = self.schema.offsets(kind)
            for field, place in zip(self.schema.types[kind].fields, places):
                self.value(at + place, field.type, f"{kind}.{field.name}")
        else:
            self.offset(at, kind, name)

    def table(self, at, name):
        self.tables.setdefault(name, []).append(at)
        self.add("vtable", at, 4, name)
        vtable = at - read(self.data, at, 4, True)
        slots = (read(self.data, vtable, 2) - 4) // 2
        for i in range(-2, slots):
            self.add("slot", vtable + 4 + 2 * i, 2, f"{name}.{i}")

        def place(slot):
            found = read(self.data, vtable + 4 + 2 * slot, 2) if slot < slots else 0
            return at + found if found else 0

        for field in self.schema.types[name].fields:
            here, path = place(field.slot), f"{name}.{field.name}"
            if not here:
                continue
            if self.schema.kind(field.type) != "union":
                self.value(here, field.type, path)
                continue
            self.add("type", here, 1, path)
            members, value = self.schema.types[field.type].members, place(field.slot + 1)
            chosen = self.data[here]
            if value and 0 < chosen < len(members):
                self.offset(value, members[chosen], path)

    def field(self, at, table, name):
        """Where the table at `at` has this field; 0: it does not have it."""
        slot = next(f.slot for f in self.schema.types[table].fields if f.name == name)
        vtable = at - read(self.data, at, 4, True)
        if 4 + 2 * slot >= read(self.data, vtable, 2):
            return 0
        found = read(self.data, vtable + 4 + 2 * slot, 2)
        return at + found if found else 0

    def text(self, at, table, name):
        place = self.field(at, table, name)
        if not place:
            return b""
        start = place + read(self.data, place, 4)
        return bytes(self.data[start + 4 : start + 4 + read(self.data, start, 4)])
