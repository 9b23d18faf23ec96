"""What compile() and the readers of files take, as paths."""

import os
import sys

from ._errors import Error, InvalidArgumentError, InvalidTypeError


def path_text(path):
    """A path as text. Raises InvalidArgumentError for one with a zero, which the system would cut off there."""
    text = os.fspath(path)
    if "\0" in text:
        raise InvalidArgumentError("InvalidArgument", repr(text), "is not a path: it has a zero byte")
    return text


class ModelFile:
    """A model as a path: its own, or that of a file in memory with its bytes, which lives until the block ends."""

    def __init__(self, model):
        self._file = None
        if isinstance(model, (str, os.PathLike)):
            self.path = path_text(model)
            return
        data = _bytes_of(model)
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("berth-model")
            self._file = open(descriptor, "wb")
            self.path = f"/proc/self/fd/{descriptor}"
        else:
            import tempfile

            self._file = tempfile.NamedTemporaryFile()
            self.path = self._file.name
        self._file.write(data)
        self._file.flush()

    def __enter__(self):
        return self.path

    def __exit__(self, kind, error, trace):
        if isinstance(error, Error):
            self.name_in(error)
        self.close()

    def name_in(self, error):
        """Calls a file in memory what it is, in the place and the sentence of a failure."""
        if self._file is not None:
            error.place = error.place.replace(self.path, "the model's bytes")
            error.message = error.message.replace(self.path, "the model's bytes")
            error.args = (f"{error.place}: {error.message}",)

    def close(self):
        if self._file is not None:
            self._file.close()


def _bytes_of(model):
    if isinstance(model, (bytes, bytearray, memoryview)):
        return model
    if hasattr(model, "SerializeToString"):  # onnx.ModelProto
        return model.SerializeToString()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.export.ExportedProgram):
        import io

        file = io.BytesIO()
        torch.export.save(model, file)
        return file.getbuffer()
    raise InvalidTypeError(
        "InvalidType",
        "model",
        f"is a {type(model).__name__}; a path, bytes, an onnx.ModelProto or a torch.export.ExportedProgram is one",
    )


def shape_text(shape):
    """A shape as the compiler reads it: "1x3x224x224", where a dimension may be a range, "1..8"."""
    if isinstance(shape, str):
        return shape
    if isinstance(shape, int):
        shape = (shape,)
    return "x".join(f"{d[0]}..{d[1]}" if isinstance(d, (tuple, list)) else str(d) for d in shape)


def pairs(value):
    """{"a": "b"} or ["a=b"] as ["a=b"]."""
    if hasattr(value, "items"):
        return [f"{key}={text}" for key, text in value.items()]
    return strings(value)


def strings(value):
    """One text or several as a list of texts."""
    if isinstance(value, (str, os.PathLike)):
        return [path_text(value)]
    return [path_text(one) for one in value]
