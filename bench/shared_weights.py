#!/usr/bin/env python3
"""How much memory processes and sessions share that run one program: `shared_weights.py BERTH LIBBERTH PROGRAM.pte`.

  * Eight processes map the file and run (`berth bench`); the sum of their proportional set sizes (PSS: a page that
    eight have in common counts an eighth for each) is at most the file's constants and, for each, its arenas and 3 MB.
  * Sessions in one process, each a method of its own that has the same threads: what each further one makes resident is
    at most its arenas and 64 KB.

--json gives one JSON object; the exit status is 1 when a limit is exceeded.
"""

import argparse
import ctypes
import json
import subprocess
import sys
import time

MB = 1e6
PER_PROCESS = 3 * MB
PER_SESSION = 64 * 1024


def proportional(pid):
    """{"Pss": bytes, "Private_Dirty": …} of a process."""
    fields = {}
    with open(f"/proc/{pid}/smaps_rollup") as lines:
        for line in lines:
            name, _, rest = line.partition(":")
            if rest.strip().endswith("kB"):
                fields[name] = int(rest.split()[0]) * 1024
    return fields


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def processes(berth, program, count, seconds):
    """The sum of PSS of so many processes after each has run for some seconds of its own time."""
    running = [subprocess.Popen([berth, "bench", program, "--iterations", "1000000"], stdout=subprocess.DEVNULL)
               for _ in range(count)]
    try:
        while min(cpu_seconds(p.pid) for p in running) < seconds:
            time.sleep(0.2)
            if any(p.poll() is not None for p in running):
                raise SystemExit("berth bench has ended early")
        found = [proportional(p.pid) for p in running]
    finally:
        for p in running:
            p.kill()
        for p in running:
            p.wait()
    return {"pss": sum(f["Pss"] for f in found), "private": max(f["Private_Dirty"] for f in found)}


class Sized(ctypes.Structure):
    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(type(self)), **fields)


class Error(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("code", ctypes.c_int32), ("place", ctypes.c_char * 236),
                ("message", ctypes.c_char * 768)]


class Source(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("rest", ctypes.c_char * 64)]


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class Port(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("node", ctypes.c_char_p), ("kind", ctypes.c_int32),
                ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("is_dynamic", ctypes.c_int32),
                ("sizes", ctypes.POINTER(ctypes.c_int32)), ("dim_order", ctypes.c_void_p), ("device", Device),
                ("is_planned", ctypes.c_int32), ("bytes", ctypes.c_uint64)]


class Array(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t),
                ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("sizes", ctypes.POINTER(ctypes.c_int32)),
                ("dim_order", ctypes.c_void_p), ("device", Device)]


class Block(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Options(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_void_p), ("rest", ctypes.c_char * 32)]


class Needed(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("method_bytes", ctypes.c_uint64), ("temp_bytes", ctypes.c_uint64),
                ("arena_bytes", ctypes.c_uint64)]


def sessions(library, program, count):
    """What each of so many sessions after the first makes resident, and what of that are arenas and temp memory."""
    lib = ctypes.CDLL(library)
    error = Error()

    def call(name, *arguments):
        if getattr(lib, name)(*arguments, ctypes.byref(error)) != 0:
            raise SystemExit(f"{name}: {error.place.decode()}: {error.message.decode()}")

    loaded = ctypes.c_void_p()
    call("berth_program_open", ctypes.byref(Source(path=program.encode())), None, ctypes.byref(loaded))
    lib.berth_program_method_name.restype = ctypes.c_char_p
    method = lib.berth_program_method_name(loaded, ctypes.c_size_t(0))
    needed, port = Needed(), Port()
    call("berth_program_memory", loaded, method, None, Block(), ctypes.byref(needed))
    call("berth_program_input", loaded, method, ctypes.c_size_t(0), ctypes.byref(port))
    zeros = ctypes.create_string_buffer(port.bytes + 64)
    aligned = (ctypes.addressof(zeros) + 63) // 64 * 64
    array = Array(data=aligned, bytes=port.bytes, dtype=port.dtype, rank=port.rank, sizes=port.sizes,
                  dim_order=port.dim_order)

    threads = ctypes.c_void_p()
    call("berth_threads_create", 1, ctypes.byref(threads))
    how = Options(threads=threads)

    def run_one():
        session = ctypes.c_void_p()
        call("berth_method_load", loaded, method, ctypes.byref(how), ctypes.byref(session))
        call("berth_method_set_input", session, ctypes.c_size_t(0), ctypes.byref(array))
        call("berth_method_run", session)
        return session

    open_sessions = [run_one()]
    before = proportional("self")["Private_Dirty"]
    open_sessions += [run_one() for _ in range(count - 1)]
    each = (proportional("self")["Private_Dirty"] - before) / (count - 1)
    for session in open_sessions:
        call("berth_method_close", session)
    call("berth_threads_close", threads)
    call("berth_program_close", loaded)
    return {"each": each, "arenas": needed.arena_bytes}


def constants(berth, program):
    """Bytes of the file that are not its tables: those are small, so the file."""
    return json.loads(subprocess.check_output([berth, "inspect", program, "--json"]))["bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("berth")
    parser.add_argument("library")
    parser.add_argument("program")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--sessions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    one = sessions(options.library, options.program, options.sessions)
    many = processes(options.berth, options.program, options.processes, options.seconds)
    limit = constants(options.berth, options.program) + options.processes * (one["arenas"] + PER_PROCESS)
    beside = one["each"] - one["arenas"]
    result = {"processes": options.processes, "pss": many["pss"], "limit": limit, "private": many["private"],
              "sessions": options.sessions, "session": one["each"], "arenas": one["arenas"], "beside": beside}
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{options.processes} processes: PSS {many['pss'] / MB:.1f} MB, at most {limit / MB:.1f}; "
              f"{many['private'] / MB:.1f} MB private to one, {one['arenas'] / MB:.1f} of them arenas")
        print(f"each further session: {one['each'] / MB:.2f} MB: arenas {one['arenas'] / MB:.2f}, and "
              f"{beside / 1024:.0f} KiB beside them")
    return 1 if many["pss"] > limit or beside > PER_SESSION else 0


if __name__ == "__main__":
    sys.exit(main())
