"""Lets GitHub Copilot CLI resume a session log, and judges what it sends: the same questions as for Claude Code.

Copilot speaks the Messages API to a provider of our own, so that the judge is the same. Its window has room for everything: it
counts by itself, and would otherwise compact what is large, compacted or not.
"""

import json
import re
import shutil
import subprocess

from . import agents, check, judge, sessions
from .endpoint import Endpoint
from .sessions import CannotCompact

PACKAGE = "@github/copilot-linux-x64"
NAME = "copilot-1.0.102"
# A window that nothing fills.
WIDE = 10_000_000
# When something was asked; this differs from run to run.
DATE = re.compile("<current_datetime>[^<]*</current_datetime> ?")
# What a command printed that the user ran.
RAN = re.compile("(?<=<user_shell_command_output>)(.*?)Output:.*?(?=</user_shell_command_output>)", re.DOTALL)
REMINDER = re.compile("<system_reminder>.*?</system_reminder>", re.DOTALL)
# The messages of the file, by the role with which they are sent.
SAID = ("user.message", "assistant.message", "system.notification", "skill.context_delivered")


def is_session(data):
    """Whether the bytes are those of a session log: its header comes first."""
    first = next(sessions.records(data), {})
    return first.get("type") == "session.start" and isinstance(first.get("data"), dict)


def install(name, cache):
    """The command of a pinned version, installed below `cache` unless it is there already, and known to start."""
    folder, version = cache / name, name.removeprefix("copilot-")
    stamp = folder / "starts"
    program = folder / "node_modules" / PACKAGE / "copilot"
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        agents.output([*agents.NPM_INSTALL, "--prefix", str(folder), f"{PACKAGE}@{version}"])
        if not program.exists():
            raise agents.CannotInstall(f"{PACKAGE} {version}: no program for this machine")
        said = agents.output([str(program), "--version"], environment(folder, "http://127.0.0.1:9"))
        if version not in said:
            raise agents.CannotInstall(f"{PACKAGE} {version} says that it is {said[:200]}")
        stamp.touch()
    return [str(program)]


