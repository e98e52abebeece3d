"""Lets Gemini CLI resume a session file, and judges what it sends: the same questions as for Claude Code.

What it sends is rewritten as messages with blocks, so that the judge is the same. Its own context at the beginning is left out, and of
results that it sends twice for the original, the second. A session that is one document stays as it is: the agent goes on in a file
of lines beside it.
"""

import json
import shutil
import sys

from . import agents, judge, npm, sessions

PACKAGE = "@google/gemini-cli"
VERSION = "0.61.0"
NAME = f"gemini-{VERSION}"
CONTEXT = "<session_context>"
SUMMARY = "ctxpack-summary-"


def is_session(data):
    """Whether the bytes are those of a session: the header comes first, or is around the messages of a document."""
    first = document(data) or next(sessions.records(data), {})
    return "sessionId" in first and "projectHash" in first


def document(data):
    """The session, if it is one document, as older versions of the agent wrote it."""
    try:
        whole = json.loads(data)
    except ValueError:
        return None
    return whole if isinstance(whole, dict) and whole.get("messages") else None


def install(name, cache):
    """The command of the pinned version."""
    return npm.install(sys.modules[__name__], name, cache, lambda folder: [
        shutil.which("node") or "node", str(folder / "node_modules" / PACKAGE / "bundle" / "gemini.js")])


def environment(home, url):
    return {**agents.environment(home, url), "GEMINI_API_KEY": "dummy-key", "GOOGLE_GEMINI_BASE_URL": url,
            **npm.CUT_OFF}


def run(job):
    """The verdict on one file."""
    return npm.verdict(sys.modules[__name__], job, once)


def resume(job, data, endpoint, name):
    """One run of the agent on these bytes."""
    home, cwd = npm.folders(job)
    chats = settled(home, cwd)
    suffix = "json" if document(data) else "jsonl"
    file = chats / f"session-2026-01-01T00-00-00000000.{suffix}"
    file.write_bytes(data)
    endpoint.take()
    command = [*job.command, "--yolo", "--skip-trust", "-m", "gemini-2.5-pro", "--resume", "latest", "-p", agents.PROMPT]
    returncode, said = npm.once(job, command, cwd, environment(home, endpoint.url))
    requests = [plain(request) for request in endpoint.take()]
    resumed = agents.Resumed(requests, returncode, said, file.read_bytes().startswith(data))
    npm.keep(job, name, requests, data)
    return resumed


def settled(home, cwd):
    """Sets up a HOME in which the agent has worked in this folder; gives the folder of the sessions."""
    project = home / ".gemini" / "tmp" / "work"
    (project / "chats").mkdir(parents=True)
    (project / ".project_root").write_text(str(cwd))
    (home / ".gemini" / "projects.json").write_text(json.dumps({"projects": {str(cwd): "work"}}))
    # Otherwise it deletes what was written long ago, by its own account, when another session is continued.
    general = {"enableAutoUpdate": False, "sessionRetention": {"enabled": False}}
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": general,
                "privacy": {"usageStatisticsEnabled": False}}
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    return project / "chats"


def plain(request):
    """A request as messages with blocks, without the agent's context."""
    messages = []
    for content in request.get("contents", []):
        found = [block(part) for part in content.get("parts", [])]
        found = [one for one in found if not judge.text_of(one).startswith(CONTEXT)]
        if found:
            role = "assistant" if content.get("role") == "model" else "user"
            messages.append({"role": role, "content": found})
    return {**request, "messages": messages}


def block(part):
    if call := part.get("functionCall"):
        return {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args")}
    if said := part.get("functionResponse"):
        return {"type": "tool_result", "tool_use_id": said.get("id"), "content": output(said.get("response"))}
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    return {"type": "other", "part": part}


def output(response):
    only = list(response.values()) if isinstance(response, dict) else []
    return only[0] if len(only) == 1 and isinstance(only[0], str) else json.dumps(response)


def once(request):
    """The request with each result once."""
    messages = []
    for message in request["messages"]:
        seen, kept = set(), []
        for one in message["content"]:
            call = one.get("tool_use_id")
            if call is None or call not in seen:
                kept.append(one)
            seen.add(call)
        messages.append({**message, "content": kept})
    return {**request, "messages": messages}


def judged(before, original, data, done):
    """What came of a run of the compacted file: findings, and a note for when there are none."""
    found = [] if done.prefix_kept else ["the agent changed the bytes of the compacted file"]
    if len(done.requests) != 1:
        return [*found, f"{len(done.requests)} requests, not 1: {done.said[:200]}"], ""
    sent = judge.main_request(done.requests, agents.PROMPT)
    if done.returncode != 0 or sent is None:
        return [*found, f"does not resume: exit {done.returncode}: {done.said[:200]}"], ""
    after = once(sent)
    found += judge.pairs(after)
    is_dropped = data != original and before_kept(data) is None
    if after != sent and is_dropped:
        found.append("a result is sent twice")
    was, now = judge.results(before), judge.results(after)
    cleared = {call for call in now if call in was and was[call] != now[call]}
    shown = f"{len(after['messages'])} messages, {len(now)} results"
    if summary := new_summary(original, data):
        found += judge.summarised(before, after, set(), cleared, *summary)
        return found, f"{shown} after a summary"
    found += judge.same_messages(before, after, set(), cleared)
    return found, f"{shown}, {len(cleared)} cleared" if cleared else f"{shown}, all as they were"


def before_kept(data):
    """A message of results that only repeats those of the answer before it; None where there is none."""
    answered = set()
    for message in live(data):
        parts = message.get("content") if isinstance(message.get("content"), list) else []
        calls = {part["functionResponse"].get("id") for part in parts if "functionResponse" in part}
        if message.get("type") == "user" and calls and calls <= answered:
            return message
        answered |= calls | {call.get("id") for call in message.get("toolCalls") or []}
    return None


def live(data):
    """The messages that the agent has when it has read the file."""
    if whole := document(data):
        return whole["messages"]
    found = {}
    for record in sessions.records(data):
        back = record.get("$rewindTo")
        if isinstance(back, str):
            ids = list(found)
            gone = ids[ids.index(back):] if back in found else ids
            found = {id: message for id, message in found.items() if id not in gone}
        elif isinstance(record.get("id"), str):
            found[record["id"]] = record
        elif isinstance(record.get("$set"), dict) and isinstance(record["$set"].get("messages"), list):
            found = {message["id"]: message for message in record["$set"]["messages"] if "id" in message}
    return list(found.values())


def new_summary(original, data):
    """The text of a summary that only the compacted file has, and what the messages after it say; or None."""
    messages = live(data)
    known = {message["id"] for message in live(original)}
    new = [at for at, message in enumerate(messages) if message["id"].startswith(SUMMARY) and message["id"] not in known]
    if not new:
        return None
    tail = []
    for message in messages[new[-1] + 1:]:
        content = message.get("content")
        parts = [{"text": content}] if isinstance(content, str) else content or []
        said = [block(part) for part in parts if part.get("text") and not part.get("thought") or "functionCall" in part]
        called = [{"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args")}
                  for call in message.get("toolCalls") or []]
        if message.get("type") in ("user", "gemini") and said + called:
            tail.append({"role": "user", "content": said + called})
    return messages[new[-1]]["content"], tail
