"""Runs the tool on one file and judges what it does: signals, time, memory and exit codes."""

import os
import re
import resource
import signal
import time
from collections import namedtuple

SECONDS = 20
MOST_MEMORY = 1 << 20  # KiB that a process may have resident
ADDRESSES = 64 << 30  # bytes that it may map; simulated devices reserve 32 GiB of addresses
OUTPUT = 1 << 20  # bytes of its output that are kept

Result = namedtuple("Result", "command code seconds kilobytes said")


class Hang(Exception):
    pass


class Tool:
    """One at a time, and from the main thread: the alarm is the process's."""

    def __init__(self, berth, folder):
        self.berth, self.said_path = berth, os.path.join(folder, "said.txt")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        signal.signal(signal.SIGALRM, self._look)

    def _look(self, *_):
        """Ends what takes too long, or so much memory that the machine would suffer."""
        self.late = time.monotonic() - self.begin > SECONDS
        try:
            with open(f"/proc/{self.process}/statm") as file:
                resident = int(file.read().split()[1]) * resource.getpagesize() // 1024
        except OSError:
            return  # it has ended
        if self.late or resident > 2 * MOST_MEMORY:
            os.kill(self.process, signal.SIGKILL)

    def run(self, command):
        """`command` without the tool's own name; `code` is negative for a signal, None for a hang."""
        self.late, self.begin = False, time.monotonic()
        actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                   (os.POSIX_SPAWN_OPEN, 2, self.said_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)]
        self.process = os.posix_spawn(self.berth, [self.berth, *command], os.environ, file_actions=actions)
        signal.setitimer(signal.ITIMER_REAL, 0.25, 0.25)
        _, status, usage = os.wait4(self.process, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        with open(self.said_path, errors="replace") as file:
            said = file.read(OUTPUT)
        code = None if self.late else os.waitstatus_to_exitcode(status)
        return Result(command, code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, said)


def fault(result):
    """What is wrong with it, in words that are the same for the same fault; None: nothing."""
    last = result.said.strip().splitlines()[-1] if result.said.strip() else ""
    sentence = re.sub(r"\d+", "N", re.sub(r"^berth: \S+?\.pte", "berth: FILE", last))[:160]
    if result.kilobytes > MOST_MEMORY:
        return "takes more than 1 GiB"
    if result.code is None:
        return f"does not end within {SECONDS} s"
    if result.code < 0:
        return f"dies of {signal.Signals(-result.code).name}: {sentence}"
    if result.code not in (0, 2):
        return f"exit code {result.code}: {sentence}"
    if result.code == 2 and not result.said.startswith("berth: "):
        return f"exit code 2 without a sentence: {sentence}"
    return None
