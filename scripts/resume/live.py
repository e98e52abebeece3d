"""Agents that are open at their prompt while their session is compacted in place.

An agent opens a session in a terminal and is asked something; the session is compacted; the agent is asked again, from
what it holds in memory; it ends; and it opens the session again. What it sends then must hold the summary, every
message that was kept, and what was said since; its model must be the session's; it must not compact again; and the
compacted bytes must still be there. A file that an agent holds open for writing must be left alone until the agent has
ended. Knows nothing of how a session is compacted: whoever calls says what does it.
"""

import json
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from . import agents, check, codex, codex_selftest, judge, pi, pi_selftest, selftest, sessions
from .endpoint import ANSWER, Endpoint
from .terminal import CTRL_C, ENTER, Terminal

PRESETS = ("auto", "layered", "offload-first", "reset", "boundary", "turns")
SESSION = "019a0000-7a1d-4e0c-8b5f-c0a570000001"
# Nothing goes out: what is not on loopback is refused.
OFFLINE = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}
TURNS = 9
OUTPUT = "".join(f"{at:03} -rw-r--r-- 1 user user 12 notes-{at}.txt\n" for at in range(60))
# How long a terminal shows nothing new before it is taken for ready, in seconds.
QUIET = 1.5
# Between what is typed and the key that sends it: both at once are taken for something pasted.
PAUSE = 0.7
# After how long that key is pressed again if nothing was sent, in seconds: an agent that has no processor for a while may lose it.
AGAIN = 5


@dataclass
class Room:
    """Where an agent runs: what it is started with, and the session's file."""

    cwd: Path
    env: dict
    file: Path
    open: list
    session: str = SESSION


@dataclass
class Agent:
    """One agent: how it is set up, and how its files and requests are read."""

    furnish: Callable[..., Room]
    lines: Callable[[Path], bytes]
    # Whether it has its file open for writing while it waits: then nobody else may replace it.
    holds_file: bool
    # Of the original and the compacted bytes: the new summary and the texts that were kept; or None.
    kept: Callable[[bytes, bytes], tuple | None]
    asks_for_summary: Callable[[dict], bool]


@dataclass
class Live:
    """One case: an agent, and what compacts its session before each question; it says what became of the file."""

    command: list
    agent: Agent
    room: Path
    timeout: float
    compactions: list = field(default_factory=list)


def run(live):
    """The verdict on a case."""
    live.room.mkdir(parents=True)
    try:
        with Endpoint() as endpoint:
            room = live.agent.furnish(live.command, live.room, endpoint)
            original = live.agent.lines(room.cwd)
            room.file.write_bytes(original)
            model, compacted, found = held_open(live, room, endpoint)
            since = [question(len(live.compactions)), ANSWER]
            note = f"model {model}"
            if live.agent.holds_file and not found:
                compacted, found = compact(live.compactions[-1], room.file, False, 1)
                since, note = [], f"{note}; left alone while open, compacted afterwards"
            if not found:
                found = resumed(live, room, endpoint, live.agent.kept(original, compacted), since, model)
            return check.verdict(found, note)
    except (check.Skip, sessions.CannotCompact) as why:
        return "FAILED", str(why)
    finally:
        shutil.rmtree(live.room, ignore_errors=True)


def held_open(live, room, endpoint):
    """The model of the session, the bytes of its last compaction, and findings."""
    with opened(live, room) as terminal:
        model = asked_for(ask(terminal, room, endpoint, question(0), live.timeout), question(0)).get("model")
        compacted = b""
        for number, how in enumerate(live.compactions, 1):
            compacted, found = compact(how, room.file, live.agent.holds_file, number)
            if found:
                return model, compacted, found
            ask(terminal, room, endpoint, question(number), live.timeout)
        leave(terminal)
    kept = room.file.read_bytes().startswith(compacted)
    return model, compacted, [] if kept else ["the open agent changed the compacted bytes"]


@contextmanager
def opened(live, room):
    with Terminal(room.open, room.cwd, room.env) as terminal:
        if not until(lambda: terminal.has_ended(0) or terminal.is_quiet(QUIET), live.timeout) or terminal.has_ended(0):
            raise check.Skip(f"does not open: {terminal.shown()[-300:]!r}")
        yield terminal


def leave(terminal):
    """The first key may only warn."""
    for _ in range(3):
        terminal.type(CTRL_C)
        if terminal.has_ended(1):
            return


def compact(how, file, is_held, number):
    """The bytes of the file now, and findings. A later compaction may have nothing to gain."""
    before = file.read_bytes()
    status = how(file)
    now = file.read_bytes()
    if is_held and now != before:
        return now, ["the session was compacted while the agent had it open for writing"]
    if is_held and status != "skipped":
        return now, [f"the session was left alone, and is said to be {status}"]
    if now == before and not is_held and (number == 1 or status != "unchanged"):
        return now, [f"the session was not compacted: {status}"]
    return now, []


