"""What happens in a session, before any format: requests, steps, tool calls and their results.

A story has a small project whose files stay what they are between reads and change by edits, so that later reads
repeat earlier ones as in real sessions. Never knows a wire format.
"""

from dataclasses import dataclass, field

from corpus.text import BY_EXTENSION, WORDS, camel, name, path

MAX_READ_LINES = 2_000  # what agents show of a file when no limit is given


@dataclass
class Call:
    """One tool call with its result, and what Claude Code would store beside the result."""

    tool: str
    input: dict
    text: str
    mirror: object
    error: bool = False
    id: str = ""


@dataclass
class Step:
    """One assistant message: thinking and text may be absent; the last step of a turn has no calls."""

    thinking: str = None
    text: str = None
    calls: list = field(default_factory=list)


class Story:
    """One agent at work in one project."""

    def __init__(self, rng, library, thinks):
        self._rng, self._library, self._thinks = rng, library, thinks
        self.root = f"/home/dev/projects/{rng.pick(WORDS)}-{rng.pick(WORDS)}"
        self._files = {f"{self.root}/{path(rng)}": None for _ in range(rng.between(8, 40))}
        self._paths = list(self._files)
        self._read = []
        self.limit = 200_000

    def fit(self, room):
        """No text of the next step is longer than a third of the room that is left, in characters."""
        self.limit = max(60, room // 3)

    def request(self):
        """What a person types: mostly short, now and then with a pasted log or a longer brief."""
        rng = self._rng
        text = rng.pick([
            f"Please {rng.pick(['fix', 'look into', 'refactor', 'document'])} `{name(rng)}` in {path(rng)}.",
            f"The tests of {rng.pick(WORDS)} fail since yesterday. Find out why, and do not touch the public API.",
            f"Add a {camel(rng)} that does what {camel(rng)} does, but for a {rng.pick(WORDS)}.",
            "Yes, go on.",
            f"No: keep the {rng.pick(WORDS)} as it was. Only the {rng.pick(WORDS)} may change.",
            f"请{self._library.line(rng, 'cjk')}",
        ])
        if rng.chance(0.15):
            kind = rng.pick(["log", "ansi", "markdown", "json"])
            text += "\n\n```\n" + self._library.take(rng, kind, min(rng.between(200, 4_000), self.limit)) + "\n```"
        return text

    def turn(self):
        """The steps from one request to the agent's answer."""
        rng = self._rng
        for _ in range(rng.pick([1, 2, 2, 3, 4, 6, 9, 14, 25])):
            calls = [self._call() for _ in range(rng.pick([1, 1, 1, 1, 2, 2, 3, 5]))]
            text = self._library.line(rng) if rng.chance(0.5) else None
            yield Step(self._thought(), text, calls)
        yield Step(self._thought(), self._library.take(rng, rng.pick(["markdown", "markdown", "prose", "cjk"]),
                                                       min(rng.between(100, 2_500), self.limit)))

    def _thought(self):
        if not self._thinks:
            return None
        return self._library.take(self._rng, "prose", min(self._rng.between(80, 1_500), self.limit))

    def _call(self):
        tools = [self._read_file, self._read_file, self._bash, self._bash, self._bash, self._grep, self._glob,
                 self._edit, self._edit, self._write]
        return self._rng.pick(tools)()

    def _size(self):
        return min(self._rng.result_size(), self.limit)

    def _content(self, file):
        if self._files[file] is None:
            kind = BY_EXTENSION[file.rsplit(".", 1)[1]]
            self._files[file] = self._library.take(self._rng, kind, max(200, self._size())) + "\n"
        return self._files[file]

    def _read_file(self):
        rng = self._rng
        if rng.chance(0.03):
            missing = f"{self.root}/{path(rng)}.bak"
            return Call("Read", {"file_path": missing}, "<tool_use_error>File does not exist.</tool_use_error>",
                        "Error: File does not exist.", error=True)
        recent = self._read[-5:]
        file = rng.pick(recent) if recent and rng.chance(0.35) else rng.pick(self._paths)
        lines = self._content(file)[:self.limit].split("\n")[:-1] or [""]
        total, start, count = len(lines), 1, min(len(lines), MAX_READ_LINES)
        arguments = {"file_path": file}
        if total > 60 and rng.chance(0.3):
            start = rng.between(1, total - 50)
            count = min(rng.between(20, 400), total - start + 1)
            arguments.update(offset=start, limit=count)
        shown = lines[start - 1:start - 1 + count]
        self._read.append(file)
        numbered = "\n".join([f"{n:6d}→{line}" for n, line in enumerate(shown, start)])
        return Call("Read", arguments, numbered, {"type": "text", "file": {
            "filePath": file, "content": "\n".join(shown), "numLines": count, "startLine": start, "totalLines": total}})

    def _bash(self):
        rng = self._rng
        command, kind = rng.pick([
            ("cargo test --workspace 2>&1 | tail -200", "ansi"), ("git diff HEAD~1", "diff"),
            (f"tail -n 500 logs/{rng.pick(WORDS)}.log", "log"), (f"curl -s http://127.0.0.1:8080/{rng.pick(WORDS)}", "json"),
            (f"find . -name '*{rng.pick(WORDS)}*'", "paths"), ("python -m pytest -q", "log"), ("cat docs/说明.md", "cjk"),
        ])
        output = self._library.take(rng, kind, self._size())
        failed = rng.chance(0.08)
        text = f"Exit code {rng.between(1, 2)}\n{output}" if failed else output
        mirror = f"Error: {text}" if failed else {"stdout": output, "stderr": "", "interrupted": False,
                                                  "isImage": False, "noOutputExpected": False}
        arguments = {"command": command, "description": self._library.line(rng)[:60]}
        if rng.chance(0.2):
            arguments["timeout"] = 120_000
        return Call("Bash", arguments, text, mirror, error=failed)

    def _grep(self):
        rng = self._rng
        found = self._library.take(rng, "grep", self._size() // 2) or "No matches found"
        files = [line.split(":", 1)[0] for line in found.split("\n")[:50] if ":" in line]
        return Call("Grep", {"pattern": f"{rng.pick(WORDS)}\\.{rng.pick(WORDS)}\\(", "path": self.root,
                             "output_mode": "content", "-n": True}, found,
                    {"mode": "content", "numFiles": len(files), "filenames": files, "content": found,
                     "numLines": found.count("\n") + 1})

    def _glob(self):
        rng = self._rng
        found = self._library.take(rng, "paths", self._size() // 4) or "No files found"
        files = [] if found.startswith("No ") else found.split("\n")
        return Call("Glob", {"pattern": f"**/*{rng.pick(WORDS)}*"}, found,
                    {"filenames": files, "durationMs": rng.below(90), "numFiles": len(files), "truncated": False})

    def _edit(self):
        rng = self._rng
        if not self._read:
            return self._read_file()
        file = rng.pick(self._read[-8:])
        before = self._content(file)
        lines = before.split("\n")
        at = rng.below(max(1, len(lines) - 6))
        old = "\n".join(lines[at:at + rng.between(1, 5)])
        arguments = {"file_path": file, "old_string": old, "new_string": ""}
        found = before.count(old) if old.strip() else 0
        if found != 1:
            arguments["new_string"] = "// gone"
            problem = f"Found {found} matches of the string to replace, but replace_all is false."
            return Call("Edit", arguments, f"<tool_use_error>{problem}</tool_use_error>", f"Error: {problem}", error=True)
        new = old.replace(rng.pick(WORDS), rng.pick(WORDS)) + f"\n// {self._library.line(rng)}"
        arguments["new_string"] = new
        self._files[file] = after = before.replace(old, new, 1)
        changed = after.split("\n")[max(0, at - 4):at + 10]
        shown = "\n".join([f"{n:6d}→{line}" for n, line in enumerate(changed, max(1, at - 3))])
        text = f"The file {file} has been updated. Here's the result of running `cat -n` on a snippet:\n{shown}"
        hunk = {"oldStart": at + 1, "oldLines": old.count("\n") + 1, "newStart": at + 1, "newLines": new.count("\n") + 1,
                "lines": ["-" + line for line in old.split("\n")] + ["+" + line for line in new.split("\n")]}
        return Call("Edit", arguments, text, {
            "filePath": file, "oldString": old, "newString": new, "originalFile": before[:self.limit],
            "structuredPatch": [hunk], "userModified": False, "replaceAll": False})

    def _write(self):
        rng = self._rng
        file = f"{self.root}/{path(rng, ('rs', 'py', 'ts', 'md'))}"
        content = self._library.take(rng, BY_EXTENSION[file.rsplit(".", 1)[1]], max(100, self._size())) + "\n"
        if file not in self._files:
            self._paths.append(file)
        self._files[file] = content
        self._read.append(file)
        return Call("Write", {"file_path": file, "content": content}, f"File created successfully at: {file}",
                    {"type": "create", "filePath": file, "content": content, "structuredPatch": [], "originalFile": None})
