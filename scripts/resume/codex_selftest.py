"""Shows that the check of rollouts can fail: a small one, compacted well and badly, resumed by the real agent."""

import json
from dataclasses import replace

from . import codex, judge
from .endpoint import Endpoint
from .sessions import Compacted

OUTPUT = "Chunk ID: 1\nOutput:\n" + "-rw-r--r-- 1 user user 12 notes.txt\n" * 40
SUMMARY = "The user asked for the files of a folder and for the words in one of them."
# What makes the agent compact by itself when it resumes, in tokens.
FULL_WINDOW = 296_000


def cases():
    """Name, compacted lines, the calls said to be cleared, words of the verdict."""
    same = rollout()
    cleared = [*same[:3], item(output("call_1", "Chunk ID: 1\nOutput:\n[cleared]")), *same[4:]]
    summed = compacted([message("user", SUMMARY)])
    tail = same[5:]
    return [
        ("the same bytes", same, set(), "0 cleared"),
        ("an output cleared", cleared, {"call_1"}, "1 cleared"),
        ("an output cleared that the report does not name", cleared, set(), "was not cleared"),
        ("an output named and not cleared", same, {"call_1"}, "is sent whole"),
        ("an output grown", [*same[:3], item(output("call_1", OUTPUT * 2)), *same[4:]], {"call_1"}, "is not shorter"),
        ("a word of the user changed", [same[0], item(message("user", "What is there?")), *same[2:]], set(), "differs"),
        ("an output lost", [*same[:3], *same[4:]], set(), "FAILED"),
        ("a window that was full before", [*same, count(FULL_WINDOW)], set(), "compacts the compacted file again"),
        ("a summary", [same[0], summed, *tail], set(), "after a summary"),
        ("a summary after the old items", [*same[:5], summed, *tail], set(), "after a summary"),
        ("a summary without a message", [same[0], {**summed, "payload": {
            key: value for key, value in summed["payload"].items() if key != "message"}}, *tail], set(),
         "the summary is not sent"),
        ("a summary and a broken tail", [same[0], summed, *tail[:2], *tail[3:]], set(), "FAILED"),
    ]


def run(job):
    """Findings about the check. `job` names the agent and the room."""
    found = pure()
    job.room.mkdir()
    original = job.room / "original.jsonl"
    original.write_bytes(lines(rollout()))
    job = replace(job, path=original)
    with Endpoint() as endpoint:
        try:
            base = codex.baseline(job, endpoint)
        except codex.Skip as why:
            return [f"the rollout of the self-test does not resume: {why}"]
        for name, records, cleared, words in cases():
            made = Compacted(lines(records), cleared)
            done = codex.resume(job, made.data, endpoint, name)
            came = codex.verdict(*codex.judged(original.read_bytes(), base, made, done))
            if words not in " ".join(came):
                found.append(f"{name}: expected `{words}`, came {came[0]}: {came[1]}")
    return found


def pure():
    """The judge on what the agent never sends: it repairs broken pairs before."""
    table = [
        ([call("a"), output("a", "x")], []),
        ([call("a")], ["call a has no output"]),
        ([output("a", "x")], ["output a has no call"]),
    ]
    found = [f"pairs of {items}: {came}, not {expected}" for items, expected in table
             if (came := codex.pairs(items)) != expected]
    # A tenth of the items is left: what was counted for the whole, less what a policy counted of it, is stale.
    whole, left = ["x" * 1_000_000], ["x" * 100_000]
    figures = [(289_781, True), (40_000, True), (30_000, False), (29_660, False)]
    return found + [f"{now} of {FULL_WINDOW}: stale is not {expected}" for now, expected in figures
                    if judge.is_stale(FULL_WINDOW, now, whole, left) != expected]


def rollout():
    return [
        record("session_meta", {"id": "019a0000-7a1d-7e0c-8b5f-c0a570000001", "timestamp": "2026-01-01T10:00:00.000Z",
                                "cwd": "/tmp", "originator": "codex_exec", "cli_version": "0.169.0", "source": "exec",
                                "model_provider": "openai"}),
        item(message("user", "Which files are there?")),
        item(call("call_1")),
        item(output("call_1", OUTPUT)),
        item(message("assistant", "One file.")),
        item(message("user", "And what is in the notes?")),
        item(call("call_2")),
        item(output("call_2", "Twelve words.")),
        item(message("assistant", "Twelve words.")),
    ]


def record(kind, payload):
    return {"type": kind, "payload": payload}


def item(payload):
    return record("response_item", payload)


def compacted(history):
    return record("compacted", {"message": "", "replacement_history": history})


def count(tokens):
    usage = {"input_tokens": tokens, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0,
             "total_tokens": tokens}
    info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}
    return record("event_msg", {"type": "token_count", "info": info, "rate_limits": None})


def message(role, text):
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def call(id):
    return {"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"ls -l\"}", "call_id": id}


def output(id, text):
    return {"type": "function_call_output", "call_id": id, "output": text}


def lines(records):
    timed = ({"timestamp": f"2026-01-01T10:{minute:02}:00.000Z", **record} for minute, record in enumerate(records))
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in timed)
