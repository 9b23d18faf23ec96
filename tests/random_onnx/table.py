"""The table of operators that may be drawn. The families' files fill it as they are imported (operators.py)."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    """`draw(graph, op)` appends a node of the operator to the graph and returns what it makes, or raises Unfit.
    `since`: the first opset that has it. `exact`: each element of a result is one of an input's or follows from them
    without rounding, so that every implementation gives the same bits. `inside(node, inputs)`: how large the numbers
    are that cancel inside, for those whose results may be smaller; it broadcasts to the result."""
    op: str
    draw: object
    since: int = 1
    exact: bool = False
    inside: object = None
    domain: str = ""


TABLE = []
IDIOMS = []  # chains of several operators, as exporters write them: draw(graph)


def row(op, draw, **more):
    TABLE.append(Row(op, draw, **more))


def rows(ops, draw, **more):
    for op in ops:
        row(op, draw, **more)


def idiom(draw):
    IDIOMS.append(draw)
    return draw


def find(domain, op):
    """The operator's first row, or None."""
    return next((r for r in TABLE if (r.domain, r.op) == (domain, op)), None)
