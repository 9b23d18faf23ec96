"""FlatBuffers schemas (.fbs), as far as walking over a buffer needs them."""

import re
from dataclasses import dataclass, field

SCALARS = {
    "bool": (1, False), "byte": (1, True), "ubyte": (1, False), "short": (2, True), "ushort": (2, False),
    "int": (4, True), "uint": (4, False), "long": (8, True), "ulong": (8, False), "float": (4, True),
    "double": (8, True),
}


@dataclass
class Field:
    name: str
    type: str  # a scalar, "string", the name of a type, or one of these in [ ]
    slot: int  # in the vtable; of a union the slot of its type, the value has the next


@dataclass
class Type:
    name: str
    kind: str  # "table", "struct", "enum", "union"
    fields: list = field(default_factory=list)  # of tables and structs
    members: list = field(default_factory=list)  # of unions; entry 0 is none
    scalar: str = ""  # of enums


class Schema:
    def __init__(self, path):
        with open(path) as file:
            text = re.sub(r"//[^\n]*|\([^)]*\)", "", file.read())  # without comments and attributes
        self.types = {}
        declared = r"\b(table|struct|enum|union)\s+(\w+)\s*(?::\s*(\w+)\s*)?\{([^}]*)\}"
        for kind, name, base, body in re.findall(declared, text):
            self.types[name] = Type(name, kind, scalar=base)
            if kind == "union":
                self.types[name].members = ["NONE"] + [m.strip() for m in body.split(",") if m.strip()]
            elif kind != "enum":
                self.types[name].body = body
        for made in self.types.values():
            if hasattr(made, "body"):
                self._add_fields(made)
        self.root = re.search(r"root_type\s+(\w+)", text).group(1)

    def _add_fields(self, made):
        slot = 0
        for name, kind in re.findall(r"(\w+)\s*:\s*(\[?\s*\w+\s*\]?)", made.body):
            kind = kind.replace(" ", "")
            made.fields.append(Field(name, kind, slot))
            slot += 2 if self.kind(kind) == "union" else 1

    def kind(self, name):
        """ "scalar", "string", "vector", "table", "struct", "union"."""
        if name.startswith("["):
            return "vector"
        if name == "string":
            return "string"
        if name in SCALARS:
            return "scalar"
        kind = self.types[name].kind
        return "scalar" if kind == "enum" else kind

    def scalar(self, name):
        """Bytes, and whether it has a sign."""
        return SCALARS[name if name in SCALARS else self.types[name].scalar]

    def size(self, name):
        """Bytes in a vector, a struct or a table."""
        kind = self.kind(name)
        if kind == "scalar":
            return self.scalar(name)[0]
        if kind == "struct":
            return self.offsets(name)[1]
        return 4

    def offsets(self, name):
        """Where a struct's fields lie, and its bytes."""
        at, most, places = 0, 1, []
        for f in self.types[name].fields:
            size = self.size(f.type)
            at = (at + size - 1) // size * size
            places.append(at)
            at += size
            most = max(most, size)
        return places, (at + most - 1) // most * most