def ask(terminal, room, endpoint, words, timeout):
    """Types a question and waits for the answer to be in the file; gives what was sent meanwhile."""
    endpoint.take()
    terminal.type(words.encode())
    time.sleep(PAUSE)
    terminal.type(ENTER)

    def is_answered():
        # Some agents write their file anew.
        _, found, after = room.file.read_bytes().partition(words.encode())
        return bool(found) and ANSWER.encode() in after

    end = time.monotonic() + timeout
    while not until(is_answered, AGAIN):
        if time.monotonic() >= end:
            raise check.Skip(f"no answer to {words!r}: {terminal.shown()[-300:]!r}")
        if not endpoint.has_kept(words):
            terminal.type(ENTER)
    until(lambda: terminal.is_quiet(QUIET), timeout)
    return endpoint.take()


def asked_for(requests, words):
    """The request that a question is answered by. A title may be asked for besides, with the question alone."""
    asked = [request for request in requests if words in json.dumps(request)]
    return max(asked, key=lambda request: len(json.dumps(request)), default={})


def resumed(live, room, endpoint, kept, since, model):
    """Findings about what the agent sends when it opens the session again."""
    if kept is None:
        return ["there is no summary in the compacted file"]
    data = room.file.read_bytes()
    last = question(len(live.compactions) + 1)
    with opened(live, room) as terminal:
        requests = ask(terminal, room, endpoint, last, live.timeout)
        leave(terminal)
    found = [] if room.file.read_bytes().startswith(data) else ["the resumed agent changed the bytes of the file"]
    if any(live.agent.asks_for_summary(request) for request in requests):
        return [*found, "the agent compacts the compacted session again"]
    asked = asked_for(requests, last)
    if asked.get("model") != model:
        found.append(f"model {asked.get('model')}, not the session's {model}")
    summary, texts = kept
    sent = judge.squeezed(" ".join(strings(asked.get("messages") or asked.get("input"))))
    if judge.squeezed(summary) not in sent:
        found.append("the summary is not sent")
    lost = [text for text in [*texts, *since] if judge.squeezed(text) not in sent]
    if lost:
        found.append(f"{len(lost)} of {len(texts) + len(since)} kept texts are not sent: {lost[0][:60]!r}")
    return found


def question(number):
    return f"live question {number} of the check"


def until(is_so, timeout):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.1)
    return False


