"""Profiles: how long the instructions of a method took."""

import json


class Profile:
    """Some runs of a method, instruction by instruction.

    runs          one list for each run, of events in the order in which they began: dicts with "method" ("delegate"
                  inside a delegate), "instruction" (its index), "name" (the operator, or a delegate's backend), "depth"
                  (1 inside a delegate), "delegate" (whether it is one), "start_ns" (since the run's first instruction),
                  "ns"
    instructions  one dict for each instruction: "name", "instruction", "depth", "ns" (the median over the runs, what
                  runs inside it included)
    """

    def __init__(self, runs):
        keys = ("method", "instruction", "name", "depth", "delegate", "start_ns", "ns")
        self.runs = [[dict(zip(keys, event)) for event in run] for run in runs]

    @property
    def instructions(self):
        longest = max(self.runs, key=len)
        same = [run for run in self.runs if len(run) == len(longest)]
        rows = []
        for i, event in enumerate(longest):
            times = sorted(run[i]["ns"] for run in same)
            row = {key: event[key] for key in ("name", "instruction", "depth")}
            rows.append({**row, "ns": times[len(times) // 2]})
        return rows

    def trace(self):
        """The runs as events of Chrome's trace viewer (chrome://tracing, ui.perfetto.dev), a dict."""
        events = []
        offset = 0
        for run in self.runs:
            for event in run:
                events.append(
                    {
                        "name": event["name"],
                        "ph": "X",
                        "pid": 0,
                        "tid": 0,
                        "ts": (offset + event["start_ns"]) / 1e3,
                        "dur": event["ns"] / 1e3,
                        "args": {"method": event["method"], "instruction": event["instruction"]},
                    }
                )
            offset += max((event["start_ns"] + event["ns"] for event in run), default=0)
        return {"traceEvents": events}

    def save(self, path):
        """Writes the trace to a file."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.trace(), file)

    def __repr__(self):
        rows = [row for row in self.instructions if row["depth"] == 0]
        total = sum(row["ns"] for row in rows) or 1
        slowest = sorted(self.instructions, key=lambda row: -row["ns"])[:20]
        lines = [f"berth.Profile: {len(self.runs)} runs, {total / 1e6:.3f} ms in {len(rows)} instructions; the slowest:"]
        lines += [f"  {row['ns'] / 1e6:9.4f} ms  {'  ' * row['depth']}{row['name']}" for row in slowest]
        return "\n".join(lines)
