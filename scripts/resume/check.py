"""One file with one agent: the runs, and the verdict on them.

A verdict is a pair: "ok", "FAILED" or "skipped" (the agent does not resume the original), and why.
"""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from . import agents, judge, sessions
from .endpoint import Endpoint
from .sessions import CannotCompact

# Everything that ctxpack holds for live and that can be cleared is cleared; nothing else happens.
CLEAR_ALL = ["--policy", "none", "--set", 'layers=["clear"]', "--set", "clear.tools=[]", "--set", "clear.keep=0",
             "--set", "clear.min_tokens=1", "--set", "clear.min_chars=0", "--set", "clear.placeholder=-"]
# Results up to this many characters may cost no more than their placeholder.
SMALL_CHARS = 12
# A result that the agent itself has moved to disk already: ctxpack leaves it as it is.
PERSISTED = "<persisted-output>"


@dataclass
class Job:
    """A file and an agent. `compacted`: judged instead of ctxpack's output with `flags`, if there is one."""

    binary: Path
    command: list
    path: Path
    compacted: Path | None
    flags: list
    window: bool
    room: Path
    keep: Path | None
    timeout: float
    # What is sent for originals that were resumed in the same room: several files may be judged against one.
    baselines: dict = field(default_factory=dict)

    def resume(self, data, endpoint, name):
        """One run of the agent on these bytes; its requests are kept under `name` if they shall be."""
        session = agents.session_of(self.path.read_bytes())
        done = agents.resume(self.command, data, session, self.room / "run", endpoint, self.timeout)
        if self.keep:
            self.keep.mkdir(parents=True, exist_ok=True)
            (self.keep / f"{name}.json").write_text(json.dumps(done.requests, indent=1))
            (self.keep / f"{name}.txt").write_text(f"exit {done.returncode}\n{done.said}\n")
        return done


@dataclass
class Baseline:
    """What the agent sends for the original: its request, what varies in it, whether it compacts by itself."""

    request: dict
    noise: set
    compacts: bool


class Skip(Exception):
    """The agent does not resume the original: nothing can be said about the compacted file."""


def run(job):
    """The verdict."""
    job.room.mkdir()
    try:
        with Endpoint() as endpoint:
            base = baseline(job, endpoint)
            if job.compacted:
                made = sessions.given(job.path.read_bytes(), job.compacted.read_bytes())
            else:
                made = sessions.compact(job.binary, job.path, job.room, job.flags)
            done = job.resume(made.data, endpoint, "compacted")
            if job.keep:
                (job.keep / "compacted.jsonl").write_bytes(made.data)
            return verdict(*judged(job, base, made, done))
    except Skip as why:
        return "skipped", f"does not resume unmodified: {why}"
    except CannotCompact as why:
        return "FAILED", str(why)
    finally:
        shutil.rmtree(job.room, ignore_errors=True)


def verdict(found, note):
    if not found:
        return "ok", note
    return "FAILED", found[0] + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")


def baseline(job, endpoint):
    """Two runs of the original."""
    data = job.path.read_bytes()
    first = job.resume(data, endpoint, "original")
    compacts = judge.summary_requests(first.requests) > 0
    if compacts:
        # What the agent would have sent is what the compacted file is compared with.
        data = sessions.with_room(data)
        first = job.resume(data, endpoint, "original")
    second = job.resume(data, endpoint, "again")
    requests = [judge.main_request(done.requests, agents.PROMPT) for done in (first, second)]
    for done, request in zip((first, second), requests):
        if done.returncode != 0 or request is None:
            raise Skip(f"exit {done.returncode}: {done.said[:200]}")
        if len(done.requests) != 1:
            raise Skip(f"{len(done.requests)} requests")
        if not done.prefix_kept:
            raise Skip("the agent changed the bytes of the file")
        if broken := judge.pairs(request):
            raise Skip(broken[0])
    noise = judge.varying(*requests)
    if noise is None:
        raise Skip("two runs of it send different messages")
    return Baseline(requests[0], noise, compacts)


def judged(job, base, made, done):
    """What came of a run of the compacted file: findings, and a note for when there are none."""
    original, before = job.path.read_bytes(), base.request
    found = [] if done.prefix_kept else ["the agent changed the bytes of the compacted file"]
    if judge.summary_requests(done.requests):
        # A window that is still too full may be compacted, but not by figures that say more than is left.
        recorded, now = sessions.last_usage(original), sessions.last_usage(made.data)
        stale = judge.is_stale(recorded, now, before["messages"], done.requests[0].get("messages"))
        if made.data != original and stale or not base.compacts:
            return [*found, "the agent compacts the compacted file again"], ""
        return found, "still so full that the agent compacts it, as it does the original"
    after = judge.main_request(done.requests, agents.PROMPT)
    if done.returncode != 0 or after is None:
        return [*found, f"does not resume: exit {done.returncode}: {done.said[:200]}"], ""
    if len(done.requests) != 1:
        found.append(f"{len(done.requests)} requests, not 1")
    if after.get("model") != before.get("model"):
        found.append(f"model {after.get('model')}, not {before.get('model')}")
    found += judge.pairs(after)
    sent = judge.results(before)
    shown = f"{len(after['messages'])} messages, {len(judge.results(after))} results"
    if summary := sessions.new_summary(original, made.data):
        found += judge.summarised(before, after, base.noise, made.cleared, *summary)
        return found, f"{shown} after a summary"
    found += judge.same_messages(before, after, base.noise, made.cleared)
    if job.window:
        found += window(sent, made.cleared, {block["tool_use_id"] for block in sessions.results(original)})
    changed = sum(sent.get(call) != block for call, block in judge.results(after).items())
    note = f"{shown}, {changed} cleared" if changed else f"{shown}, all as they were"
    unsent = made.cleared - sent.keys()
    return found, note + (f"; {len(unsent)} cleared results that are never sent" if unsent else "")


def window(sent, live, answered):
    """Findings: where the results that an agent sends are not those that ctxpack holds for live.

    `answered`: the calls that have a result in the file; the agent makes up results for the others.
    """
    found = []
    for call, block in sent.items():
        text = judge.content_text(block)
        if call in answered and call not in live and len(text) > SMALL_CHARS and not text.startswith(PERSISTED):
            found.append(f"the result of {call} is sent and ctxpack does not hold it for live")
    return found + [f"the result of {call} is live for ctxpack and not sent" for call in sorted(live - sent.keys())]
