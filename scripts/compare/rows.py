"""The rows of `scripts/bench --compare`: what is run, over which files, and which other programs do the same or less.

Each corpus is copied once to where the runs are; what a run changes is made anew before it, and that is not timed.
"""

import shutil
import subprocess
import sys
from pathlib import Path

PARSE = ("import {json} as json, sys\nfor name in sys.argv[1:]:\n    for line in open(name, 'rb'):\n"
         "        json.loads(line)")
QUIET = ["-q", "--isolated"]


class Side:
    """One program in a row: its command (made for an output folder), what comes before a run, its part of the corpus."""

    def __init__(self, name, command, stdout=None, before=None, share=1):
        self.name, self.command, self.stdout, self.before, self.share = name, command, stdout, before, share


class Row:
    """One line of the table: the two builds, then the rivals."""

    def __init__(self, name, sides, bytes):
        self.name, self.sides, self.bytes = name, sides, bytes


class Rows:
    """Makes the rows in a work folder. `builds` are two programs by name, `corpora` write the files of a name to a folder."""

    def __init__(self, work, builds, corpora, orjson):
        self.work, self.builds, self.corpora, self.orjson = Path(work), builds, corpora, orjson
        self.folder, self.files, self.corpus = None, [], None

    def use(self, corpus):
        """Makes a corpus the one that rows are over; only one is there at a time."""
        if self.corpus == corpus:
            return
        if self.folder:
            shutil.rmtree(self.folder)
        self.folder, self.corpus = self.work / "in" / corpus, corpus
        self.folder.parent.mkdir(exist_ok=True)
        self.corpora[corpus](self.folder)
        self.files = sorted(self.folder.rglob("*.jsonl"))

    def row(self, name, corpus, words, others=(), jobs=1, before=None):
        """A name, and what makes the row: `others` names makers of rivals."""

        def make():
            self.use(corpus)
            sides = [self.build(build, binary, words, jobs, before) for build, binary in self.builds.items()]
            rivals = [rival for rival in (other() for other in others) if rival]
            return Row(name, [*sides, *rivals], sum(file.stat().st_size for file in self.files))

        name = f"{name}, -j{jobs}" if jobs > 1 else name
        return name, make

    def build(self, build, binary, words, jobs, before):
        folder, files = self.folder, self.files

        def command(out):
            places = {"{in}": [folder], "{out}": [out], "{copy}": [out / "copy"],
                      "{copies}": [out / "copy" / file.relative_to(folder) for file in files]}
            said = [word for asked in words for word in places.get(asked, [asked])]
            threads = [] if words[0] == "undo" else [f"-j{jobs}"]
            return [binary, *said[:1], *threads, *said[1:]]

        return Side(build, command, before=before and (lambda out: before(binary, folder, out)))

    def edits(self, kind, script, placeholder):
        """A Python that does the same edit."""
        python, flags = (self.orjson, ["--orjson"]) if kind == "orjson" else (sys.executable, [])
        folder = self.folder
        return python and Side(f"Python {kind}", lambda out: [python, script, *flags, placeholder, folder, out])

    def parses(self, kind):
        """A Python that does no more than parse each line."""
        python = self.orjson if kind == "orjson" else sys.executable
        files = self.files
        return python and Side(f"{kind}.loads", lambda out: [python, "-c", PARSE.format(json=kind), *files])

    def jq(self, name, words, one_of=1):
        """jq over one of so many files; it is slow."""
        if not shutil.which("jq"):
            return None
        part = self.files[::one_of]
        share = sum(file.stat().st_size for file in part) / sum(file.stat().st_size for file in self.files)
        return Side(name, lambda out: ["jq", *words, *part], stdout="all.jsonl", share=share)

    def plain(self, name, words):
        files = self.files
        return Side(name, lambda out: [*words, *files], stdout="all.jsonl")

    def all(self, edit, placeholder, scripts):
        """Every row: its name, and what makes it."""
        to = ["--out-dir", "{out}", "{in}"]
        same = ["compact", *QUIET, *edit, *to]
        script = scripts / "rivals" / "clear_json.py"
        clear = ["-c", "--arg", "placeholder", placeholder, "-f", scripts / "rivals" / "clear.jq"]
        python = [lambda: self.edits("json", script, placeholder), lambda: self.edits("orjson", script, placeholder)]
        yield self.row("same edit", "live", same, [
            *python, lambda: self.jq("jq -c", clear, one_of=10), lambda: self.plain("cat to a file", ["cat"])])
        yield self.row("same edit", "live", same, jobs=2)
        yield self.row("default policy", "live", ["compact", *QUIET, *to])
        yield self.row("stats", "live", ["stats", "--isolated", "{in}"], [lambda: self.plain("wc -l", ["wc", "-l"])])
        yield self.row("verify", "live", ["verify", "{in}"], [lambda: self.parses("json"), lambda: self.parses("orjson")])
        in_place = ["compact", *QUIET, *edit, "--in-place", "{copy}"]
        yield self.row("in place", "live", in_place, before=copied)
        yield self.row("undo", "live", ["undo", "-q", "{copies}"],
                       before=lambda binary, folder, out: edited(binary, folder, out, edit))
        if "sessions" in self.corpora:
            yield self.row("default policy, sessions", "sessions", ["compact", *QUIET, *to])
            yield self.row("stats, sessions", "sessions", ["stats", "--isolated", "{in}"])
        yield self.row("small files", "small", same, python[:1])
        yield self.row("one large file", "large", same)
        yield self.row("one large file", "large", same, jobs=2)
        yield self.row("startup", "tiny", same, [lambda: self.jq("jq . file", ["."])])


def copied(binary, folder, out):
    """A fresh copy, to be changed in place."""
    shutil.copytree(folder, out / "copy")


def edited(binary, folder, out, edit):
    """A fresh copy that was changed in place."""
    copied(binary, folder, out)
    flags = ["compact", "-q", "-j1", "--isolated", "--no-report", *edit, "--in-place", out / "copy"]
    subprocess.run([binary, *flags], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
