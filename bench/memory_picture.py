#!/usr/bin/env python3
"""Draws the memory plans of two programs beside each other, on one scale: the picture of README.md.

    bench/memory_picture.py BERTH THEIRS.pte OURS.pte -o docs/memory.svg

Each value is a box: as wide as it is live, as high as it is large, at its offset. README's are of torchvision's
resnet50 with its own weights left random: THEIRS.pte is `to_edge(torch.export.export(model, image)).to_executorch()` of
ExecuTorch 1.5.1, OURS.pte what Berth compiles of the same export. Other weights make the same picture.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

WIDTH, HEIGHT, GAP, TOP, LEFT = 440, 300, 28, 46, 12
COLOURS = ("#7aa6c9", "#98bd8c", "#d9b26f", "#c98a7a", "#a796c7", "#7fbdb5", "#c7a3b7", "#b4b77a")


def plan(berth, program):
    """The largest arena of the first method, and how many steps the method has."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "plan.html"
        subprocess.run([berth, "report", program, "-o", page], check=True, capture_output=True)
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    method = json.loads(data.group(1))["files"][0]["methods"][0]
    return max(method["arenas"], key=lambda arena: arena["bytes"]), len(method["steps"])


def mebibytes(count):
    return f"{count / 2**20:.1f} MiB"


def panel(title, arena, steps, highest, left):
    """One plan. The values that lie in the bytes of another are drawn over it, with a thinner line between them."""
    def y(offset):
        return TOP + HEIGHT * (1 - offset / highest)

    boxes = []
    for i, value in enumerate(sorted(arena["values"], key=lambda v: (v["first"], v["offset"]))):
        x = left + WIDTH * value["first"] / steps
        width = max(WIDTH * (value["last"] - value["first"] + 1) / steps - 0.4, 0.6)
        top = y(value["offset"] + value["bytes"])
        height = max(y(value["offset"]) - top, 0.5)
        boxes.append(f'<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
                     f'fill="{COLOURS[i % len(COLOURS)]}"/>')
    end = y(arena["bytes"])
    return [
        f'<text x="{left}" y="20" class="title">{title}</text>',
        f'<text x="{left}" y="37" class="soft">{mebibytes(arena["bytes"])} for activations</text>',
        f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="#f2f4f7"/>',
        *boxes,
        f'<line x1="{left}" x2="{left + WIDTH}" y1="{end:.1f}" y2="{end:.1f}" class="end"/>',
    ]


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("berth", type=pathlib.Path)
    cli.add_argument("theirs", type=pathlib.Path)
    cli.add_argument("ours", type=pathlib.Path)
    cli.add_argument("-o", "--output", type=pathlib.Path, required=True)
    args = cli.parse_args()
    plans = [plan(args.berth.resolve(), program) for program in (args.theirs, args.ours)]
    highest = max(arena["bytes"] for arena, _ in plans)
    width, height = 2 * (WIDTH + LEFT) + GAP, TOP + HEIGHT + 26
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<style>text { font: 12px system-ui, sans-serif; fill: #5d6b7c } .title { font-size: 15px; font-weight: 600; "
        "fill: #1b2430 } .end { stroke: #c2410c; stroke-dasharray: 4 3 }</style>",
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>',
    ]
    for i, (title, (arena, steps)) in enumerate(zip(("ExecuTorch", "Berth"), plans)):
        lines += panel(title, arena, steps, highest, LEFT + i * (WIDTH + GAP))
    lines += [f'<text x="{LEFT}" y="{height - 8}">time runs to the right, addresses upwards; each box is a tensor</text>',
              "</svg>"]
    args.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
