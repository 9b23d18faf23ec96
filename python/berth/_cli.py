"""The command `berth`: the tool, inside the extension."""

import signal
import sys

from . import _berth


def main():
    # As any program in C: the tool runs without coming back to the interpreter, which would notice Ctrl-C too late.
    for name in ("SIGINT", "SIGPIPE"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    return _berth.tool(["berth", *sys.argv[1:]])
