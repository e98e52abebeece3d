"""Codex rollouts with the real agent: the runs, and the verdict on what it sent.

The agent is asked to go on with the original (twice, to learn what varies by itself) and with the compacted file, each in
a HOME of its own with a provider on loopback. The header's provider must be the configured one, so it is renamed in what
the agent gets; no other byte is another one. What the agent tells a model about itself comes again after a compaction and
is not compared.
"""

import json
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass

from . import agents, judge, sessions
from .agents import CannotInstall
from .endpoint import Endpoint

PREFIX = "codex-"
PACKAGE = "@openai/codex"
# How Codex begins the request in which it compacts by itself.
ASKS_FOR_SUMMARY = "You are performing a CONTEXT CHECKPOINT COMPACTION"
# How messages begin that it writes in the user's name.
INJECTED = ("# AGENTS.md instructions", "<environment_context>", "<user_instructions>", "<skill>", "<turn_aborted>",
            "<subagent_notification>")
# What the agent changes in an item that it sends.
VARYING = ("id", "status", "internal_chat_message_metadata_passthrough", "metadata", "phase", "namespace")
CALLS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output",
         "local_shell_call": "function_call_output"}
OUTPUTS = set(CALLS.values())
CONFIG = """model_provider = "loop"
model = "gpt-5.1-codex"
check_for_update_on_startup = false
[model_providers.loop]
name = "loop"
base_url = "{url}/v1"
env_key = "LOOP_KEY"
wire_api = "responses"
[analytics]
enabled = false
"""


class Skip(Exception):
    """The agent does not resume the original: nothing can be said about the compacted file."""


def is_rollout(data):
    """Whether a file is a rollout: one of its first lines has an envelope, or is a bare item."""
    for record in list(sessions.records(b"\n".join(data.split(b"\n")[:20]))):
        if record.get("type") in ("session_meta", "response_item", "event_msg", "compacted"):
            return isinstance(record.get("payload"), dict)
        if record.get("record_type") == "state" or record.get("type") in ("message", *CALLS, *OUTPUTS):
            return True
    return False


def install(version, cache):
    """The command of a version, installed below `cache` unless it is there already, and known to start."""
    folder, number = cache / version, version.removeprefix(PREFIX)
    stamp = folder / "starts"
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        agents.output([*agents.NPM_INSTALL, "--prefix", str(folder), f"{PACKAGE}@{number}"])
        command = command_in(folder)
        if command is None:
            raise CannotInstall(f"{PACKAGE} {number}: no program for {platform.machine()}")
        said = agents.output([*command, "--version"], environment(folder))
        if number not in said:
            raise CannotInstall(f"{PACKAGE} {number} says that it is {said[:200]}")
        stamp.touch()
    return command_in(folder)


def command_in(folder):
    found = sorted((folder / "node_modules" / "@openai").glob("codex-*/vendor/*/bin/codex"))
    return [str(found[0])] if found else None


def environment(home):
    return {"HOME": str(home), "CODEX_HOME": str(home / "codex"), "PATH": "/usr/bin:/bin", "TERM": "dumb",
            "LOOP_KEY": "dummy"}


