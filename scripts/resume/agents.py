"""Installs pinned versions of Claude Code and lets them resume a session file.

An agent runs in a folder of its own with a HOME and a working directory in it, an environment that holds nothing of
the caller's, and an endpoint on loopback.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "@anthropic-ai/claude-code"
NATIVE = "@anthropic-ai/claude-code-linux-x64"
# Install scripts would fetch what is no package; an optional dependency of PACKAGE holds the program itself.
NPM_INSTALL = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]
PROMPT = "say hi to the recorder"
# An id for files that name none that Claude Code would accept as a session's.
ANY_SESSION = "00000000-0000-4000-8000-000000000001"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


class CannotInstall(Exception):
    """No agent: nothing can be said about any file."""


def install(version, cache):
    """The command of one version, installed below `cache` unless it is there already, and known to start."""
    folder = cache / version
    stamp = folder / "starts"
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        output([*NPM_INSTALL, "--prefix", str(folder), f"{PACKAGE}@{version}"])
        command = command_in(folder)
        if command is None:
            raise CannotInstall(f"{PACKAGE} {version}: neither a program for this machine nor cli.js and a node")
        said = output([*command, "--version"], environment(folder, "http://127.0.0.1:9"))
        if not said.startswith(version):
            raise CannotInstall(f"{PACKAGE} {version} says that it is {said[:200]}")
        stamp.touch()
    return command_in(folder)


def output(command, env=None):
    """What a step of an installation prints: on which stream an agent names its version is its own affair."""
    name = " ".join(str(word) for word in command)
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(f"{name}: {error}") from error
    if done.returncode != 0:
        raise CannotInstall(f"{name}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return f"{done.stdout.strip()}\n{done.stderr.strip()}".strip()


def command_in(folder):
    native = folder / "node_modules" / NATIVE / "claude"
    script = folder / "node_modules" / PACKAGE / "cli.js"
    if native.exists():
        return [str(native)]
    if script.exists() and (node := shutil.which("node")):
        return [node, str(script)]
    return None


@dataclass
class Resumed:
    """What came of resuming one file."""

    requests: list
    returncode: int | None
    said: str
    prefix_kept: bool


def resume(command, data, session, room, endpoint, timeout):
    """Lets the agent resume the session file with the bytes `data`; `room` is emptied first.

    The same room for every run of a file: its path is in what the agent sends.
    """
    shutil.rmtree(room, ignore_errors=True)
    home, cwd = room / "home", room / "work"
    cwd.mkdir(parents=True)
    project = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))
    project.mkdir(parents=True)
    file = project / f"{session}.jsonl"
    file.write_bytes(data)
    endpoint.take()
    try:
        done = subprocess.run([*command, "-p", "--resume", session, PROMPT], cwd=cwd, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              env=environment(home, endpoint.url))
        returncode, said = done.returncode, (done.stdout + done.stderr).strip()
    except subprocess.TimeoutExpired:
        returncode, said = None, f"no end within {timeout} s"
    return Resumed(endpoint.take(), returncode, said, file.read_bytes().startswith(data))


def environment(home, url):
    return {
        "HOME": str(home), "PATH": os.defpath, "TERM": "dumb", "TMPDIR": str(home.parent),
        "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def session_of(data):
    """The id under which Claude Code would look for these bytes."""
    for line in reversed(data.splitlines()):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        session = record.get("sessionId") if isinstance(record, dict) else None
        if isinstance(session, str) and UUID.match(session):
            return session
    return ANY_SESSION
