"""Agents as the README documents them: each on the PATH by its own name, with a session where it keeps sessions.

Says of each how its HOME is set up, under which id its session is, what a compaction kept of it, and whether ctxpack forks it. Each is
started by the printed command and asked at its prompt, but for two that are given the question by the program on the PATH: Droid asks
its home who the user is before it opens a prompt, so that its `--resume ID` is handed to `droid exec -s ID`; opencode's `--session ID`
is handed to `opencode run --session ID`.
"""

import json
import re
import shlex
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Callable

from . import check, cline, copilot, droid, gemini, judge, kimi, live, opencode, qwen, sessions, turns
from .live import OFFLINE, SESSION, Room

# How long a first answer, or an import, may take, in seconds.
SETTING_UP = 120


@dataclass
class Documented:
    """One agent: its name on the PATH, how it is set up, and how its session is made, read and continued."""

    program: str
    furnish: Callable[..., Room]
    # Of a room: the bytes of the session.
    lines: Callable[[Room], bytes]
    # Of the original and the compacted bytes: the new summary and the texts that were kept; or None.
    kept: Callable[[bytes, bytes], tuple | None]
    # What the program on the PATH runs, of the agent's own command and a question; the words of its caller are "$@".
    runs: Callable[[str, str], str] = lambda command, _question: f'exec {command} "$@"'
    is_forked: bool = True
    # Whether it answers the question that `runs` gave it, and ends.
    ends: bool = False
    # Whether its sessions are files in a folder of its own, which `ctxpack sessions` lists.
    is_listed: bool = True
    # Whether it writes its file anew when it goes on: then nobody can tell what it was before.
    is_rewritten: bool = False
    # What it leaves running.
    end: Callable[[Path], None] = lambda _home: None


def folders(room):
    home, cwd = room / "home", room / "work"
    home.mkdir(parents=True)
    cwd.mkdir()
    return home, cwd


def pi_room(command, room, endpoint):
    made = live.pi_room(command, room, endpoint)
    folder = "--" + re.sub(r"[/\\:]", "-", str(made.cwd).lstrip("/")) + "--"
    file = room / "home" / ".pi" / "agent" / "sessions" / folder / f"2026-01-01T00-00-00-000Z_{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    return replace(made, file=file)


def pi_lines(room):
    """A session under this id."""
    head, end, rest = live.pi_lines(room.cwd).partition(b"\n")
    return json.dumps({**json.loads(head), "id": room.session}).encode() + end + rest


def copilot_room(_command, room, endpoint):
    home, cwd = folders(room)
    file = home / ".copilot" / "session-state" / SESSION / "events.jsonl"
    file.parent.mkdir(parents=True)
    (home / ".copilot" / "config.json").write_text(json.dumps({"trustedFolders": [str(cwd)]}))
    return Room(cwd, {**copilot.environment(home, endpoint.url), **OFFLINE}, file, [])


def gemini_room(_command, room, endpoint):
    home, cwd = folders(room)
    file = gemini.settled(home, cwd) / f"session-2026-01-01T00-00-{SESSION[:8]}.jsonl"
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps({str(cwd): "TRUST_FOLDER"}))
    # Without a name, it asks a model which model to take.
    env = {**gemini.environment(home, endpoint.url), **OFFLINE, "GEMINI_MODEL": "gemini-2.5-pro"}
    return Room(cwd, env, file, [])


def qwen_room(_command, room, endpoint):
    home, cwd = folders(room)
    return Room(cwd, {**qwen.environment(home, endpoint.url), **OFFLINE}, qwen.settled(home, cwd) / f"{SESSION}.jsonl", [])


def droid_room(_command, room, endpoint):
    home, cwd = folders(room)
    file = droid.settled(home, cwd, endpoint.url) / f"{SESSION}.jsonl"
    return Room(cwd, {**droid.environment(home, endpoint.url), **OFFLINE}, file, [])


def kimi_room(_command, room, endpoint):
    home, cwd = folders(room)
    session = f"session_{SESSION}"
    file = kimi.settled(home, cwd, endpoint.url, session, {"m"})
    trusted = home / ".kimi-code" / "workspace-trust" / kimi.workspace_of(cwd)
    trusted.parent.mkdir()
    trusted.write_text(json.dumps({"root": str(cwd), "trustedAt": 1}))
    return Room(cwd, {**kimi.environment(home, endpoint.url), **OFFLINE}, file, [], session)