def resume(job, data, endpoint, name):
    """One run of the agent on these bytes."""
    room = job.room / "run"
    shutil.rmtree(room, ignore_errors=True)
    home, cwd = room / "home", room / "work"
    folder = home / "codex" / "sessions" / "2026" / "01" / "01"
    folder.mkdir(parents=True)
    cwd.mkdir(parents=True)
    (home / "codex" / "config.toml").write_text(CONFIG.format(url=endpoint.url))
    data = of_loop(data)
    session = session_of(data)
    file = folder / f"rollout-2026-01-01T00-00-00-{session}.jsonl"
    file.write_bytes(data)
    endpoint.take()
    try:
        done = subprocess.run([*job.command, "exec", "resume", "--skip-git-repo-check", session, agents.PROMPT], cwd=cwd,
                              timeout=job.timeout, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", env=environment(home))
        returncode, said = done.returncode, (done.stdout + done.stderr).strip()
    except subprocess.TimeoutExpired:
        returncode, said = None, f"no end within {job.timeout} s"
    done = agents.Resumed(endpoint.take(), returncode, said, file.read_bytes().startswith(data))
    if job.keep:
        job.keep.mkdir(parents=True, exist_ok=True)
        (job.keep / f"{name}.json").write_text(json.dumps(done.requests, indent=1))
        (job.keep / f"{name}.txt").write_text(f"exit {done.returncode}\n{done.said}\n")
    return done


def of_loop(data):
    """The rollout with the provider that the agent is configured for."""
    head, end, rest = data.partition(b"\n")
    return re.sub(rb'("model_provider"\s*:\s*)"[^"]*"', rb'\1"loop"', head) + end + rest


def session_of(data):
    for record in sessions.records(data.split(b"\n")[0]):
        named = record.get("payload", {}).get("id")
        if isinstance(named, str) and agents.UUID.match(named):
            return named
    return agents.ANY_SESSION


@dataclass
class Baseline:
    """What the agent sends for the original, whether it compacts it by itself, and what it sent first."""

    items: list
    compacts: bool
    whole: list


def run(job):
    """The verdict."""
    job.room.mkdir()
    try:
        with Endpoint() as endpoint:
            base = baseline(job, endpoint)
            original = job.path.read_bytes()
            if job.compacted:
                made = sessions.Compacted(job.compacted.read_bytes(), changed(original, job.compacted.read_bytes()))
            else:
                made = sessions.compact(job.binary, job.path, job.room, job.flags, cleared_calls)
            done = resume(job, made.data, endpoint, "compacted")
            if job.keep:
                (job.keep / "compacted.jsonl").write_bytes(made.data)
            return verdict(*judged(original, base, made, done))
    except Skip as why:
        return "skipped", f"does not resume unmodified: {why}"
    except sessions.CannotCompact as why:
        return "FAILED", str(why)
    finally:
        shutil.rmtree(job.room, ignore_errors=True)


def verdict(found, note):
    if not found:
        return "ok", note
    return "FAILED", found[0] + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")


def baseline(job, endpoint):
    data = job.path.read_bytes()
    first = resume(job, data, endpoint, "original")
    whole = said_in(first.requests[0]) if first.requests else []
    compacts = any(asks_for_summary(request) for request in first.requests)
    if compacts:
        # What the agent would have sent is what the compacted file is compared with.
        data = with_room(data)
        first = resume(job, data, endpoint, "original")
    sent = []
    for done in (first, resume(job, data, endpoint, "again")):
        items = main_items(done.requests)
        if done.returncode != 0 or items is None:
            raise Skip(f"exit {done.returncode}: {done.said[-200:]}")
        if not done.prefix_kept:
            raise Skip("the agent changed the bytes of the file")
        sent.append(items)
    if sent[0] != sent[1]:
        raise Skip("two runs of it send different items")
    return Baseline(sent[0], compacts, whole)


def with_room(data):
    """The rollout with a window that is nearly empty by the last count, which is never sent."""
    usage = {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0,
             "total_tokens": 1}
    info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}
    last = {"timestamp": "2026-01-02T00:00:00.000Z", "type": "event_msg",
            "payload": {"type": "token_count", "info": info, "rate_limits": None}}
    return data.rstrip(b"\n") + b"\n" + json.dumps(last).encode() + b"\n"


def judged(original, base, made, done):
    """What came of a run of the compacted file: findings, and a note for when there are none."""
    found = [] if done.prefix_kept else ["the agent changed the bytes of the compacted file"]
    if any(asks_for_summary(request) for request in done.requests):
        counted = last_count(original), last_count(made.data)
        if base.compacts and not judge.is_stale(*counted, base.whole, said_in(done.requests[0])):
            return found, "still so full that the agent compacts it, as it does the original"
        return [*found, "the agent compacts the compacted file again"], ""
    items = main_items(done.requests)
    if done.returncode != 0 or items is None:
        return [*found, f"does not resume: exit {done.returncode}: {done.said[-200:]}"], ""
    if len(done.requests) != 1:
        found.append(f"{len(done.requests)} requests, not 1")
    found += pairs(items)
    outputs = sum(item["type"] in OUTPUTS for item in items)
    shown = f"{len(items)} items, {outputs} outputs"
    kept = new_compaction(original, made.data)
    if kept is None:
        return found + same_items(base.items, items, made.cleared), f"{shown}, {len(made.cleared)} cleared"
    history, tail = kept
    return found + summarised(base.items, items, made.cleared, history, tail), f"{shown} after a summary"


def main_items(requests):
    """What is sent of the conversation with the prompt, without what the agent says of itself; None if nothing is."""
    for request in reversed(requests):
        items = said_in(request)
        if items and items[-1].get("role") == "user" and agents.PROMPT in text_of(items[-1]):
            return items
    return None


def said_in(request):
    """The items of the conversation in a request."""
    return [norm(item) for item in request.get("input", []) if is_said(item)]


def asks_for_summary(request):
    return any(ASKS_FOR_SUMMARY in text_of(item) for item in request.get("input", [])[-1:])


def is_said(item):
    """Whether an item is a part of the conversation, and not what the agent tells a model anyway."""
    if item.get("type", "message") != "message":
        return item.get("type") != "additional_tools"
    return item.get("role") != "developer" and not text_of(item).lstrip().startswith(INJECTED)


def norm(item):
    """An item without what the agent may change in it."""
    kept = {key: value for key, value in item.items() if key not in VARYING and value is not None}
    kept.setdefault("type", "message")
    parts = kept.get("content")
    if isinstance(parts, list):
        kept["content"] = [{key: part[key] for key in ("type", "text", "image_url") if key in part} for part in parts]
    return kept


