"""Lets Cline resume a session document, and judges what it sends.

Cline goes on from a session only at a terminal (`--id`), so that one is opened for it. It finds the session by a manifest beside the
document, which its own run writes: each HOME begins with one question, whose document is then replaced. It writes the document anew
after each answer, so that the bytes are not compared afterwards, but the messages.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

from . import agents, check, judge, npm, opencode
from .endpoint import Endpoint
from .sessions import CannotCompact
from .terminal import CTRL_C, ENTER, Terminal

PACKAGE = "cline"
VERSION = "3.0.65"
NAME = f"cline-{VERSION}"
# How long a terminal shows nothing new before it is taken for ready, in seconds.
QUIET = 2
PAUSE = 1


def is_session(data):
    """Whether the bytes are a session document."""
    try:
        document = json.loads(data)
    except ValueError:
        return False
    return isinstance(document, dict) and "origin" in document and "sessionId" in document and bool(document.get("messages"))


def install(name, cache):
    """The command of the pinned version: a program for this machine, in a package of its own."""
    def command(folder):
        programs = sorted((folder / "node_modules" / "@cline").glob("cli-*/bin/cline"))
        if not programs:
            raise agents.CannotInstall(f"{PACKAGE} {VERSION}: no program for this machine")
        return [str(programs[0])]

    return npm.install(sys.modules[__name__], name, cache, command)


def environment(home, url):
    return {**agents.environment(home, url), "PATH": os.environ["PATH"], **npm.CUT_OFF, "CLINE_NO_AUTO_UPDATE": "1"}


def run(job):
    """The verdict on one file."""
    job.room.mkdir()
    original = job.path.read_bytes()
    try:
        with Endpoint() as endpoint:
            before = resume(job, original, endpoint, "original")
            if before is None or judge.pairs(before):
                return "skipped", "does not resume unmodified"
            data = npm.compacted(job)
            after = resume(job, data, endpoint, "compacted")
            if after is None:
                return "FAILED", "the compacted document is not resumed, or needs more than one request"
            return check.verdict(*judged(before, after, original, data))
    except CannotCompact as why:
        return "FAILED", str(why)
    finally:
        shutil.rmtree(job.room, ignore_errors=True)


def resume(job, data, endpoint, name):
    """The request after these bytes were resumed; None where there is not exactly one, or the document lost a message."""
    home, cwd = npm.folders(job)
    env = environment(home, endpoint.url)
    try:
        document = first_session(job, home, cwd, env, endpoint.url)
        if document is None:
            return None
        session = json.loads(document.read_bytes())["sessionId"]
        document.write_bytes(data)
        endpoint.take()
        with Terminal([*job.command, "--id", session], cwd, env) as terminal:
            if not until(lambda: terminal.is_quiet(QUIET), job.timeout):
                return None
            terminal.type(agents.PROMPT.encode())
            time.sleep(PAUSE)
            terminal.type(ENTER)
            until(lambda: has_answer(document, data), job.timeout)
            terminal.type(CTRL_C)
        requests = [as_blocks(request) for request in endpoint.take()]
    finally:
        end_daemon(home)
    npm.keep(job, name, requests, data)
    is_kept = texts(document.read_bytes())[:len(texts(data))] == texts(data)
    return judge.main_request(requests, agents.PROMPT) if len(requests) == 1 and is_kept else None


def first_session(job, home, cwd, env, url):
    """Signs in, and lets the agent answer a first question in this folder; gives the document of that session, if there is one."""
    sign_in = ["auth", "-p", "openai-compatible", "-k", "dummy-key", "-m", "model", "-b", f"{url}/v1"]
    for arguments in (sign_in, ["--json", "a first question"]):
        if npm.once(job, [*job.command, *arguments], cwd, env)[0] != 0:
            return None
    return next(home.rglob("*.messages.json"))


def until(is_so, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.2)
    return False


def has_answer(document, data):
    """Whether the document has two messages more than these bytes, and the program had the time to write it."""
    try:
        return len(json.loads(document.read_bytes())["messages"]) >= len(json.loads(data)["messages"]) + 2
    except ValueError:
        return False


def texts(data):
    """What the messages of a document say; a string is written anew as a list of one text."""
    said = [message["content"] for message in json.loads(data)["messages"]]
    return [[{"type": "text", "text": one}] if isinstance(one, str) else one for one in said]


def end_daemon(home):
    """Ends what the program has left running, and waits for that: it writes into this HOME."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in daemons(home):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        if until(lambda: not daemons(home), 5):
            return


def daemons(home):
    """The ids of the processes that have the folder of this HOME in their command."""
    said = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=False).stdout
    lines = (line.strip().partition(" ") for line in said.splitlines())
    return [int(pid) for pid, _, command in lines if "--cline-hub-daemon" in command and str(home.parent) in command]


def as_blocks(request):
    """A request of chat completions as messages with blocks."""
    messages = []
    for message in request.get("messages", []):
        if message["role"] == "system":
            continue
        if message["role"] == "tool":
            found = [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text(message["content"])}]
            messages.append({"role": "user", "content": found})
            continue
        found = [{"type": "text", "text": text(message["content"])}] if message.get("content") else []
        found += [{"type": "tool_use", "id": call["id"], "name": call["function"]["name"],
                   "input": json.loads(call["function"]["arguments"] or "{}")} for call in message.get("tool_calls") or []]
        messages.append({"role": message["role"], "content": found})
    return {**request, "messages": messages}


def text(content):
    return content if isinstance(content, str) else "\n".join(part.get("text", json.dumps(part)) for part in content)


def judged(before, after, original, data):
    """Findings, and a note for when there are none."""
    found = judge.pairs(after)
    was, now = opencode.flat(before), opencode.flat(after)
    note = f"{len(after['messages'])} messages"
    if summary := new_summary(original, data):
        if not now or now[0].get("text") != summary:
            found.append("the summary is not what it sends first")
        now = now[1:]
        was = was[len(was) - len(now):]
        note += " after a summary"
    differ, cleared = opencode.differences(was, now)
    return found + differ, f"{note}, {cleared} cleared" if cleared else note


def new_summary(original, data):
    """The text of a summary that only the compacted document has, or None."""
    known = {message.get("id") for message in json.loads(original)["messages"]}
    new = [message for message in json.loads(data)["messages"]
           if (message.get("metadata") or {}).get("kind") == "compaction_summary" and message.get("id") not in known]
    return new[-1]["content"] if new else None