def environment(home, url):
    return {**agents.environment(home, url), "COPILOT_HOME": str(home / ".copilot"), "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false", "COPILOT_PROVIDER_BASE_URL": url, "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_API_KEY": "dummy-key", "COPILOT_MODEL": "m",
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": str(WIDE)}


def run(job):
    """The verdict on one file."""
    job.room.mkdir()
    original = job.path.read_bytes()
    try:
        with Endpoint() as endpoint:
            before, noise = baseline(job, endpoint, original)
            data = job.compacted.read_bytes() if job.compacted else sessions.compact(
                job.binary, job.path, job.room, job.flags, lambda _original, _told: set()).data
            made = sessions.Compacted(data, cleared(original, data))
            done = resume(job, data, endpoint, "compacted")
            return check.verdict(*judged(before, noise, original, made, done))
    except check.Skip as why:
        return "skipped", f"does not resume unmodified: {why}"
    except CannotCompact as why:
        return "FAILED", str(why)
    finally:
        shutil.rmtree(job.room, ignore_errors=True)


def baseline(job, endpoint, original):
    """What the agent sends for the original, and the places in it that vary by themselves."""
    sent = []
    for name in ("original", "again"):
        done = resume(job, original, endpoint, name)
        request = judge.main_request(done.requests, agents.PROMPT)
        if done.returncode != 0 or request is None or len(done.requests) != 1:
            raise check.Skip(f"exit {done.returncode}, {len(done.requests)} requests: {done.said[-200:]}")
        sent.append(request)
    noise = judge.varying(*sent)
    if noise is None:
        raise check.Skip("two runs of it send different messages")
    return sent[0], noise


def resume(job, data, endpoint, name):
    """One run of the agent on these bytes."""
    room = job.room / "run"
    shutil.rmtree(room, ignore_errors=True)
    home, cwd = room / "home", room / "work"
    session = session_of(data)
    folder = home / ".copilot" / "session-state" / session
    cwd.mkdir(parents=True)
    folder.mkdir(parents=True)
    file = folder / "events.jsonl"
    file.write_bytes(data)
    endpoint.take()
    command = [*job.command, f"--resume={session}", "--model", "m", "--allow-all-tools", "-p", agents.PROMPT]
    try:
        done = subprocess.run(command, cwd=cwd, timeout=job.timeout, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", env=environment(home, endpoint.url))
        returncode, said = done.returncode, (done.stdout + done.stderr).strip()
    except subprocess.TimeoutExpired:
        returncode, said = None, f"no end within {job.timeout} s"
    resumed = agents.Resumed([plain(request) for request in endpoint.take()], returncode, said, file.read_bytes().startswith(data))
    if job.keep:
        job.keep.mkdir(parents=True, exist_ok=True)
        (job.keep / f"{name}.json").write_text(json.dumps(resumed.requests, indent=1))
        (job.keep / f"{name}.jsonl").write_bytes(data)
    return resumed


def plain(request):
    """A request with nothing of the outputs of what the user ran: they may be cleared, and have no id."""
    return {**request, "messages": [
        {**message, "content": [{**block, "text": RAN.sub("Output:", block["text"])} if block["type"] == "text" else block
                                for block in judge.blocks(message)]} for message in request.get("messages", [])]}


def session_of(data):
    named = next(sessions.records(data), {}).get("data", {}).get("sessionId", "")
    return named if agents.UUID.match(named) else agents.ANY_SESSION


def judged(before, noise, original, made, done):
    """What came of a run of the compacted file: findings, and a note for when there are none."""
    found = [] if done.prefix_kept else ["the agent changed the bytes of the compacted file"]
    if len(done.requests) != 1:
        return [*found, f"{len(done.requests)} requests, not 1: {done.said[-200:]}"], ""
    after = judge.main_request(done.requests, agents.PROMPT)
    if done.returncode != 0 or after is None:
        return [*found, f"does not resume: exit {done.returncode}: {done.said[-200:]}"], ""
    found += judge.pairs(after)
    shown = f"{len(after['messages'])} messages, {len(judge.results(after))} results"
    gone = made.cleared & judge.results(before).keys()
    if summary := new_summary(original, made.data):
        return found + summarised(before, after, gone, summary, original, made.data), f"{shown} after a summary"
    return found + judge.same_messages(before, after, noise, gone), f"{shown}, {len(gone)} cleared"


def summarised(before, after, gone, summary, original, data):
    """Findings for a compaction. Copilot joins messages of the user: its summary and what the user says next are one text."""
    found = []
    first, *others = after["messages"]
    text = "".join(judge.text_of(block) for block in judge.blocks(first))
    _, told, rest = text.partition(f"<summary>\n{summary}\n</summary>")
    if not told:
        found.append("the summary is not sent")
    if json.dumps(after["messages"]).count(json.dumps(summary)[1:-1]) > 1:
        found.append("the summary is sent more than once")
    # The skills that were in use are named again after the summary.
    rest = rest.rpartition("</invoked_skills>")[2]
    was = flat(before["messages"], gone)
    sent = flat([{"role": "user", "content": rest}, *others], gone)
    if not was.endswith(sent):
        found.append("what stands after the summary is not the end of the original")
    kept, said = list(names(tail(data))), list(names(messages(events(original))))
    if kept != said[len(said) - len(kept):]:
        found.append("the kept events are not the last ones of the original")
    if lost := [name for name in kept if name not in sent]:
        found.append(f"{len(lost)} of the kept events are not sent: {lost[0][:80]}")
    return found


def flat(messages, gone):
    """All that messages say in one text: results by their calls, and without what was cleared or the time of the question."""
    said = []
    for message in messages:
        for block in judge.blocks(message):
            if block["type"] == "tool_result":
                known = block["tool_use_id"] in gone
                said.append(f"{block['tool_use_id']} {'' if known else json.dumps(block.get('content'))}")
            else:
                said.append(block.get("id") or judge.text_of(block))
    # What the agent says last of its tools depends on what the history has announced.
    last = REMINDER.sub("", said[-1]) if said else ""
    return judge.squeezed(DATE.sub("", " ".join([*said[:-1], last])))


def names(messages):
    for message in messages:
        yield from (DATE.sub("", judge.name_of(block)) for block in message["content"])


def events(data):
    """The events of the main conversation."""
    return [event for event in sessions.records(data)
            if isinstance(event.get("data"), dict) and "agentId" not in event]


def results(data):
    """The content of each result in the file, by the id of its call."""
    return {sent_as(event["data"].get("toolCallId")): [(event["data"].get(of) or {}).get(key)
                                              for of, key in (("result", "content"), ("error", "message"))]
            for event in events(data) if event["type"] == "tool.execution_complete"}


def cleared(original, data):
    was, now = results(original), results(data)
    return {call for call in now if was.get(call) != now[call]}


def last_compaction(data):
    """The place of the compaction that counts, and of where it began, among the events."""
    found, begun = None, None
    said = events(data)
    for at, event in enumerate(said):
        if event["type"] == "session.compaction_start":
            begun = at
        elif event["type"] == "session.compaction_complete" and event["data"].get("success"):
            if event["data"].get("summaryContent"):
                found, begun = (at, at if begun is None else begun), None
    return said, found


def new_summary(original, data):
    """The summary of the compaction that counts, where the original does not have it."""
    def summary(of):
        said, found = last_compaction(of)
        return said[found[0]]["data"]["summaryContent"] if found else None

    return None if summary(data) == summary(original) else summary(data)


def tail(data):
    """The messages since the compaction that counts began."""
    said, (_, begun) = last_compaction(data)
    return messages(said[begun:])


def messages(said):
    return [{"content": list(blocks(event))} for event in said if event["type"] in SAID]


def blocks(event):
    text = event["data"].get("transformedContent") or event["data"].get("content")
    if text:
        yield {"type": "text", "text": text}
    for call in event["data"].get("toolRequests", []):
        yield {"type": "tool_use", "id": sent_as(call["toolCallId"])}


def sent_as(call):
    """The id of a call as it is sent: the agent marks custom tools in its own file only."""
    return (call or "").removeprefix("custom_")
