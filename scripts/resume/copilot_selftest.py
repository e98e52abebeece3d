"""Shows that the check of Copilot's session logs can fail: a small one, compacted well and badly, resumed by the real agent."""

import json

from . import agents, check, copilot
from .endpoint import Endpoint
from .sessions import Compacted

OUTPUT = "-rw-r--r-- 1 user user 12 notes.txt\n" * 60
SUMMARY = "The user asked for the files of a folder and for the words in one of them."


def cases():
    """Name, compacted events, words of the verdict."""
    same = session()
    cleared = replaced(same, 3, result("call_1", "[cleared]"))
    # The question about the notes is event 5.
    summed = [*same[:5], *compaction(SUMMARY), *same[5:]]
    late = [*same[:5], compaction(SUMMARY)[0], *same[5:], compaction(SUMMARY)[1]]
    twice = replaced(summed, 7, user(SUMMARY + " And what is in the notes?"))
    failed = [*same[:5], *compaction(SUMMARY), *same[5:]]
    failed[6] = {**failed[6], "data": {"success": False, "summaryContent": SUMMARY}}
    return [
        ("the same bytes", same, "2 results"),
        ("a result cleared", cleared, "1 cleared"),
        ("a result that grew", replaced(same, 3, result("call_1", OUTPUT + OUTPUT)), "FAILED"),
        ("a word of the user changed", replaced(same, 1, user("What is there?")), "FAILED"),
        ("a result lost", [*same[:3], *same[4:]], "FAILED"),
        ("an answer lost with its call", [*same[:2], *same[4:]], "FAILED"),
        ("a summary before what stays", summed, "after a summary"),
        ("a summary that ends behind what stays", late, "after a summary"),
        ("a summary that keeps nothing", [*same, *compaction(SUMMARY)], "after a summary"),
        ("a summary that is said twice", twice, "FAILED"),
        ("a summary and a tail that is cut", [*summed[:8], *summed[10:]], "FAILED"),
        ("a compaction that failed", failed, "2 results"),
        ("no header", same[1:], "FAILED"),
    ]


def run(job):
    """Findings about the check. `job` names the agent and the room."""
    found = []
    job.room.mkdir()
    original = lines(session())
    with Endpoint() as endpoint:
        try:
            before, noise = copilot.baseline(job, endpoint, original)
        except check.Skip as why:
            return [f"the session of the self-test does not resume: {why}"]
        for name, events, words in cases():
            made = Compacted(lines(events), copilot.cleared(original, lines(events)))
            done = copilot.resume(job, made.data, endpoint, name)
            came = check.verdict(*copilot.judged(before, noise, original, made, done))
            if words not in " ".join(came):
                found.append(f"{name}: expected `{words}`, came {came[0]}: {came[1]}")
    return found


def session():
    header = {"type": "session.start", "data": {
        "sessionId": agents.ANY_SESSION, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102",
        "startTime": "2026-01-01T10:00:00.000Z", "context": {"cwd": "/tmp"}}}
    return [
        header,
        user("Which files are there?"),
        answer("", {"toolCallId": "call_1", "name": "bash", "arguments": {"command": "ls -l"}, "type": "function"}),
        result("call_1", OUTPUT),
        answer("One file."),
        user("And what is in the notes?"),
        answer("", {"toolCallId": "call_2", "name": "view", "arguments": {"path": "notes.txt"}, "type": "function"}),
        result("call_2", "Twelve words."),
        answer("Twelve words."),
    ]


def user(text):
    return {"type": "user.message", "data": {"content": text, "transformedContent": f"<date>today</date>\n\n{text}"}}


def answer(text, *calls):
    data = {"messageId": "00000000-0000-4000-8000-00000000000a", "model": "m", "content": text, "toolRequests": calls}
    return {"type": "assistant.message", "data": data}


def result(call, text):
    data = {"toolCallId": call, "model": "m", "success": True, "result": {"content": text, "detailedContent": text}}
    return {"type": "tool.execution_complete", "data": data}


def compaction(summary):
    return [{"type": "session.compaction_start", "data": {}},
            {"type": "session.compaction_complete", "data": {"success": True, "summaryContent": summary}}]


def replaced(events, at, event):
    """The events with another one at `at`."""
    return [*events[:at], event, *events[at + 1:]]


def lines(events):
    """The log: each event with its id and a link to the one before."""
    def key(at):
        return f"00000000-0000-4000-8000-{at:012x}"

    chained = [{**event, "id": key(at + 256), "timestamp": f"2026-01-01T10:{at:02}:00.000Z",
                "parentId": key(at + 255) if at else None} for at, event in enumerate(events)]
    return b"".join(json.dumps(event).encode() + b"\n" for event in chained)
