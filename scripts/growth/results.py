"""How the time of each command grows with the number of tool results, in one file and over many files.

One conversation of N, 2 N, 4 N and 8 N results of all kinds (commands, reads of the same files, edits, searches, failures),
then as many results in files of fifty. CPU seconds at each size, and the factor of each doubling.
"""

import tempfile
from fnmatch import fnmatch
from pathlib import Path

from growth.measure import LIMIT, Growth, Trouble, commands, scratch
from growth.shapes import write_with
from growth.writers import WRITERS, prose

DOUBLINGS = 3
RESULTS_OF_A_FILE = 50
LAYERS = ("drop", "superseded", "demote", "clear", "summarize")
# What is measured over many files, by its arguments after the folder.
BATCHES = {
    "compact": ["compact", "{in}", "--out-dir", "{dir}/out", "-q", "-j1", "--isolated"],
    "compact always": ["compact", "{in}", "--out-dir", "{dir}/out", "-q", "-j1", "--isolated", "--summarize", "always"],
    "stats": ["stats", "{in}", "-j1", "--isolated"],
    "verify": ["verify", "{in}"],
    "undo": ["undo", "{dir}/out/*.jsonl", "-q"],
    "replay": ["replay", "{in}", "-j1", "--isolated", "--policy", "auto", "--policy", "reset"],
    "eval": ["eval", "{in}", "-j1", "--isolated", "--policy", "auto", "--cut", "50,80", "--budget", "10"],
}


def results(writer, count, first=0):
    """So many tool results, numbered from `first`, with a request now and then."""
    for number in range(first, first + count):
        path = f"/srv/tide/src/part{number % 7}/file{number % 397}.rs"
        match number % 8:
            case 0 | 4:
                writer.bash(number, f"{prose(number)}\n{prose(number + 1)}")
            case 1 | 5:
                writer.read(path, "".join(f"{n:6}\tfn item_{number % 397}_{n}() {{}}\n" for n in range(1, 9)))
            case 2:
                writer.call("Edit", {"file_path": path, "old_string": f"item_{number % 397}_1", "new_string": f"new_{number}"},
                            "The file has been updated.")
            case 3:
                writer.call("Grep", {"pattern": f"item_{number}"}, f"{path}:3:fn item_{number}() {{}}\n{path}:9:{prose(number)}")
            case 6:
                writer.bash(number, f"error[E0425]: cannot find value `item_{number}` in this scope", error=True)
            case _:
                writer.call("Write", {"file_path": path, "content": f"fn item_{number}() {{}}\n"}, "File written.")
        if number % 40 == 39:
            writer.say(f"Part {number} is done. {prose(number)}")
            writer.user(f"Now go on with part {number}. {prose(number + 5)}")


def one_file_commands():
    """Each layer by itself, then what is measured of every shape."""
    compact = ["compact", "{in}", "-o", "{out}", "-q", "-j1", "--isolated", "--report", "{dir}/report.json"]
    found = {f"layer {layer}": (None, [*compact, "--set", f'layers=["{layer}"]']) for layer in LAYERS}
    found["layer restore"] = (None, [*compact, "--set", 'layers=["summarize","restore"]', "--summarize", "always"])
    found["layer offload"] = (None, [*compact, "--policy", "offload-first", "--set", 'layers=["offload"]'])
    return {**found, **commands()}


class Results(Growth):
    """Measures at four sizes, once each where a run takes long."""

    def rows_of(self, what, format, wanted, found, inputs):
        for command, (before, measured) in found.items():
            if not fnmatch(command, wanted):
                continue
            try:
                times = []
                for file in inputs:
                    first = self.run(file, before, measured)
                    times.append(first if first > 5 else min([first, *(self.run(file, before, measured) for _ in range(2))]))
                factors = [b / a for a, b in zip(times, times[1:])]
                self.say(what, format, command, size_of(inputs[0]), times, factors,
                         "" if max(factors) <= LIMIT else "GROWS")
            except Trouble as trouble:
                self.say(what, format, command, size_of(inputs[0]), [], [], str(trouble))


def size_of(path):
    files = path.glob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def files_of(folder, format, count):
    """A folder with so many results in files of fifty each, no two of them alike."""
    folder.mkdir()
    for number in range(count // RESULTS_OF_A_FILE):
        first = number * RESULTS_OF_A_FILE
        data = write_with(lambda writer: results(writer, RESULTS_OF_A_FILE, first), WRITERS[format]())
        (folder / f"{number:06}.jsonl").write_bytes(data)
    return folder


def growth_of_results(binary, args):
    """Both tables; the exit code."""
    counts = [args.results << doubling for doubling in range(DOUBLINGS + 1)]
    print(f"{'results':<30}{'format':<13}{'command':<21}{'N':>9}" + "".join(
        f"{count:>9}" for count in counts) + "   factors")
    formats = [name for name in WRITERS if fnmatch(name, args.growth_format)]
    with tempfile.TemporaryDirectory(prefix="ctxpack-growth-", dir=args.dir or scratch()) as work:
        all = Results(binary, work, 0)
        for format in formats:
            inputs = []
            for count in counts:
                inputs.append(Path(work) / f"{format}-{count}.jsonl")
                inputs[-1].write_bytes(write_with(lambda writer: results(writer, count), WRITERS[format]()))
            all.rows_of("one file", format, args.command, one_file_commands(), inputs)
            for file in inputs:
                file.unlink()
            folders = [files_of(Path(work) / f"{format}-files-{count}", format, count) for count in counts]
            before = {"undo": BATCHES["compact always"]}
            found = {name: (before.get(name), words) for name, words in BATCHES.items()}
            all.rows_of(f"files of {RESULTS_OF_A_FILE}", format, args.command, found, folders)
    return all.verdict()
