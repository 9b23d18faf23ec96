"""The exceptions of Berth. Each is a berth.Error and a kind of Python's own that fits."""


class Error(Exception):
    """A failure of Berth: what went wrong, and where.

    code     the name of the error code, such as "InvalidArgument" (docs/python.md lists them)
    place    where in the model, the file or the call: 'onnx node "Conv_12"', "method forward: input x"; may be empty
    message  what was expected, what was found, what to try
    """

    def __init__(self, code, place, message):
        super().__init__(f"{place}: {message}" if place else message)
        self.code = code
        self.place = place
        self.message = message

    def __str__(self):
        return self.args[0]

    def __reduce__(self):
        return type(self), (self.code, self.place, self.message)


class InvalidArgumentError(Error, ValueError):
    """An argument, an option, a model or a file is not what it should be."""


class InvalidTypeError(Error, TypeError):
    """A value or an element type is of the wrong kind, or a call has other arguments than the method."""


class NotSupportedError(Error, NotImplementedError):
    """The model or the request is valid, and Berth cannot do it."""


class NotFoundError(Error, LookupError):
    """A device, a backend or a named part of a file is not there."""


class MissingFileError(Error, FileNotFoundError):
    """A file is not there: `filename`, as far as it is known."""

    def __init__(self, code, place, message):
        import errno
        import os

        super().__init__(code, place, message)
        self.errno, self.strerror = errno.ENOENT, os.strerror(errno.ENOENT)
        self.filename = place.split(": ")[0] or None


class AccessError(Error, PermissionError):
    """A file is there, and cannot be read or written."""


class OutOfMemoryError(Error, MemoryError):
    """Too little memory, of the host or of a device."""


class FailedError(Error, RuntimeError):
    """A limit was reached, a call is not allowed now, or Berth itself is wrong."""


_KINDS = {
    "NotSupported": NotSupportedError,
    "NotImplemented": NotSupportedError,
    "OperatorMissing": NotSupportedError,
    "InvalidArgument": InvalidArgumentError,
    "InvalidProgram": InvalidArgumentError,
    "InvalidExternalData": InvalidArgumentError,
    "RegistrationAlreadyRegistered": InvalidArgumentError,
    "DelegateInvalidCompatibility": InvalidArgumentError,
    "InvalidType": InvalidTypeError,
    "NotFound": NotFoundError,
    "AccessFailed": AccessError,
    "MemoryAllocationFailed": OutOfMemoryError,
}

# A traceback has the names that callers write.
for _kind in {Error, FailedError, MissingFileError, *_KINDS.values()}:
    _kind.__module__ = "berth"


def _names_missing_file(text, message):
    import os

    if "No such file or directory" in message or "there is no such file" in message:
        return True
    # "model.pte", "model.pte: methods[0]", "plug-in ./libmine.so": a path among the words of a place.
    for word in text.split(": ")[0].split(" "):
        if "/" in word or word.endswith((".onnx", ".pt2", ".pte", ".ptd", ".ir", ".so")):
            return not os.path.exists(word)
    return False


def make(code, place, message):
    """The exception for a failure. Called by the extension."""
    kind = _KINDS.get(code, FailedError)
    if kind is NotFoundError and _names_missing_file(place, message):
        kind = MissingFileError
    return kind(code, place, message)
