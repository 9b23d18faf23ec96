"""Program and Method: what is loaded and called."""

from __future__ import annotations

import os

from . import _berth
from ._models import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Optional, Union

    from ._plugin import Plugin

    Path = Union[str, os.PathLike[str]]


class Program:
    """A program: what compile() makes and load() loads. Immutable, and used by any number of threads.

    report   what the compiler says of it, a dict with the keys of `berth compile --json`, and "why"; None for a program
             that was loaded. Sizes are in bytes, times in milliseconds
    """

    def __init__(self, loaded, report=None):
        self._loaded = loaded
        self.report = report

    @property
    def path(self) -> str:
        """The path of its file, or "program bytes"."""
        return self._loaded.place

    @property
    def method_names(self) -> list[str]:
        """The names of its methods."""
        return self._loaded.names()

    @property
    def methods(self) -> list[dict[str, Any]]:
        """Its methods as data, a list of dicts with the keys of `berth inspect --json`: "name", "inputs" and "outputs"
        ("name", "dtype", "shape", "device"; "dynamic" where a size may differ, and "shape" is the largest), "arenas"
        ("id", "device", "bytes"), "operators", "delegates", "instructions", "copies"."""
        return self._loaded.methods()

    @property
    def arenas(self) -> list[dict[str, Any]]:
        """Its arenas: dicts with "method", "id", "device", "bytes"; of a compiled program also "lower_bound" and
        "optimal", whether it is proven that no plan needs fewer bytes."""
        if self.report is not None and "arenas" in self.report:
            return self.report["arenas"]
        return [{"method": method["name"], **arena} for method in self.methods for arena in method["arenas"]]

    def method(
        self,
        name: Optional[str] = None,
        *,
        threads: int = 1,
        copy: bool = True,
        arenas: Union[_berth.Arenas, Sequence[Any], None] = None,
        resident: bool = False,
    ) -> _berth.Method:
        """Loads a method, ready to be called.

        name      may be left out where there is one method, or one called "forward"
        threads   that run it, the calling one included
        copy      False: results are read-only views of the method's memory, valid until its next run
        arenas    memory for its arenas: a berth.Arenas, which several methods may share, or a list of writable arrays,
                  one for each arena, None for those that Berth takes. One that follows the sizes may be smaller than
                  the program says, as large as Method.planned_bytes() says for the sizes to come
        resident  True: moves work from the first run to here, such as the pages of memory

        Returns a berth.Method. Raises berth.Error: NotFoundError for a device or backend that this machine does not
        have.
        """
        if arenas is not None and not isinstance(arenas, _berth.Arenas):
            arenas = _berth.Arenas(self._loaded, list(arenas))
        chosen = self._choose(name)
        return _berth.load_method(self._loaded, chosen, int(threads), bool(copy), bool(resident), arenas)

    def shared_arenas(self) -> _berth.Arenas:
        """Memory that all methods of the program may have together, so that they share state: load all of them with it
        before the first is run."""
        return _berth.Arenas(self._loaded)

    def save(self, path: Path) -> None:
        """Writes the program to a file, whole or not at all."""
        self._loaded.save(path_text(path))

    def __bytes__(self) -> bytes:
        return self._loaded.bytes()

    def _choose(self, name):
        names = self.method_names
        if name is not None:
            return name
        if "forward" in names or len(names) != 1:
            return "forward"
        return names[0]

    def _page(self, other=None, output=None):
        names = [self.path] + ([] if other is None else [other.path])
        page = self._loaded.page(None if other is None else other._loaded, names)
        if output is not None:
            _berth.write_page(page, names, path_text(output))
        return page

    def __repr__(self):
        lines = [f"berth.Program({self.path})"]
        proofs = {(arena["method"], arena["id"]): arena for arena in self.arenas}
        for method in self.methods:
            lines.append(f"  method {method['name']}: {method['instructions']} instructions")
            for kind in ("inputs", "outputs"):
                for port in method[kind]:
                    shape = "x".join(map(str, port.get("shape", ())))
                    at_most = " at most" if port.get("dynamic") else ""
                    lines.append(f"    {kind[:-1]:8}{port['name']}: {port['dtype']}[{shape}]{at_most}")
            for arena in method["arenas"]:
                proven = ", optimal" if proofs.get((method["name"], arena["id"]), {}).get("optimal") else ""
                lines.append(f"    arena {arena['id']} on {arena['device']}: {arena['bytes']} bytes{proven}")
            for delegate in method["delegates"]:
                lines.append(f"    delegate {delegate['id']} on {delegate['device']}")
        return "\n".join(lines)

    def _repr_html_(self):
        import html

        page = html.escape(self._page(), quote=True)
        text = html.escape(repr(self))
        return (
            f'<pre>{text}</pre><iframe srcdoc="{page}" style="width:100%;height:36em;border:1px solid #ccc"></iframe>'
        )


