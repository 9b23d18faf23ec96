"""Mutations of a program: each bends one thing, and says what."""

import struct

from program import NESTED_HEADER
from sites import read

BOUNDARIES = {
    1: [0, 1, 2, 3, 6, 7, 11, 29, 30, 100, 126, 127, 128, 254, 255],
    2: [0, 1, 2, 4, 6, 8, 12, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF],
    4: [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 63, 64, 65, 100, 127, 128, 255, 256, 1000, 4096, 65535, 65536,
        1 << 20, 1 << 24, (1 << 30) - 1, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 2, (1 << 32) - 1],
    8: [0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 64, 128, 4096, 1 << 20, 1 << 26, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 33,
        (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 64, (1 << 64) - 1],
}
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e38, -1e38, 1e308, -1e308, float("inf"), float("-inf"), float("nan")]


class Mutation:
    """One mutant in the making: `program` stays as it is, `parts` are copies of those that change."""

    def __init__(self, program, random):
        self.program, self.random = program, random
        self.parts, self.file_edits, self.said = {}, [], []

    def data(self, index):
        if index not in self.parts:
            self.parts[index] = bytearray(self.program.parts[index].data)
        return self.parts[index]

    def say(self, index, text):
        self.said.append(f"{self.program.parts[index].name}: {text}")

    def put(self, index, site, value):
        value %= 1 << (8 * site.size)
        data = self.data(index)
        old = read(data, site.at, site.size)
        self.say(index, f"{site.kind} {site.name} at {site.at}: {old} becomes {value}")
        data[site.at : site.at + site.size] = value.to_bytes(site.size, "little")

    def file(self):
        data = self.program.seal(self.parts)
        for edit in self.file_edits:
            data = edit(data)
        return data


def pick(mutation, *kinds):
    """A part, and a site in it of one of these kinds; the kinds are as likely as each other. (0, None): there is
    none."""
    parts = mutation.program.parts
    index = mutation.random.randrange(len(parts))
    if mutation.random.random() < 0.3:
        index = 0
    there = [kind for kind in kinds if parts[index].by_kind.get(kind)]
    if not there:
        return index, None
    return index, mutation.random.choice(parts[index].by_kind[mutation.random.choice(there)])


def pick_scalar(mutation):
    """As likely of each field as of another: there are many sizes and few arenas."""
    index, site = pick(mutation, "scalar")
    scalars = mutation.program.parts[index].scalars
    if site is None or mutation.random.random() < 0.3:
        return index, site
    return index, mutation.random.choice(scalars[mutation.random.choice(sorted(scalars))])


