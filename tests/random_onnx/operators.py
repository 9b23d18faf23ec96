"""All operators that may be drawn: importing a family's file fills the table."""
import control  # noqa: F401
import elementwise  # noqa: F401
import images  # noqa: F401
import indexing  # noqa: F401
import layout  # noqa: F401
import products  # noqa: F401
import quantised  # noqa: F401
import recurrent  # noqa: F401
import reductions  # noqa: F401
from table import IDIOMS, TABLE, find  # noqa: F401


def names():
    return sorted({(row.domain, row.op) for row in TABLE})