def strings(value):
    """All strings in a JSON value."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(part)


def by_ctxpack(binary, preset, *flags):
    """Compacts a session in place, whatever its size; gives the status that is reported."""
    def compact_file(file):
        report = file.parent / "report.json"
        command = [binary, "compact", "--in-place", "--policy", preset, "--summarize", "always", "--overwrite",
                   "--report", report, "-q", *flags, file]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise sessions.CannotCompact(f"ctxpack: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        told = json.loads(report.read_text())["files"][0]
        why = told["error"] or next(iter(told["degraded"] + told["warnings"]), None)
        return f"{told['status']}: {why['message']}" if why and told["status"] == "unsupported" else told["status"]
    return compact_file


def claude_room(command, room, endpoint):
    home, cwd = room / "home", room / "work"
    cwd.mkdir()
    project = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))
    project.mkdir(parents=True)
    # As after the questions of the first start.
    trusted = {str(cwd): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}
    (home / ".claude.json").write_text(json.dumps({
        "hasCompletedOnboarding": True, "theme": "dark", "numStartups": 5, "projects": trusted,
        "customApiKeyResponses": {"approved": ["dummy-key"], "rejected": []}}))
    return Room(cwd, {**agents.environment(home, endpoint.url), **OFFLINE}, project / f"{SESSION}.jsonl",
                [*command, "--resume", SESSION])


def claude_lines(cwd):
    records, last = [], None

    def add(record):
        nonlocal last
        records.append({**record, "sessionId": SESSION, "cwd": str(cwd), "version": "2.1.112", "gitBranch": "main",
                        "userType": "external"})
        last = record["uuid"]

    for turn in range(TURNS):
        id = f"{turn:08x}-7a1d-4e0c-8b5f-c0a57000000"
        add(selftest.user(f"{id}1", last, f"Request {turn}: which files are there?"))
        add(selftest.assistant(f"{id}2", last, f"msg_{turn}a", selftest.call(f"toolu_{turn}", f"ls -l {turn}")))
        add(selftest.user(f"{id}3", last, [selftest.result(f"toolu_{turn}", f"{turn}\n{OUTPUT}")]))
        add(selftest.assistant(f"{id}4", last, f"msg_{turn}b", {"type": "text", "text": f"Answer {turn}: sixty."}))
    return selftest.lines(records)


def claude_kept(original, compacted):
    found = sessions.new_summary(original, compacted)
    return found and (found[0], [text for message in found[1] for text in said(message)])


def said(message):
    """The texts of a message, and those of the results in it."""
    for block in judge.blocks(message):
        yield from (text for text in (judge.text_of(block), judge.content_text(block)) if text)


def codex_room(command, room, endpoint):
    home, cwd = room / "home", room / "work"
    folder = home / "codex" / "sessions" / "2026" / "01" / "01"
    folder.mkdir(parents=True)
    cwd.mkdir()
    trusted = f'[projects."{cwd}"]\ntrust_level = "trusted"\n'
    (home / "codex" / "config.toml").write_text(codex.CONFIG.format(url=endpoint.url) + trusted)
    return Room(cwd, {**codex.environment(home), **OFFLINE}, folder / f"rollout-2026-01-01T00-00-00-{SESSION}.jsonl",
                [*command, "--no-daemon", "resume", SESSION])


def codex_lines(cwd):
    header, *_ = codex_selftest.rollout()
    header["payload"].update(cwd=str(cwd), id=SESSION)
    records = [header]
    for turn in range(TURNS):
        records += [
            codex_selftest.record("turn_context", {
                "cwd": str(cwd), "approval_policy": "never", "sandbox_policy": {"type": "read-only"},
                "model": "gpt-5.2-codex", "summary": "auto"}),
            codex_selftest.item(codex_selftest.message("user", f"Request {turn}: which files are there?")),
            codex_selftest.item(codex_selftest.call(f"call_{turn}")),
            codex_selftest.item(codex_selftest.output(f"call_{turn}", f"{turn}\n{OUTPUT}")),
            codex_selftest.item(codex_selftest.message("assistant", f"Answer {turn}: sixty.")),
        ]
    return codex.of_loop(codex_selftest.lines(records))


def codex_kept(original, compacted):
    found = codex.new_compaction(original, compacted)
    if not found or not found[0]:
        return None
    history, tail = found
    outputs = [text for item in tail for text in strings(item.get("output"))]
    texts = [codex.text_of(item) for item in [*history[:-1], *tail] if codex.is_said(item)]
    return codex.text_of(history[-1]), [text for text in [*texts, *outputs] if text]


def pi_room(command, room, endpoint):
    home, cwd = room / "home", room / "work"
    settings = home / ".pi" / "agent"
    settings.mkdir(parents=True)
    cwd.mkdir()
    models = [{"id": id, "input": ["text"], "contextWindow": pi.WIDE, "maxTokens": 8_000} for id in ("other", "m")]
    provider = {"baseUrl": endpoint.url, "api": "anthropic-messages", "apiKey": "dummy", "models": models}
    (settings / "models.json").write_text(json.dumps({"providers": {"loop": provider}}))
    (settings / "settings.json").write_text(json.dumps({"defaultProvider": "loop", "defaultModel": "other"}))
    file = room / "session.jsonl"
    env = {**agents.environment(home, endpoint.url), **OFFLINE, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
    return Room(cwd, env, file, [*command, "--session", file])


def pi_lines(cwd):
    header, *_ = pi_selftest.session()
    entries = [{**header, "cwd": str(cwd)},
               pi_selftest.entry(1, 0, "model_change", provider="loop", modelId="m")]
    for turn in range(TURNS):
        call = {"type": "toolCall", "id": f"call_{turn}", "name": "bash", "arguments": {"command": f"ls -l {turn}"}}
        for message in (pi_selftest.user(f"Request {turn}: which files are there?"), pi_selftest.assistant(call),
                        pi_selftest.result(f"call_{turn}", f"{turn}\n{OUTPUT}"),
                        pi_selftest.assistant({"type": "text", "text": f"Answer {turn}: sixty."})):
            at = len(entries)
            entries.append(pi_selftest.entry(at, at - 1, "message", message=message))
    return pi_selftest.lines(entries)


def pi_kept(original, compacted):
    summary = pi.new_summary(original, compacted)
    if summary is None:
        return None
    entries, at = pi.compaction(compacted)
    first = entries[at].get("firstKeptEntryId")
    start = next((n for n, entry in enumerate(entries) if entry.get("id") == first), at)
    tail = (entry["message"] for entry in entries[start:] if entry.get("type") == "message")
    return summary, [text for message in tail for text in said(message) if message.get("role") != "system"]


def claude_asks(request):
    return judge.summary_requests([request]) > 0


def pi_asks(request):
    return "context summarization" in json.dumps(request.get("system", ""))


AGENTS = {
    "claude-code": Agent(claude_room, claude_lines, False, claude_kept, claude_asks),
    "codex": Agent(codex_room, codex_lines, True, codex_kept, codex.asks_for_summary),
    "pi": Agent(pi_room, pi_lines, False, pi_kept, pi_asks),
}
