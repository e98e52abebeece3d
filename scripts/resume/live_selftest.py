"""Shows that the live check can fail: sessions below an open agent, compacted by hand, well and badly."""

import json

from . import live, selftest, sessions
from .live import SESSION

SUMMARY = "The user asked nine times for the files of a folder, and there were sixty each time."


def cases(kind):
    """Name, what compacts, words of the verdict."""
    return {
        "claude-code": [("all in a summary of the last line's id", claude(True), "ok"),
                        ("all in a summary of an id of its own", claude(False), "the summary is not sent")],
        "codex": [("all in a summary, behind the agent's back", codex(""), "open for writing"),
                  ("all in a summary, afterwards", held(codex("")), "ok"),
                  ("a summary that Codex passes over", held(codex(None)), "not sent")],
        "pi": [("a compaction before what stays", pi(True), "ok"),
               ("a compaction that an open agent goes past", pi(False), "not sent")],
    }[kind] + [("nothing", lambda file: "unchanged", "is said to be" if kind == "codex" else "was not compacted")]


def run(job, kind):
    """Findings about the check. `job` names the agent and the room."""
    found = []
    for name, compact, words in cases(kind):
        case = live.Live(job.command, live.AGENTS[kind], job.room / name.replace(" ", "-"), job.timeout, [compact])
        came = live.run(case)
        if words not in " ".join(came):
            found.append(f"{name}: expected `{words}`, came {came[0]}: {came[1]}")
    return found


def written(file, records):
    file.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    return "compacted"


def held(compact):
    """Leaves the file alone once, as long as the agent holds it."""
    times = iter(("skipped",))
    return lambda file: next(times, None) or compact(file)


def claude(is_last_id):
    def compact(file):
        chained = [record for record in sessions.records(file.read_bytes()) if record.get("uuid")]
        answer = next(record for record in reversed(chained) if record["type"] == "assistant")
        own = {"sessionId": SESSION, "cwd": answer["cwd"], "version": "2.1.112", "timestamp": chained[-1]["timestamp"]}
        id = chained[-1]["uuid"] if is_last_id else "0000000f-7a1d-4e0c-8b5f-c0a57000000f"
        return written(file, [
            {**answer, "uuid": "answer", "parentUuid": None, "message": {**answer["message"], "content": []}},
            {**selftest.boundary(), **own, "parentUuid": "answer"},
            {**selftest.user(id, "boundary", SUMMARY, isCompactSummary=True), **own}])
    return compact


def codex(message):
    def compact(file):
        records = list(sessions.records(file.read_bytes()))
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": SUMMARY}]}
        payload = {"message": message, "replacement_history": [item]}
        # The last context names the model.
        context = next(record for record in reversed(records) if record["type"] == "turn_context")
        return written(file, [records[0], context, {"timestamp": "2026-01-02T00:00:00.000Z", "type": "compacted",
                                           "payload": payload}])
    return compact


def pi(is_before):
    def compact(file):
        header, *entries = sessions.records(file.read_bytes())
        at = len(entries) - 1
        kept = entries[at]
        summary = {"type": "compaction", "id": "0000ffff", "timestamp": kept["timestamp"], "summary": SUMMARY,
                   "firstKeptEntryId": kept["id"], "tokensBefore": 9}
        if is_before:
            rest = [{**summary, "parentId": kept["parentId"]}, {**kept, "parentId": summary["id"]}]
        else:
            rest = [kept, {**summary, "parentId": kept["id"]}]
        return written(file, [header, *entries[:at], *rest])
    return compact
