"""What the README tells people to type, typed: a session is compacted by its id, and continued by the printed command.

The agent is on the PATH by its own name, in a HOME of its own, and its session is where it keeps sessions. `ctxpack
sessions` must list it, `compact --in-place latest` and `compact --fork ID` must end with a command; that command is
given to a shell in a terminal, from another folder, and the agent is asked something. What it sends must hold the
summary and every kept message. `undo` must give the original back, and a fork must leave it as it was.
"""

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import replace

from . import check, judge, live, sessions
from .endpoint import Endpoint

NAMES = {"claude-code": "claude", "codex": "codex", "pi": "pi"}
# A terminal's keys are what the live check types; the daemon of Codex would outlive it.
FLAGS = {"claude-code": [], "codex": ["--no-daemon"], "pi": []}
CONTINUE = re.compile(r"^(?:forked to .*; )?continue: (.*)$", re.MULTILINE)
COMPACT = ["--summarize", "always", "--policy", "layered"]


def run(case, kind, binary):
    """The verdict on an agent; `case` is a live one without compactions."""
    case.room.mkdir(parents=True)
    try:
        with Endpoint() as endpoint:
            return check.verdict(*typed(case, kind, binary, endpoint))
    except (check.Skip, sessions.CannotCompact) as why:
        return "FAILED", str(why)
    finally:
        shutil.rmtree(case.room, ignore_errors=True)


def typed(case, kind, binary, endpoint):
    """Findings, and a note for when there are none."""
    room = case.agent.furnish(case.command, case.room, endpoint)
    file = home_of(kind, room)
    file.parent.mkdir(parents=True, exist_ok=True)
    original = case.agent.lines(room.cwd)
    session = live.SESSION
    if kind == "pi":
        original = with_id(original, session)
    file.write_bytes(original)
    room = replace(room, file=file, env=with_agent(case, kind, room))

    def ctxpack(*words):
        done = subprocess.run([str(binary), *words], cwd=room.cwd, env=room.env, capture_output=True, text=True,
                              timeout=300)
        if done.returncode != 0:
            why = f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
            raise sessions.CannotCompact(f"ctxpack {' '.join(words)}: {why}")
        return done

    listed = [one["id"] for one in json.loads(ctxpack("sessions", "--json").stdout)["sessions"]]
    if listed != [session]:
        return [f"listed are {listed}, not {session}"], ""
    lines = []
    for words in (["--in-place", "latest"], ["--fork", session]):
        before = file.read_bytes()
        said = ctxpack("compact", *words, *COMPACT).stderr
        if not (found := CONTINUE.search(said)):
            return [f"compact {words[0]} prints no command: {said[-200:]!r}"], ""
        line = found[1]
        lines.append(line)
        made = file if words[0] == "--in-place" else fork_of(file, session, line)
        if not made or not made.is_file():
            return [f"no file of the fork that {line!r} continues"], ""
        if wrong := continued(case, replace(room, file=made), endpoint, line, original):
            return [f"{line}: {what}" for what in wrong], ""
        if words[0] == "--in-place":
            ctxpack("undo", session, "--discard-appended")
            if file.read_bytes() != original:
                return ["undo does not give the original back"], ""
        elif file.read_bytes() != before:
            return ["the fork changed the original"], ""
    return [], "; ".join(shown(line, room.cwd) for line in lines)


def continued(case, room, endpoint, line, original):
    """Findings about what the agent sends when it is started by this line."""
    kept = case.agent.kept(original, room.file.read_bytes())
    if kept is None:
        return ["there is no summary in the compacted file"]
    elsewhere = replace(room, cwd=case.room, open=["/bin/sh", "-c", line])
    words = live.question(1)
    with live.opened(case, elsewhere) as terminal:
        asked = live.asked_for(live.ask(terminal, elsewhere, endpoint, words, case.timeout), words)
        live.leave(terminal)
    sent = judge.squeezed(" ".join(live.strings(asked.get("messages") or asked.get("input"))))
    summary, texts = kept
    lost = [text for text in [summary, *texts] if judge.squeezed(text) not in sent]
    return [f"{len(lost)} of {len(texts) + 1} texts are not sent: {lost[0][:60]!r}"] if lost else []


def home_of(kind, room):
    """Where the agent keeps the session."""
    if kind != "pi":
        return room.file
    folder = "--" + re.sub(r"[/\\:]", "-", str(room.cwd).lstrip("/")) + "--"
    sessions_of = room.file.parent / "home" / ".pi" / "agent" / "sessions"
    return sessions_of / folder / f"2026-01-01T00-00-00-000Z_{live.SESSION}.jsonl"


def with_id(data, session):
    """A pi session under this id."""
    head, end, rest = data.partition(b"\n")
    return json.dumps({**json.loads(head), "id": session}).encode() + end + rest


def with_agent(case, kind, room):
    """The environment, with the agent on the PATH."""
    programs = case.room / "bin"
    programs.mkdir()
    program = programs / NAMES[kind]
    words = shlex.join([str(word) for word in [*case.command, *FLAGS[kind]]])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    return {**room.env, "PATH": f"{programs}:{room.env['PATH']}"}


def fork_of(file, session, line):
    """The file of the session that a line continues."""
    forked = line.rsplit(" ", 1)[-1]
    return None if forked == session else file.with_name(file.name.replace(session, forked))


def shown(line, cwd):
    return line.replace(str(cwd), "…")
