"""Lays a corpus out on disk: how many files, how large each, in which JSON style.

Three files in ten are written as Python's `json.dumps` would (", ", ": ", \\uXXXX); the others are compact raw UTF-8.
"""

import json
from pathlib import Path

from corpus.chat import anthropic, openai, openai_conversations
from corpus.claude_code import claude_code
from corpus.text import Library, Rng

FORMATS = {"anthropic": anthropic, "openai": openai, "openai-conv": openai_conversations, "claude-code": claude_code}
SMALLEST_FILE = 4_000  # bytes; less does not hold a turn


def write_corpus(folder, size, files, format, seed):
    """Writes the corpus and returns the paths in order; sizes vary from half to three halves of the mean."""
    library = Library(seed)
    layout = Rng(seed, "layout", format, files, size)
    weights = [layout.between(50, 150) for _ in range(files)]
    written, paths = 0, []
    names = list(FORMATS) if format == "mix" else [format]
    for index, weight in enumerate(weights):
        kind = names[index % len(names)]
        path = Path(folder) / kind / f"{kind}-{index + 1:05d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        target = max(SMALLEST_FILE, (size - written) * weight // sum(weights[index:]))
        with open(path, "wb") as file:
            out = Lines(file, target, spaced=index * 7 % 10 >= 7)
            FORMATS[kind](Rng(seed, kind, index), library, out)
        written += out.size
        paths.append(path)
    return paths


class Lines:
    """The lines of one file; a writer stops when it is full."""

    def __init__(self, file, target, spaced):
        self._file, self._target = file, target
        if spaced:
            self._encode = json.JSONEncoder().encode
        else:
            self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        self.size = 0
        self.last = None

    def add(self, record):
        line = self._encode(record).encode() + b"\n"
        self._file.write(line)
        self.size += len(line)
        self.last = record

    def full(self):
        return self.size >= self._target

    def room(self):
        return max(0, self._target - self.size)
