"""Runs the rows of `scripts/bench --compare` and prints a Markdown table: two builds side by side, and the rivals of each row.

Programs of a row run in turn. CPU (user and system) and wall are the smallest of the runs: other work on a machine only adds.
"""

import fnmatch
import shutil
import tempfile
from pathlib import Path

from compare.rows import Rows

HEAD = ("| row | MB | CPU s: before | now | faster | wall s: before | now | faster | peak MB: before | now | others: CPU s, times now |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
SMALL_FILES, SMALL_SIZE, LARGE_SIZE, TINY_SIZE = 5000, "100MB", "500MB", "10kB"
TIMES = 30  # copies of each session


def compare(bench, binary, args):
    """Prints each row as soon as it is measured; `bench` is the module."""
    chosen = args.dir or bench.RAM_DISK
    with tempfile.TemporaryDirectory(prefix="ctxpack-bench-", dir=chosen) as work:
        run = bench.Bench(Path(work), None, binary)
        corpora = {
            "live": lambda to: cached(bench, args.size, args.files, args, to),
            "small": lambda to: cached(bench, SMALL_SIZE, SMALL_FILES, args, to),
            "large": lambda to: cached(bench, LARGE_SIZE, 1, args, to),
            "tiny": lambda to: cached(bench, TINY_SIZE, 1, args, to),
        }
        if args.sessions:
            corpora["sessions"] = lambda to: copies(args.sessions, to)
        rows = Rows(work, {"before": args.compare, "now": binary}, corpora, bench.orjson_python(args.with_orjson))
        print(HEAD, flush=True)
        for name, make in rows.all(bench.EDIT, bench.PLACEHOLDER, bench.SCRIPTS):
            if fnmatch.fnmatch(name, args.row):
                print(measured(run, make(), args.reps), flush=True)
    return 0


def cached(bench, size, files, args, to):
    shutil.copytree(bench.cached_corpus(size, files, args.format, args.seed), to)


def copies(folder, to):
    """Each session several times, under names of its own."""
    for number, file in enumerate(sorted(folder.rglob("*.jsonl"))):
        for copy in range(TIMES):
            place = to / f"{copy:02}" / f"{number:04}.jsonl"
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)


def measured(bench, row, reps):
    """The line of a row."""
    runs = {side.name: [] for side in row.sides}
    for _ in range(reps):
        for side in row.sides:
            runs[side.name].append(bench.run(side))
    best = {}
    for side in row.sides:
        least = [min(of(run) for run in runs[side.name]) for of in
                 (lambda run: run.cpu, lambda run: run.seconds, lambda run: run.rss / 1e6)]
        best[side.name] = [least[0] / side.share, least[1] / side.share, least[2]]
    cells = [row.name, f"{row.bytes / 1e6:.0f}"]
    (cpu, wall, peak), (cpu_now, wall_now, peak_now) = best["before"], best["now"]
    cells += [f"{cpu:.3f}", f"{cpu_now:.3f}", ratio(cpu, cpu_now), f"{wall:.3f}", f"{wall_now:.3f}", ratio(wall, wall_now),
              f"{peak:.0f}", f"{peak_now:.0f}"]
    others = [f"{side.name} {best[side.name][0]:.3f} ({ratio(best[side.name][0], cpu_now)})" for side in row.sides[2:]]
    return "| " + " | ".join([*cells, ", ".join(others)]) + " |"


def ratio(one, other):
    return f"{one / other:.2f} ×" if other else "–"
