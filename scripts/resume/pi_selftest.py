"""Shows that the check of pi sessions can fail: a small one, compacted well and badly, resumed by the real agent."""

import json

from . import check, pi
from .endpoint import Endpoint
from .sessions import Compacted

OUTPUT = "-rw-r--r-- 1 user user 12 notes.txt\n" * 60
SUMMARY = "The user asked for the files of a folder and for the words in one of them."
# Tokens of the last answer by its own account, and a window that they fill.
USED = 100_000
FULL = USED + pi.RESERVE - 1


def cases():
    """Name, compacted entries, the calls said to be cleared, the window at the resume, words of the verdict."""
    same = session()
    cleared = replaced(same, 3, result("call_1", "[cleared]"))
    summed = [*same, entry(9, 8, "compaction", summary=SUMMARY, firstKeptEntryId=key(5), tokensBefore=USED)]
    before = [*same[:5], entry(9, 4, "compaction", summary=SUMMARY, firstKeptEntryId=key(5), tokensBefore=USED),
              {**same[5], "parentId": key(9)}, *same[6:]]
    before[5]["timestamp"] = same[-1]["timestamp"]
    late = [*same, entry(9, 8, "compaction", summary=SUMMARY, firstKeptEntryId=key(8), tokensBefore=USED)]
    return [
        ("the same bytes", same, set(), pi.WIDE, "2 results"),
        ("a result cleared", cleared, {"call_1"}, pi.WIDE, "2 results"),
        ("a result cleared that nobody named", cleared, set(), pi.WIDE, "FAILED"),
        ("a result named and not cleared", same, {"call_1"}, pi.WIDE, "FAILED"),
        ("a word of the user changed", replaced(same, 1, user("What is there?")), set(), pi.WIDE, "FAILED"),
        ("a result lost", unlinked(same, 3), set(), pi.WIDE, "FAILED"),
        ("a window that is full", same, set(), FULL, "FAILED"),
        ("a summary", summed, set(), FULL, "after a summary"),
        ("a summary before what stays", before, set(), FULL, "after a summary"),
        ("a summary that the tail does not hang on", [*before[:6], *same[5:]], set(), pi.WIDE, "FAILED"),
        ("a summary and a tail that is cut", [*unlinked(summed[:-1], 6), summed[-1]], set(), FULL, "FAILED"),
        ("a summary that keeps nothing pi knows", replaced_key(summed, "firstKeptEntryId", "ffffffff"), set(), FULL,
         "FAILED"),
        ("a summary that keeps the last answer alone", late, set(), FULL, "after a summary"),
        ("an entry that is no summary to pi", replaced_key(summed, "type", "compacted"), set(), pi.WIDE, "2 results"),
    ]


def run(job):
    """Findings about the check. `job` names the agent and the room."""
    found = []
    job.room.mkdir()
    original = lines(session())
    with Endpoint() as endpoint:
        try:
            before = pi.baseline(job, endpoint, original)
        except check.Skip as why:
            return [f"the session of the self-test does not resume: {why}"]
        for name, entries, cleared, window, words in cases():
            made = Compacted(lines(entries), cleared)
            done = pi.resume(job, made.data, endpoint, window, name)
            came = check.verdict(*pi.judged(before, original, made, done))
            if words not in " ".join(came):
                found.append(f"{name}: expected `{words}`, came {came[0]}: {came[1]}")
    return found


def session():
    header = {"type": "session", "version": 3, "id": "00000000-0000-4000-8000-000000000001",
              "timestamp": "2026-01-01T10:00:00.000Z", "cwd": "/tmp"}
    said = [
        user("Which files are there?"),
        assistant({"type": "toolCall", "id": "call_1", "name": "bash", "arguments": {"command": "ls -l"}}),
        result("call_1", OUTPUT),
        assistant({"type": "text", "text": "One file."}),
        user("And what is in the notes?"),
        assistant({"type": "toolCall", "id": "call_2", "name": "read", "arguments": {"path": "notes.txt"}}),
        result("call_2", "Twelve words."),
        assistant({"type": "text", "text": "Twelve words."}),
    ]
    return [header, *(entry(at, at - 1, "message", message=message) for at, message in enumerate(said, 1))]


def key(at):
    return f"{at:08x}"


def entry(at, parent, kind, **more):
    return {"type": kind, "id": key(at), "parentId": key(parent) if parent else None,
            "timestamp": f"2026-01-01T10:{at:02}:00.000Z", **more}


def user(text):
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1767261600000}


def assistant(block):
    stop = "toolUse" if block["type"] == "toolCall" else "stop"
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    usage = {"input": USED - 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": USED, "cost": cost}
    return {"role": "assistant", "content": [block], "api": "anthropic-messages", "provider": "loop", "model": "m",
            "usage": usage, "stopReason": stop, "timestamp": 1767261600000}


def result(call, text):
    name = "bash" if call == "call_1" else "read"
    return {"role": "toolResult", "toolCallId": call, "toolName": name, "content": [{"type": "text", "text": text}],
            "isError": False, "timestamp": 1767261600000}


def replaced(entries, at, message):
    """The entries with another message at `at`."""
    return [*entries[:at], {**entries[at], "message": message}, *entries[at + 1:]]


def replaced_key(entries, name, value):
    """The entries with another value in the last one."""
    return [*entries[:-1], {**entries[-1], name: value}]


def unlinked(entries, at):
    """The entries without the one at `at`; the next one points to the one before."""
    after = {**entries[at + 1], "parentId": entries[at]["parentId"]}
    return [*entries[:at], after, *entries[at + 2:]]


def lines(entries):
    return b"".join(json.dumps(entry, separators=(",", ":")).encode() + b"\n" for entry in entries)