def set_scalar(m):
    index, site = pick_scalar(m)
    if site is None:
        return
    data, random = m.data(index), m.random
    old = read(data, site.at, site.size)
    way = random.random()
    if "double_val" in site.name or site.name == "DoubleList.items":
        m.put(index, site, int.from_bytes(struct.pack("<d", random.choice(REALS)), "little"))
    elif way < 0.4:
        m.put(index, site, random.choice(BOUNDARIES[site.size]))
    elif way < 0.6:
        m.put(index, site, old + random.choice([-16, -4, -2, -1, 1, 2, 4, 16]))
    elif way < 0.7:
        m.put(index, site, random.choice([-old, 2 * old, old // 2, old ^ (1 << random.randrange(8 * site.size))]))
    else:
        other = random.choice(m.program.parts[index].scalars[site.name])
        m.put(index, site, read(data, other.at, other.size))


def swap_scalars(m):
    index, site = pick_scalar(m)
    if site is None:
        return
    other = m.random.choice(m.program.parts[index].scalars[site.name])
    data = m.data(index)
    a, b = read(data, site.at, site.size), read(data, other.at, other.size)
    m.put(index, site, b)
    m.put(index, other, a)


def point_elsewhere(m):
    """An offset to what another of the same name refers to, so that it is there twice; or anywhere."""
    index, site = pick(m, "offset")
    if site is None:
        return
    part, random = m.program.parts[index], m.random
    same = [s for s in part.by_kind["offset"] if s.name == site.name and s.target > site.at]
    way = random.random()
    if way < 0.6 and same:
        m.put(index, site, random.choice(same).target - site.at)
    elif way < 0.75:
        m.put(index, site, random.choice(part.by_kind["offset"]).target - site.at)
    elif way < 0.9:
        m.put(index, site, random.choice(BOUNDARIES[4]))
    else:
        m.put(index, site, random.randrange(0, len(part.data)) // 4 * 4 - site.at)


def set_length(m):
    index, site = pick(m, "length")
    if site is None:
        return
    old = read(m.data(index), site.at, 4)
    change = m.random.choice([old + 1, max(old - 1, 0), old + 1, max(old - 1, 0), 2 * old, old // 2, 0, 1])
    m.put(index, site, m.random.choice(BOUNDARIES[4]) if m.random.random() < 0.3 else change)


def set_type(m):
    index, site = pick(m, "type")
    if site is not None:
        m.put(index, site, m.random.randrange(14) if m.random.random() < 0.9 else m.random.randrange(256))


def set_slot(m):
    """A table loses a field, or finds it elsewhere. Tables of one form share a vtable: all of them change."""
    index, site = pick(m, "slot", "vtable")
    if site is None:
        return
    if site.kind == "vtable":
        same = m.program.parts[index].walk.tables[site.name]
        other = m.random.choice(same)
        data = m.data(index)
        vtable = other - read(data, other, 4, True)
        m.put(index, site, site.at - vtable if m.random.random() < 0.8 else m.random.choice(BOUNDARIES[4]))
        return
    others = m.program.parts[index].by_kind["slot"]
    way = m.random.random()
    value = 0 if way < 0.5 else m.random.choice(BOUNDARIES[2])
    if way > 0.75:
        value = read(m.data(index), m.random.choice(others).at, 2)
    m.put(index, site, value)


def set_text(m):
    """A name: another of the file's, one byte changed, a zero inside."""
    index, site = pick(m, "text")
    if site is None:
        return
    data, random = m.data(index), m.random
    same = [s for s in m.program.parts[index].by_kind["text"] if s.size == site.size]
    way = random.random()
    if way < 0.3 and len(same) > 1:
        other = random.choice(same)
        data[site.at : site.at + site.size] = data[other.at : other.at + other.size]
        m.say(index, f"text {site.name} at {site.at} becomes that at {other.at}")
        return
    place = site.at + random.randrange(site.size)
    data[place] = random.choice([0, 0x20, 0x7F, 0x80, 0xFF, data[place] ^ 1, random.randrange(256)])
    m.say(index, f"text {site.name} at {site.at}: byte {place - site.at} becomes {data[place]}")


def regrow(m):
    """A vector is written anew at the end of its FlatBuffer, with items more, fewer, twice or in another order."""
    index, site = pick(m, "offset")
    part = m.program.parts[index]
    vectors = [s for s in part.by_kind.get("offset", []) if s.name in part.vectors()]
    if not vectors:
        return
    site = m.random.choice(vectors)
    item, is_offset = part.vectors()[site.name]
    data = m.data(index)
    begin = site.at + read(data, site.at, 4)
    count = read(data, begin, 4) if begin + 4 <= len(data) else 0
    if count > 4096 or begin + 4 + count * item > len(data):
        return
    places = [begin + 4 + i * item for i in range(count)]
    places = m.random.choice([longer, shorter, repeated, shuffled])(m.random, places)
    data.extend(bytes(-len(data) % 16 + 12))
    start = len(data)
    data.extend(len(places).to_bytes(4, "little"))
    for place in places:
        value = data[place : place + item]
        if is_offset:
            target = place + read(data, place, 4)
            value = (target - len(data)) % (1 << 32)
            value = value.to_bytes(4, "little")
        data.extend(value)
    data.extend(bytes(-len(data) % 16))
    data[site.at : site.at + 4] = (start - site.at).to_bytes(4, "little")
    m.say(index, f"vector {site.name} of {count} at {begin} becomes one of {len(places)}")


def longer(random, places):
    return places + [random.choice(places) for _ in range(random.choice([1, 1, 2, 5]))] if places else places


def shorter(random, places):
    dropped = random.randrange(len(places)) if places else 0
    return places[:dropped] + places[dropped + 1 :]


def repeated(random, places):
    return places * random.choice([2, 3, 17, 300])


def shuffled(random, places):
    return random.sample(places, len(places))


def set_header(m):
    """The extended header of the file, or of a nested program around its FlatBuffer."""
    random = m.random
    nested = [i for i, (_, before) in m.program.inside.items() if before]
    if nested and random.random() < 0.5:
        segment, _ = m.program.inside[random.choice(nested)]
        base = m.program.base + m.program.segments[segment][1]
        at, size = random.choice([(0, 8), (8, 4), (12, 4), (16, 8), (24, 8)])
        at += base
        where = "header of a nested program"
    else:
        at, size = random.choice([(0, 4), (4, 4), (8, 4), (12, 4), (16, 8), (24, 8), (32, 8)])
        where = "header"
    old = read(m.program.data, at, size)
    near = [old + 1, old - 1, old + 16, old - 16, old + 128, old // 2]
    value = random.choice(BOUNDARIES[size] + near) % (1 << 8 * size)
    m.file_edits.append(lambda data: data[:at] + value.to_bytes(size, "little") + data[at + size :])
    m.said.append(f"{where} at {at}: {old} becomes {value}")


def cut(m):
    """The file ends early, or goes on."""
    random, total = m.random, len(m.program.data)
    ends = [m.program.program_size, m.program.base, total - 1, total // 2, random.randrange(total)]
    ends += [m.program.base + offset + d for _, offset, size in m.program.segments for d in (0, 1, size - 1)]
    end = max(random.choice(ends), 0)
    if random.random() < 0.2:
        m.file_edits.append(lambda data: data + bytes(end))
        m.said.append(f"{end} zeros behind the end")
    else:
        m.file_edits.append(lambda data: data[:end])
        m.said.append(f"cut to {end} bytes")


def set_bytes(m):
    """Any byte of a segment: constants, which may be indices."""
    if not m.program.base or m.program.base >= len(m.program.data):
        return
    at = m.random.randrange(m.program.base, len(m.program.data))
    value = m.random.choice([0, 1, 0x7F, 0x80, 0xFF, m.random.randrange(256)])
    m.file_edits.append(lambda data: data[:at] + bytes([value]) + data[at + 1 :])
    m.said.append(f"byte {at} becomes {value}")


WAYS = [(set_scalar, 34), (swap_scalars, 8), (point_elsewhere, 12), (set_length, 8), (set_type, 4), (set_slot, 8),
        (set_text, 6), (regrow, 12), (set_header, 3), (cut, 2), (set_bytes, 3)]


def mutant(program, random):
    """A file, and what was done to it."""
    ways, weights = zip(*WAYS)
    m = Mutation(program, random)
    for _ in range(random.choices([1, 2, 3, 4], [60, 24, 10, 6])[0]):
        random.choices(ways, weights)[0](m)
    return m.file(), m.said