def text_of(item):
    parts = item.get("content")
    return "".join(part.get("text") or "" for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ""


def pairs(items):
    """Findings: calls without their output, outputs without their call."""
    called = [item.get("call_id") for item in items if item["type"] in CALLS]
    answered = [item.get("call_id") for item in items if item["type"] in OUTPUTS]
    return ([f"call {call} has no output" for call in called if call not in answered]
            + [f"output {call} has no call" for call in answered if call not in called])


def same_items(before, after, cleared):
    """Findings: what differs between two requests and may not."""
    if len(before) != len(after):
        return [f"{len(after)} items, not {len(before)}"]
    found = []
    for at, (old, new) in enumerate(zip(before, after), 1):
        found += [f"item {at} of {len(before)}: {what}" for what in same_item(old, new, cleared)]
    return found


def same_item(old, new, cleared):
    if old == new:
        if old["type"] in OUTPUTS and old["call_id"] in cleared:
            return [f"the output of {old['call_id']} was cleared in the file and is sent whole"]
        return []
    if old["type"] != new["type"] or old["type"] not in OUTPUTS or {**old, "output": 0} != {**new, "output": 0}:
        return [f"a {old['type']} differs"]
    if old["call_id"] not in cleared:
        return [f"the output of {old['call_id']} differs and was not cleared"]
    if len(json.dumps(new["output"])) >= len(json.dumps(old["output"])):
        return [f"the output of {old['call_id']} differs and is not shorter"]
    return []


def summarised(before, after, cleared, history, tail):
    """Findings for a compaction: its history and what stands after it are sent, and nothing else is.

    What stands after it is the end of what was sent before, but for outputs that were cleared.
    """
    # A long output is shortened on its way, whether there is a summary or not.
    shown = {item["call_id"]: item for item in before if item["type"] in OUTPUTS and item["call_id"] not in cleared}
    wanted = [norm(item) for item in [*history, *tail] if is_said(item)]
    wanted = [shown.get(item["call_id"], item) if item["type"] in OUTPUTS else item for item in wanted]
    answered = {item["call_id"] for item in wanted if item["type"] in OUTPUTS}
    sent = after[:-1]
    made_up = [item for item in sent if item["type"] in OUTPUTS and item["call_id"] not in answered]
    sent = [item for item in sent if item not in made_up]
    found = []
    texts = [text_of(item) for item in sent if item.get("role") == "user"]
    # It is not the last one where some of what an earlier compaction kept stays.
    told = [text_of(item) for item in history if item.get("role") == "user" and is_said(item)]
    if any(text not in texts for text in told):
        found.append("the summary is not sent")
    if sent != wanted:
        at = next((i for i, (a, b) in enumerate(zip(sent, wanted)) if a != b), min(len(sent), len(wanted)))
        found.append(f"item {at + 1} of {len(sent)} is not that of the file, which has {len(wanted)}")
    kept = wanted[len(wanted) - sum(is_said(item) for item in tail):]
    was = [item for item in before[:-1] if item not in made_up][-len(kept):] if kept else []
    if len(was) != len(kept) or any(same_item(a, b, cleared) for a, b in zip(was, kept)):
        found.append("what stands after the summary is not the end of the original")
    return found


def items_of(data):
    """The compactions and items of a rollout, in order."""
    for record in sessions.records(data):
        payload = record.get("payload")
        if record.get("type") in ("compacted", "response_item") and isinstance(payload, dict):
            yield record["type"], payload


def new_compaction(original, compacted):
    """The history of the last compaction and the items after it, if the original has none such."""
    def last(data):
        found = None
        for kind, payload in items_of(data):
            if kind == "compacted" and isinstance(payload.get("replacement_history"), list):
                found = payload["replacement_history"], []
            elif found:
                found[1].append(payload)
        return found

    was, now = last(original), last(compacted)
    if now is None or was is not None and was[0] == now[0]:
        return None
    known = {"message", "reasoning", "web_search_call", *CALLS, *OUTPUTS}
    return now[0], [item for item in now[1] if item.get("type") in known]


def outputs_of(data):
    return {payload["call_id"]: payload["output"] for kind, payload in items_of(data) if payload.get("type") in OUTPUTS}


def changed(original, compacted):
    """The calls whose outputs differ."""
    was, now = outputs_of(original), outputs_of(compacted)
    return {call for call in was.keys() & now.keys() if was[call] != now[call]}


def cleared_calls(original, told):
    """The calls whose outputs the report says it replaced."""
    lines = original.split(b"\n")
    calls = set()
    for action in (action for conversation in told["conversations"] for action in conversation["actions"]):
        if action["kind"] not in ("drop", "summarize", "restore", "prune"):
            calls.add(json.loads(lines[action["line"] - 1]).get("payload", {}).get("call_id"))
    return calls


def last_count(data):
    """The tokens in the window by the last count of the file; 0 if it has none."""
    last = 0
    for record in sessions.records(data):
        payload = record.get("payload")
        if isinstance(payload, dict) and payload.get("type") == "token_count" and payload.get("info"):
            last = payload["info"].get("last_token_usage", {}).get("total_tokens") or 0
    return last
