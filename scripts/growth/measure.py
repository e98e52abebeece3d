"""How the time of each command grows with each shape: CPU seconds at N, 2 N and 4 N bytes, and the two factors.

CPU time of the child, the smallest of three runs, since other work on the machine only ever adds to it. N grows until a run
takes long enough to be measured. A factor over the limit is measured again before it counts.
"""

import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from growth.shapes import SHAPES, write
from growth.writers import WRITERS

LIMIT = 2.3
LONG_ENOUGH = 0.06  # CPU seconds of a run at N
LARGEST = 4 << 20  # bytes at N
SMALLEST = 1 << 17
# Below, what doubles is the window of a live agent, which is looked at anew with each result. A policy's trigger ends that: at
# this size in most shapes, at up to 16 times as much where nearly all is what somebody typed, which stays.
SMALLEST_REPLAY = 1 << 20
LARGEST_REPLAY = 16 << 20
TIMEOUT = 600
RUNS, MORE_RUNS = 3, 5
# As a shell would hand it over: all files that the command before has written.
ALL = "out/*.jsonl"

PRESETS = ("auto", "layered", "offload-first", "reset", "boundary", "turns")


def commands():
    """Of each command: what is run once before, what is measured; {in} and {out} are files, {dir} a folder of its own."""
    compact = ["compact", "{in}", "-o", "{out}", "-q", "-j1", "--isolated", "--report", "{dir}/report.json"]
    found = {"none": (None, [*compact, "--policy", "none"])}
    for preset in PRESETS:
        found[preset] = (None, [*compact, "--policy", preset])
        found[f"{preset} always"] = (None, [*compact, "--policy", preset, "--summarize", "always"])
    found["auto keep"] = (None, [*compact, "--summarize", "always", "--history", "keep"])
    found["auto target"] = (None, [*compact, "--target", "5%"])
    found["auto redact"] = (None, [*compact, "--redact", "outputs"])
    found["stats"] = (None, ["stats", "{in}", "-j1", "--isolated"])
    found["stats json"] = (None, ["stats", "{in}", "-j1", "--isolated", "--format", "json", "--exact"])
    found["verify"] = (None, ["verify", "{in}"])
    found["undo"] = ([*compact, "--store", "{dir}/store", "--summarize", "always"],
                     ["undo", "{out}", "-o", "{dir}/back", "--store", "{dir}/store"])
    found["replay"] = (None, ["replay", "{in}", "-j1", "--isolated", "--policy", "auto", "--policy", "reset"])
    found["eval"] = (None, ["eval", "{in}", "-j1", "--isolated", "--policy", "auto", "--cut", "50,80", "--budget", "10"])
    return found


class Trouble(Exception):
    """A run that ended as none should."""


class Growth:
    """Measures; prints a row as soon as it is known."""

    def __init__(self, binary, work, largest):
        self.binary, self.work, self.largest = binary, Path(work), largest
        self.rows = []

    def shape(self, name, format, wanted):
        inputs = {}

        def input(size):
            if size not in inputs:
                inputs[size] = self.work / f"{size}.jsonl"
                inputs[size].write_bytes(write(name, WRITERS[format](), size))
            return inputs[size]

        for command, (before, measured) in commands().items():
            if fnmatch.fnmatch(command, wanted):
                self.row(name, format, command, before, measured, input)
        for file in inputs.values():
            file.unlink()

    def row(self, name, format, command, before, measured, input):
        size = SMALLEST_REPLAY if command == "replay" else SMALLEST
        try:
            first = self.run(input(size), before, measured)
            while first < LONG_ENOUGH and size < self.largest:
                size *= 2 if first > LONG_ENOUGH / 2 else 4
                size = min(size, self.largest)
                first = self.run(input(size), before, measured)
            best, factors = self.factors(size, first, input, before, measured)
            while command == "replay" and max(factors) > LIMIT and size < LARGEST_REPLAY:
                size *= 2
                best, factors = self.factors(size, self.run(input(size), before, measured), input, before, measured)
            self.say(name, format, command, size, best, factors, "" if max(factors) <= LIMIT else "GROWS")
        except Trouble as trouble:
            self.say(name, format, command, size, [], [], str(trouble))

    def factors(self, size, first, input, before, measured):
        """The shortest times at `size`, twice and four times as much, and their factors; `first` is a time at `size`."""
        times = [[first], [], []]
        for runs in (RUNS, MORE_RUNS):
            for at, found in enumerate(times):
                while len(found) < runs and not (found and at == 2 and found[0] > 20):
                    found.append(self.run(input(size << at), before, measured))
            best = [min(found) for found in times]
            factors = [best[1] / best[0], best[2] / best[1]]
            if max(factors) <= LIMIT:
                break
        return best, factors

    def say(self, name, format, command, size, times, factors, verdict):
        figures = "".join(f"{time:>9.3f}" for time in times) + "".join(f"{factor:>7.2f}" for factor in factors)
        print(f"{name:<30}{format:<13}{command:<21}{size >> 10:>6} kB{figures or '':<41}  {verdict}", flush=True)
        self.rows.append((name, format, command, max(factors, default=0.0), verdict))

    def verdict(self):
        """Says what grew most; the exit code."""
        over = [row for row in self.rows if row[4]]
        print(f"\n{len(self.rows)} measured, {len(over)} over {LIMIT} a doubling or not measured; the largest factors:")
        for row in sorted(self.rows, key=lambda row: -row[3])[:10]:
            print(f"  {row[3]:>5.2f}  {row[0]}, {row[1]}, {row[2]}")
        return 1 if over or not self.rows else 0

    def run(self, file, before, measured):
        """CPU seconds of the measured command."""
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            if before:
                self.once(file, folder, before)
            return self.once(file, folder, measured)

    def once(self, file, folder, words):
        places = {"in": file, "out": f"{folder}/out.jsonl", "dir": folder}
        command = [str(self.binary)]
        for word in words:
            command += sorted(map(str, Path(folder).glob(ALL))) if word == f"{{dir}}/{ALL}" else [word.format_map(places)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + TIMEOUT
        pause = 0.001
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise Trouble(f"still running after {TIMEOUT} s")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
        # A broken rule, a target out of reach and an input that failed are no faults here.
        if process.returncode not in (0, 1, 3):
            raise Trouble(f"exit code {process.returncode}")
        return usage.ru_utime + usage.ru_stime


def growth(binary, args):
    """All shapes that are asked for; the exit code."""
    print(f"{'shape':<30}{'format':<13}{'command':<21}{'N':>9}{'cpu s':>9}{'2 N':>9}{'4 N':>9}{'':>7}{'':>7}")
    with tempfile.TemporaryDirectory(prefix="ctxpack-growth-", dir=args.dir or scratch()) as work:
        all = Growth(binary, work, args.largest << 10)
        for name, (formats, _) in SHAPES.items():
            for format in formats:
                if fnmatch.fnmatch(name, args.shape) and fnmatch.fnmatch(format, args.growth_format):
                    all.shape(name, format, args.command)
    return all.verdict()


def scratch():
    ram = Path("/dev/shm")
    return ram if os.access(ram, os.W_OK) and shutil.disk_usage(ram).free > 1 << 30 else tempfile.gettempdir()