# The class is the extension's, for calls that take a microsecond; what is not called often is added here.
Method = _berth.Method


def _bind(self, inputs=None, outputs=None):
    """From now on inputs and outputs of these names are the caller's arrays: {"x": array}. None ends that.

    An input that is bound is left out of calls; its elements are read in each run. An output that is bound is written
    there in each run, and is None among the results. Where the plan has them in the caller's memory (compiled with
    device_io={"x": "cpu"}) nothing is copied, if the array is contiguous.
    """
    self._bind(dict(inputs or {}), dict(outputs or {}))


def _profile(self, *args, runs=10, **kwargs):
    """Calls the method `runs` times with these arrays and gives a berth.Profile: how long each instruction took."""
    from ._profile import Profile

    return Profile([self._record(*args, **kwargs)[1] for _ in range(max(1, int(runs)))])


def _planned_bytes(self, shapes=None):
    """The bytes that each arena needs for inputs of these shapes, a list; nothing changes.

    shapes   by name, {"x": (1, 3, 320, 320)}; None for a size that is not known. Inputs may be left out: then their
             sizes follow from the others, or count as the largest. Arenas that do not follow the sizes always need as
             much.
    """
    return self._planned_bytes(dict(shapes or {}))


def _set_state(self, states):
    """Sets states from arrays by name, as get_state() gives them; those that are not named stay. The next call goes on
    from there, in every method that shares them. If one does not fit, nothing changes."""
    self._set_state(dict(states))


def _repr(self):
    def text(ports):
        return ", ".join(f"{p['name']}: {p['dtype']}[{'x'.join(map(str, p.get('shape', ())))}]" for p in ports)

    return f"berth.Method({self.name}({text(self.inputs)}) -> ({text(self.outputs)}), threads={self.threads})"


Method.bind = _bind
Method.planned_bytes = _planned_bytes
Method.profile = _profile
Method.set_state = _set_state
Method.__repr__ = _repr


def load(
    program: Union[Path, bytes],
    *,
    data: Union[Path, Sequence[Path]] = (),
    plugins: Union[Path, Plugin, Sequence[Union[Path, Plugin]]] = (),
    devices: Optional[dict[str, str]] = None,
    verification: str = "full",
) -> Program:
    """Loads a program: a path, whose file is mapped, or bytes. ExecuTorch's programs as well as Berth's.

    data          the data files (.ptd) with its constants; default: the one beside the program, if it needs one
    plugins       berth.Plugins, and paths of shared libraries with backends, devices and operators of your own, which
                  run with all your rights
    devices       {"cuda:0": "sim:0"}: other devices than the file says
    verification  "full": every index, offset and size of the file is checked. "minimal": for files that you trust

    The file must not change while the program is used. Returns a berth.Program. Raises berth.Error: MissingFileError,
    InvalidArgumentError for a file that is damaged or not a program.
    """
    from ._models import strings
    from ._plugin import plugin_list

    if verification not in ("full", "minimal"):
        from ._errors import InvalidArgumentError

        raise InvalidArgumentError("InvalidArgument", "verification", 'expected "full" or "minimal"')
    options = {
        "data": strings(data),
        "plugins": plugin_list(plugins),
        "devices": list((devices or {}).items()),
        "full_verification": verification == "full",
    }
    if isinstance(program, (str, os.PathLike)):
        return Program(_berth.load_path(path_text(program), options))
    return Program(_berth.load_bytes(program, options))
