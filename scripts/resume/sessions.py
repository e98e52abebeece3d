"""Reads session files, and lets ctxpack compact them: what the judge has to know of originals and outputs."""

import json
import subprocess
from dataclasses import dataclass

from . import judge


class CannotCompact(Exception):
    """ctxpack gave no output for this file."""


@dataclass
class Compacted:
    """A compacted session, and the calls whose results were cleared in it."""

    data: bytes
    cleared: set


def split_flags(words):
    """The words of a command line before `--`, and the flags for ctxpack after it."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1:]


def pair(path):
    """The original and, if `path` is the folder of a fixture, what it is compacted to."""
    return (path / "input.jsonl", path / "expected.jsonl") if path.is_dir() else (path, None)


def compact(binary, path, folder, flags, cleared=None):
    """The output of `ctxpack compact` with `flags`; everything that it writes is below `folder`.

    `cleared`: says of an original and its report which calls' results were cleared; None: as in Claude Code."""
    output, report = folder / "compacted.jsonl", folder / "report.json"
    command = [binary, "compact", path, "-o", output, "--store", folder / "store", "--report", report, "-q", *flags]
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired as error:
        raise CannotCompact("ctxpack: no end within 300 s") from error
    if done.returncode != 0:
        raise CannotCompact(f"ctxpack: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    told = json.loads(report.read_text())["files"][0]
    if told["status"] not in ("compacted", "unchanged"):
        raise CannotCompact(f"ctxpack: status {told['status']}: {told['error'] or told['warnings']}")
    return Compacted(output.read_bytes(), (cleared or cleared_calls)(path.read_bytes(), told))


def cleared_calls(original, told):
    """The calls whose results the report says it replaced in the main conversation."""
    lines = original.split(b"\n")
    calls = set()
    for conversation in told["conversations"]:
        if conversation["id"] != "main":
            continue
        for action in conversation["actions"]:
            if action["kind"] not in ("drop", "summarize", "restore"):
                record = json.loads(lines[action["line"] - 1])
                calls.update(judge.ids(record.get("message", {}), "tool_result", "tool_use_id"))
    return calls


def given(original, data):
    """A compacted session from elsewhere: what was cleared is what the files show."""
    known = [*results(original)]
    return Compacted(data, {block["tool_use_id"] for block in results(data) if block not in known})


def records(data):
    """The lines that are JSON objects."""
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def messages(data):
    """The user and assistant records of the main conversation."""
    for record in records(data):
        if record.get("type") in ("user", "assistant") and not record.get("isSidechain"):
            if isinstance(record.get("message"), dict):
                yield record


def results(data):
    """The tool results of the main conversation, as blocks."""
    for record in messages(data):
        yield from (block for block in judge.blocks(record["message"]) if block["type"] == "tool_result")


def new_summary(original, compacted):
    """The text of a summary that only the compacted file has, and the messages after it; or None."""
    known = {record.get("uuid") for record in messages(original) if record.get("isCompactSummary")}
    summary, tail = None, []
    for record in messages(compacted):
        if record.get("isCompactSummary") and record.get("uuid") not in known:
            summary, tail = record["message"], []
        else:
            tail.append(record["message"])
    if summary is None:
        return None
    return " ".join(judge.text_of(block) for block in judge.blocks(summary)), tail


def last_usage(data):
    """The tokens in the window by the last answer's own account; 0 if it has none."""
    last = 0
    for record in messages(data):
        usage = record["message"].get("usage")
        if isinstance(usage, dict):
            keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            last = sum(usage.get(key) or 0 for key in keys)
    return last


def with_room(data):
    """The session with a window that is nearly empty by the answers' own account, which is never sent."""
    lines = data.split(b"\n")
    for at, line in enumerate(lines):
        record = next(messages(line), None)
        if record and record["message"].get("usage"):
            record["message"]["usage"] = {"input_tokens": 1, "output_tokens": 1}
            lines[at] = json.dumps(record).encode()
    return b"\n".join(lines)
