"""A model in Berth's variants, held against the oracle."""
import dataclasses
import re

import numpy as np

import oracle
from variants import Files, Variant, reason, run_variant


@dataclasses.dataclass
class Finding:
    """`kind`: "signal", "hang", "exit 1", "output" or "mismatch"; `step`: compile or run."""
    kind: str
    step: str
    variant: Variant
    text: str

    def same_way(self, other):
        """Whether another finding is as this one, as far as a smaller model can show it."""
        def form(finding):
            forms = ("has type", "has shape", "is nan", "instead of nan", "inf ", "instead of inf", "instead of -inf")
            return finding.text if finding.kind == "signal" else [f in finding.text for f in forms]
        return (self.kind, self.step, form(self)) == (other.kind, other.step, form(other))


@dataclasses.dataclass
class Verdict:
    """`findings`; `refused`: reasons, one for each variant that was; `ran`: variants that gave outputs; `notes`: what
    the summary counts beside."""
    findings: list
    refused: list
    ran: int = 0
    notes: list = dataclasses.field(default_factory=list)


def plainly(error):
    """The first line of an exception's text without names and numbers."""
    text = str(error).split("\n")[0].rpartition("Status Message: ")[2].rpartition("onnxruntime/")[2]
    return re.sub(r"\d+", "N", text)[:150]


class Oracle:
    """The oracle of one model; what is costly is asked only when it is needed. `node_by_node`: ONNX Runtime never gets
    the whole model, which would end this process."""

    def __init__(self, model, node_by_node=False):
        self.model, self.notes, self.careful, self.judged = model, [], None, {}
        self.wanted, self.node_by_node = None, node_by_node
        try:
            if not node_by_node:
                self.wanted = oracle.runtime_outputs(model)
        except oracle.Failed as error:
            self.notes.append("not run by ONNX Runtime: " + plainly(error))
            if not error.lacks:
                return
        if self.wanted is None:
            self.go_through_nodes()
        else:
            self.check_shapes()

    def go_through_nodes(self):
        """What ONNX Runtime lacks, and what it is known to be wrong in, by other means."""
        try:
            self.careful = oracle.Careful(self.model)
            self.wanted = [self.careful.outputs(call) for call in range(len(self.model.calls))]
        except Exception as failure:  # of any kind: onnx.reference has no errors of its own
            self.notes.append(f"not judged: {type(failure).__name__} {plainly(failure)}")

    def check_shapes(self):
        """The rows' own figures of shapes are held against ONNX Runtime's."""
        for call, shapes in enumerate(self.model.shapes or []):
            for output, shape in zip(self.wanted[call], shapes):
                if np.asarray(output).shape != tuple(shape):
                    self.notes.append(
                        f"a row figured the shape {shape} where ONNX Runtime gives {np.asarray(output).shape}")

    def difference(self, outputs):
        """None, or how `outputs` differ from what is right."""
        if self.wanted is None:
            return None
        places = oracle.first_look(outputs, self.wanted)
        for call in sorted({c for c, _ in places}):
            if call not in self.judged:
                self.careful = self.careful or oracle.Careful(self.model)
                try:
                    self.judged[call] = self.careful.judge(call)
                except Exception as error:  # a node that runs nowhere alone
                    self.notes.append(f"not judged: {type(error).__name__} {plainly(error)}")
                    self.judged[call] = [None] * len(self.wanted[call])
            problem = oracle.differs(outputs[call], self.judged[call])
            if problem and not self.runtime_is_of_two_minds(call, outputs):
                return f"call {call}: {problem}"
        return None

    def runtime_is_of_two_minds(self, call, outputs):
        """Whether ONNX Runtime agrees with Berth when it optimises, where it does not otherwise, and onnx.reference
        too."""
        if self.node_by_node:
            return False
        try:
            optimised = oracle.runtime_outputs(self.model, optimised=True)[call]
            reference = oracle.reference_outputs(self.model)[call]
        except oracle.Failed:
            return False
        tolerant = [j and (np.asarray(r), j[1]) for j, r in zip(self.judged[call], reference)]
        faster = [j and (np.asarray(r), j[1]) for j, r in zip(self.judged[call], optimised)]
        try:
            agreed = not oracle.differs(outputs[call], tolerant) and not oracle.differs(outputs[call], faster)
        except (ValueError, IndexError):
            return False
        if agreed:
            self.notes.append("ONNX Runtime differs from itself, and onnx.reference sides with Berth")
        return agreed


def check(berth, model, variants, folder, node_by_node=False):
    asked, files = None, Files(model, folder)
    verdict = Verdict([], [])
    for variant in variants:
        outcome = run_variant(berth, files, variant)
        if outcome.kind == "refused":
            verdict.refused.append(reason(outcome))
        elif outcome.kind == "done":
            verdict.ran += 1
            asked = asked or Oracle(model, node_by_node)
            problem = asked.difference(outcome.outputs)
            if problem:
                verdict.findings.append(Finding("mismatch", "run", variant, problem))
        else:
            verdict.findings.append(Finding(outcome.kind, outcome.step, variant, outcome.text))
    if verdict.ran and verdict.refused:
        verdict.notes.append("refused by some variants only: " + verdict.refused[0])
    verdict.notes += asked.notes if asked else []
    return verdict
