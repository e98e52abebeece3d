"""Lets Factory Droid resume a session file, and judges what it sends: the same questions as for Claude Code.

Its own reminders are left out. Its home is the endpoint, too: it asks there who its user is, and goes on without an answer.
"""

import json
import sys

from . import agents, judge, npm, sessions

PACKAGE = "@factory/cli-linux-x64"
VERSION = "0.225.2"
NAME = f"droid-{VERSION}"
REMINDER = "<system-reminder>"


def is_session(data):
    """Whether the bytes are those of a session: the header comes first."""
    return next(sessions.records(data), {}).get("type") == "session_start"


def install(name, cache):
    """The command of the pinned version."""
    return npm.install(sys.modules[__name__], name, cache,
                       lambda folder: [str(folder / "node_modules" / PACKAGE / "bin" / "droid")])


def environment(home, url):
    return {**agents.environment(home, url), "FACTORY_API_KEY": "fk-dummy", "FACTORY_API_BASE_URL": url,
            "FACTORY_APP_BASE_URL": url, **npm.CUT_OFF}


def run(job):
    """The verdict on one file."""
    return npm.verdict(sys.modules[__name__], job)


def resume(job, data, endpoint, name):
    """One run of the agent on these bytes."""
    home, cwd = npm.folders(job)
    folder = settled(home, cwd, endpoint.url)
    # A session belongs to the folder that its header names, and to the file with its id.
    header = next(sessions.records(data), {})
    data = npm.moved(data, header, cwd)
    file = folder / f"{header.get('id')}.jsonl"
    file.write_bytes(data)
    endpoint.take()
    command = [*job.command, "exec", "-m", "custom:m-0", "-s", str(header.get("id")), agents.PROMPT]
    returncode, said = npm.once(job, command, cwd, environment(home, endpoint.url))
    requests = [plain(request) for request in endpoint.take()]
    resumed = agents.Resumed(requests, returncode, said, is_kept(data, file.read_bytes()))
    npm.keep(job, name, requests, data)
    return resumed


def settled(home, cwd, url):
    """Sets up a HOME of the agent; gives the folder of the sessions of this working directory."""
    folder = home / ".factory" / "sessions" / str(cwd).replace("/", "-")
    folder.mkdir(parents=True)
    model = {"model": "m", "displayName": "m", "id": "custom:m-0", "index": 0, "baseUrl": url, "apiKey": "dummy",
             "provider": "anthropic", "maxOutputTokens": 4000}
    settings = {"customModels": [model], "model": "custom:m-0"}
    (home / ".factory" / "settings.json").write_text(json.dumps(settings))
    return folder


def is_kept(data, after):
    """Whether the agent only appended. Where no prompt is left, it names the session after the next one, in the header."""
    (header, _, rest), (header_after, _, rest_after) = data.partition(b"\n"), after.partition(b"\n")
    was, now = json.loads(header), json.loads(header_after)
    return {**was, "title": now.get("title")} == now and rest_after.startswith(rest)


def plain(request):
    """A request as messages with blocks, without the agent's reminders and its marks for caches."""
    messages = []
    for message in request.get("messages", []):
        content = message["content"] if isinstance(message["content"], list) else [
            {"type": "text", "text": message["content"]}]
        found = [{key: value for key, value in one.items() if key != "cache_control"} for one in content
                 if not one.get("text", "").lstrip().startswith(REMINDER)]
        # The agent joins what the user says one after the other, so also a summary and what follows it.
        is_said = message["role"] == "user" and all(one["type"] == "text" for one in found)
        groups = [[one] for one in found] if is_said else [found]
        messages += [{"role": message["role"], "content": group} for group in groups if group]
    return {**request, "messages": messages}


def judged(before, original, data, done):
    """What came of a run of the compacted file: findings, and a note for when there are none."""
    return npm.judged(before, data, done, new_summary(original, data))


def new_summary(original, data):
    """The text of a summary that only the compacted file has, and what the messages after it say; or None."""
    known = {record.get("id") for record in sessions.records(original)}
    records = list(sessions.records(data))
    last = next((record for record in reversed(records) if record.get("type") == "compaction_state"), None)
    if last is None or last["id"] in known:
        return None
    messages = [record for record in records if record.get("type") == "message"]
    named = (last.get("anchorMessage") or {}).get("id")
    at = next((at for at, record in enumerate(messages) if record["id"] == named), -1)
    tail = [record["message"] for record in messages[at + 1:]]
    tail = [message for message in tail if message.get("visibility") != "user_only"]
    said = [[one for one in message["content"] if one["type"] in ("text", "tool_use")] for message in tail]
    return last["summaryText"], [{"role": "user", "content": blocks} for blocks in said if blocks]
