"""Shows that the check can fail: a small session, compacted well and badly, resumed by the real agents.

Every case names the words that the verdict must hold; an unexpected verdict is a finding about the check itself.
"""

import json
from dataclasses import replace

from . import check, judge
from .endpoint import Endpoint
from .sessions import Compacted

OUTPUT = "total 4\n" + "-rw-r--r-- 1 user user 12 notes.txt\n" * 40
SUMMARY = "The user asked for the files of a folder and for the words in one of them."
# What makes an agent compact by itself when it resumes, in tokens.
FULL_WINDOW = 196_000


def cases():
    """Name, compacted lines, the calls said to be cleared, words of the verdict."""
    same = session()
    cleared = edited(same, 3, content=[result("toolu_1", "[cleared]")])
    tail = same[4:]
    summed = [boundary(), user("summary", None, SUMMARY, isCompactSummary=True)]
    return [
        ("the same bytes", same, set(), "as they were"),
        ("a result cleared", cleared, {"toolu_1"}, "1 cleared"),
        ("a result cleared that the report does not name", cleared, set(), "was not cleared"),
        ("a result named and not cleared", same, {"toolu_1"}, "is sent whole"),
        ("a result grown", edited(same, 3, content=[result("toolu_1", OUTPUT + OUTPUT)]), {"toolu_1"},
         "is not shorter"),
        ("a word of the user changed", edited(same, 0, content="What is there?"), set(), "text block differs"),
        ("a line lost and its child not linked again", same[:4] + same[5:], set(), "the roles differ"),
        ("a window that was full before", edited(same, -1, usage={"input_tokens": FULL_WINDOW, "output_tokens": 1}),
         set(), "compacts the compacted file again"),
        ("a summary", [*summed, {**tail[0], "parentUuid": "summary"}, *tail[1:]], set(), "after a summary"),
        ("a summary that the tail does not hang on", [*summed, *tail], set(), "the summary is not sent"),
        ("a summary and a broken tail", [*summed, {**tail[0], "parentUuid": "summary"}, *tail[1:2], *tail[3:]], set(),
         "FAILED"),
    ]


def run(job):
    """Findings about the check with one agent. `job` names the agent and the room."""
    found = pure()
    job.room.mkdir()
    original = job.room / "original.jsonl"
    original.write_bytes(lines(session()))
    job = replace(job, path=original)
    with Endpoint() as endpoint:
        try:
            base = check.baseline(job, endpoint)
        except check.Skip as why:
            return [f"the session of the self-test does not resume: {why}"]
        runs = {}
        for name, records, cleared, words in cases():
            made = Compacted(lines(records), cleared)
            if made.data not in runs:
                runs[made.data] = job.resume(made.data, endpoint, name)
            came = check.verdict(*check.judged(job, base, made, runs[made.data]))
            if words not in " ".join(came):
                found.append(f"{name}: expected `{words}`, came {came[0]}: {came[1]}")
    return found


def pure():
    """The judge on what no agent sends: they repair broken pairs before they send them."""
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Bash", "input": {}}]}
    answer = {"role": "user", "content": [result("a", "x")]}
    aside = {"role": "system", "content": []}
    table = [
        ([call, answer], []),
        ([call, aside, answer], []),
        ([call], ["call a has no result in the next message"]),
        ([answer], ["result a has no call in the message before"]),
        ([call, {"role": "user", "content": answer["content"] * 2}], ["a stands twice in a message"]),
    ]
    return [f"pairs of {messages}: {came}, not {expected}"
            for messages, expected in table if (came := judge.pairs({"messages": messages})) != expected]


def session():
    return [
        user("u1", None, "Which files are there?"),
        assistant("a1", "u1", "msg_1", {"type": "text", "text": "I look."}),
        assistant("a2", "a1", "msg_1", call("toolu_1", "ls -l")),
        user("r1", "a2", [result("toolu_1", OUTPUT)]),
        user("u2", "r1", "And what is in the notes?"),
        assistant("a3", "u2", "msg_2", call("toolu_2", "cat notes.txt")),
        user("r2", "a3", [result("toolu_2", "Twelve words.")]),
        assistant("a4", "r2", "msg_3", {"type": "text", "text": "Twelve words."}),
    ]


def user(uuid, parent, content, **more):
    return {"parentUuid": parent, "isSidechain": False, "type": "user", "uuid": uuid,
            "message": {"role": "user", "content": content}, **more}


def assistant(uuid, parent, message, block):
    return {"parentUuid": parent, "isSidechain": False, "type": "assistant", "uuid": uuid, "message": {
        "id": message, "type": "message", "role": "assistant", "model": "claude-opus-4-6", "content": [block],
        "stop_reason": None, "usage": {"input_tokens": 900, "output_tokens": 9}}}


def boundary():
    return {"parentUuid": None, "isSidechain": False, "type": "system", "subtype": "compact_boundary",
            "uuid": "boundary", "content": "Conversation compacted"}


def call(id, command):
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}


def result(id, content):
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def edited(records, at, **fields):
    """The records with other fields in one message."""
    records = list(records)
    records[at] = {**records[at], "message": {**records[at]["message"], **fields}}
    return records


def lines(records):
    """Minutes apart: an agent does not find a session without times, and a parent that is missing it replaces by a line
    of the five seconds before."""
    timed = ({**record, "timestamp": f"2026-01-01T10:{minute:02}:00.000Z"} for minute, record in enumerate(records))
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in timed)