def cline_room(command, room, endpoint):
    home, cwd = folders(room)
    env = {**cline.environment(home, endpoint.url), **OFFLINE}
    job = SimpleNamespace(command=command, timeout=SETTING_UP)
    file = cline.first_session(job, home, cwd, env, endpoint.url)
    if file is None:
        raise check.Skip("does not answer a first question")
    return Room(cwd, env, file, [], json.loads(file.read_bytes())["sessionId"])


def opencode_room(command, room, endpoint):
    """The session is in the agent's database, and in a file as the agent exports it."""
    home, cwd = folders(room)
    session = "ses_00000000000000000000000001"
    settings = home / ".config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    opencode.configure(settings, endpoint.url)
    made = Room(cwd, {**opencode.environment(home, endpoint.url), **OFFLINE}, cwd / "session.json", [], session)
    document = room / "session.json"
    document.write_bytes(turns.opencode(session, cwd))
    # Into a file: into a pipe, it writes no more than fits.
    program, file = shlex.join(command), shlex.quote(str(made.file))
    for line in (f"{program} import {shlex.quote(str(document))}", f"{program} export {session} > {file}"):
        done = subprocess.run(["/bin/sh", "-c", line], cwd=cwd, env=made.env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=SETTING_UP)
        if done.returncode != 0:
            raise check.Skip(f"{line}: exit {done.returncode}: {done.stderr.decode(errors='replace')[-200:]}")
    return made


def of_turns(write):
    return lambda room: write(room.session, room.cwd)


def kept_by(new_summary):
    """What was kept of a session of turns. What the summary replaced is no longer in the file, so that all that is there beside the
    summary was kept."""
    def kept(original, data):
        found = new_summary(original, data)
        if found is None:
            return None
        summary = judge.squeezed(found if isinstance(found, str) else found[0])
        try:
            records = [json.loads(data)]
        except ValueError:
            records = list(sessions.records(data))
        texts = (judge.squeezed(text) for text in live.strings(records))
        held = " ".join(text for text in texts if summary not in text)
        return summary, [said for turn in turns.turns() for said in turn.said if judge.squeezed(said) in held]
    return kept


def at_prompt(*flags):
    return lambda command, _question: f'exec {command} {shlex.join(flags)} "$@"'


def in_answer_to(option, *instead):
    """Runs the agent with other words in the place of an option, and with the question; refuses all that is not that option and an
    id, or one of the agent's own commands."""
    def runs(command, question):
        return (f'if [ "$1" != {option} ]; then exec {command} "$@"; fi\n[ $# = 2 ] || exit 64\n'
                f'exec {command} {shlex.join(instead)} "$2" {shlex.quote(question)}')
    return runs


AGENTS = {
    "claude-code": Documented("claude", live.claude_room, lambda room: live.claude_lines(room.cwd), live.claude_kept),
    # A terminal's keys are what is typed; the daemon of Codex would outlive it.
    "codex": Documented("codex", live.codex_room, lambda room: live.codex_lines(room.cwd), live.codex_kept,
                        at_prompt("--no-daemon")),
    "pi": Documented("pi", pi_room, pi_lines, live.pi_kept),
    "copilot": Documented("copilot", copilot_room, of_turns(turns.copilot), kept_by(copilot.new_summary), is_forked=False),
    "gemini": Documented("gemini", gemini_room, of_turns(turns.gemini), kept_by(gemini.new_summary)),
    "qwen": Documented("qwen", qwen_room, of_turns(turns.qwen), kept_by(qwen.new_summary)),
    "droid": Documented("droid", droid_room, of_turns(turns.droid), kept_by(droid.new_summary),
                        in_answer_to("--resume", "exec", "-m", "custom:m-0", "-s"), ends=True),
    "kimi": Documented("kimi", kimi_room, of_turns(turns.kimi), kept_by(kimi.new_summary), is_forked=False),
    "cline": Documented("cline", cline_room, of_turns(turns.cline), kept_by(cline.new_summary), is_forked=False,
                        is_rewritten=True, end=cline.end_daemon),
    "opencode": Documented("opencode", opencode_room, lambda room: room.file.read_bytes(), kept_by(opencode.new_summary),
                           in_answer_to("--session", "run", "--model", opencode.MODEL, "--session"), ends=True, is_listed=False),
}
