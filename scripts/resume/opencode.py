"""Lets opencode import a session document and go on from it, and judges what it sends.

The agent keeps sessions in a database, so that each document is imported into a HOME of its own. Of a compacted document it sends its
question, the summary, and then what it had sent last of the original; without a summary, the same as of the original.
"""

import json
import os
import shutil
import sys

from . import agents, check, judge, npm
from .endpoint import Endpoint
from .sessions import CannotCompact

PACKAGE = "opencode-ai"
VERSION = "1.18.33"
NAME = f"opencode-{VERSION}"
QUESTION = "What did we do so far?"
MODEL = "loopback/model"


def is_session(data):
    """Whether the bytes are an exported session."""
    try:
        document = json.loads(data)
    except ValueError:
        return False
    return isinstance(document, dict) and "info" in document and isinstance(document.get("messages"), list)


def install(name, cache):
    """The command of the pinned version: a program for this machine, in a package of its own."""
    def command(folder):
        programs = sorted((folder / "node_modules").glob("opencode-*/bin/opencode"))
        programs = [path for path in programs if "baseline" not in str(path)] or programs
        if not programs:
            raise agents.CannotInstall(f"{PACKAGE} {VERSION}: no program for this machine")
        return [str(programs[0])]

    return npm.install(sys.modules[__name__], name, cache, command)


def environment(home, url):
    return {**agents.environment(home, url), "PATH": os.environ["PATH"], **npm.CUT_OFF, "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}


def run(job):
    """The verdict on one file."""
    job.room.mkdir()
    original = job.path.read_bytes()
    try:
        with Endpoint() as endpoint:
            if original not in job.baselines:
                job.baselines[original] = resume(job, original, endpoint, "original")
            before = job.baselines[original]
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
    """The request after an import of these bytes; None where there is not exactly one."""
    home, cwd = npm.folders(job)
    configure(cwd / "opencode.json", endpoint.url)
    file = home.parent / "session.json"
    file.write_bytes(data)
    session = json.loads(data)["info"]["id"]
    endpoint.take()
    for arguments in (["import", str(file)], ["run", "--session", session, "--model", MODEL, agents.PROMPT]):
        if npm.once(job, [*job.command, *arguments], cwd, environment(home, endpoint.url))[0] != 0:
            return None
    requests = [request for request in endpoint.take() if request.get("tools")]
    npm.keep(job, name, requests, data)
    return judge.main_request(requests, agents.PROMPT) if len(requests) == 1 else None


def configure(file, url):
    """Writes a configuration whose only model is the endpoint's."""
    provider = {"npm": "@ai-sdk/anthropic", "options": {"baseURL": f"{url}/v1", "apiKey": "dummy-key"},
                "models": {"model": {"name": "model", "limit": {"context": 200_000, "output": 8_000}}}}
    file.write_text(json.dumps({"provider": {"loopback": provider}, "model": MODEL, "small_model": MODEL, "share": "disabled",
                                "autoupdate": False}))


def judged(before, after, original, data):
    """Findings, and a note for when there are none."""
    found = judge.pairs(after)
    was, now = flat(before), flat(after)
    note = f"{len(after['messages'])} messages"
    if summary := new_summary(original, data):
        if [one.get("text") for one in now[:2]] != [QUESTION, summary]:
            found.append("the summary is not what it sends first")
        now = now[2:]
        was = was[len(was) - len(now):]
        note += " after a summary"
    differ, cleared = differences(was, now)
    return found + differ, f"{note}, {cleared} cleared" if cleared else note


def differences(was, now):
    """How blocks differ other than in results that became shorter, and how many of these there are."""
    found, cleared = [], 0
    if len(was) != len(now):
        found.append(f"{len(now)} blocks instead of {len(was)}")
    for old, new in zip(was, now):
        if old == new:
            continue
        is_result = old["type"] == new["type"] == "tool_result" and old["tool_use_id"] == new["tool_use_id"]
        if is_result and len(json.dumps(new)) < len(json.dumps(old)):
            cleared += 1
        else:
            found.append(f"another block: {json.dumps(new)[:150]}")
    return found, cleared


def flat(request):
    """The blocks of all messages; where the agent marks the end of what is cached says nothing about the session."""
    blocks = [block for message in request["messages"] for block in judge.blocks(message)]
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]


def new_summary(original, data):
    """The text of a summary that only the compacted document has, or None."""
    known = {message["info"]["id"] for message in json.loads(original)["messages"]}
    new = [message for message in json.loads(data)["messages"]
           if message["info"].get("summary") is True and message["info"]["id"] not in known]
    return new[-1]["parts"][0]["text"] if new else None
