"""Lets the programs that people read Claude Code sessions with read a compacted one.

`claude-code-log` must show what it showed, and the placeholders; `ccusage` must count what is left in the file. Neither
sees a HOME or a file but its own.
"""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict

from . import agents, judge, sessions

LOG = "claude-code-log==1.7.0"
USAGE = "ccusage@18.0.11"
# So many characters of a text must be shown; readers cut long ones.
SHOWN_CHARS = 40


class CannotRead(Exception):
    """A reader fails on this file."""


def install(cache):
    """The commands of both readers, installed below `cache` unless they are there already."""
    folder = cache / f"{LOG}-{USAGE}-{sys.version_info.major}.{sys.version_info.minor}"
    log, usage = folder / "venv" / "bin" / "claude-code-log", folder / "node_modules" / "ccusage" / "dist" / "index.js"
    stamp = folder / "installed"
    node = shutil.which("node")
    if node is None:
        raise agents.CannotInstall("there is no node")
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        agents.output([sys.executable, "-m", "venv", folder / "venv"])
        python = folder / "venv" / "bin" / "python"
        agents.output([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", LOG])
        agents.output([*agents.NPM_INSTALL, "--prefix", folder, USAGE])
        stamp.touch()
    return [str(log)], [node, str(usage)]


def run(command, args, cwd):
    """What a reader prints; its HOME is `cwd`."""
    environment = {"HOME": str(cwd), "PATH": os.defpath, "TERM": "dumb", "LANG": "C.UTF-8", "NO_COLOR": "1"}
    try:
        done = subprocess.run([*command, *args], cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=300)
    except subprocess.TimeoutExpired as error:
        raise CannotRead("no end within 300 s") from error
    if done.returncode != 0:
        raise CannotRead(f"exit {done.returncode}: {(done.stdout + done.stderr).strip()[-300:]}")
    return done.stdout


def shown(command, data, room):
    """The texts that claude-code-log shows, by the uuid of their line; it must make a page of them, too."""
    fresh(room)
    (room / "session.jsonl").write_bytes(data)
    for kind in ("html", "json"):
        run(command, ["session.jsonl", "-o", f"session.{kind}"], room)
    if not (room / "session.html").stat().st_size:
        raise CannotRead("an empty page")
    texts = defaultdict(str)
    collect(json.loads((room / "session.json").read_text())["messages"], None, texts)
    return texts


def collect(node, line, texts):
    if isinstance(node, dict):
        line = node.get("uuid", line)
        for value in node.values():
            collect(value, line, texts)
    elif isinstance(node, list):
        for value in node:
            collect(value, line, texts)
    elif isinstance(node, str) and line is not None:
        texts[line] += " " + judge.squeezed(node)


def shown_findings(before, after, original, compacted):
    """`before`, `after`: of `shown`."""
    was = {}
    for record in sessions.messages(original):
        was.setdefault(record.get("uuid"), []).append(record["message"])
    found, changed = [], 0
    for record in sessions.messages(compacted):
        line, message = record.get("uuid"), record["message"]
        if line is None:
            continue
        if line not in after and (line in before or line not in was):
            found.append(f"line {line} is {'no longer' if line in was else 'new and not'} shown")
        elif line in before and message not in was[line]:
            changed += 1
            known = [block for old in was[line] for block in judge.blocks(old)]
            for block in judge.blocks(message):
                text = judge.squeezed(judge.content_text(block))[:SHOWN_CHARS]
                if block not in known and block["type"] == "tool_result" and text not in after[line]:
                    found.append(f"line {line}: what stands for its output is not shown: {text}")
    return found, f"{len(after)} lines shown, {changed} changed"


def counted_findings(before, after, original, compacted):
    """`before`, `after`: of `counted`."""
    if bills(original) == bills(compacted):
        found = [f"{key}: {after[key]}, not {before[key]}" for key in before if after[key] != before[key]]
        return found, f"{after['totalTokens']} tokens, as before"
    found = [f"{key}: {after[key]}, more than {before[key]}" for key in before if after[key] > before[key]]
    return found, f"{after['totalTokens']} tokens of {before['totalTokens']}"


def counted(command, data, room):
    """The totals by ccusage's account, without costs: these are prices of the day."""
    fresh(room)
    project = room / ".claude" / "projects" / "project"
    project.mkdir(parents=True)
    (project / f"{agents.session_of(data)}.jsonl").write_bytes(data)
    told = json.loads(run(command, ["session", "--json", "--offline"], room))
    # A list, and an empty one, says that there is nothing to count.
    totals = told["totals"] if isinstance(told, dict) else {}
    return {key: totals.get(key, 0)
            for key in ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens", "totalTokens")}


def bills(data):
    """What a file holds that is counted: the answers of subagents too."""
    answers = (record for record in sessions.records(data) if isinstance(record.get("message"), dict))
    return sorted(json.dumps([record["message"].get("id"), record.get("requestId"), record["message"]["usage"]])
                  for record in answers if record["message"].get("usage"))


def fresh(room):
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir(parents=True)
