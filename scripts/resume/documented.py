"""What the README tells people to type, typed: a session is compacted by its id, and continued by the printed command.

The agent is on the PATH by its own name, in a HOME of its own, and its session is where it keeps sessions. `ctxpack
sessions` must list it, `compact --in-place latest` and `compact --fork ID` must end with a command; that command is
given to a shell, from another folder, and the agent is asked something. What it sends must hold the summary and every
kept message. `undo` must give the original back (of an agent that writes its file anew, before it has), and a fork must leave it as it was. Where there are no forks, `--fork`
must say so and change nothing. A session in a database is exported before and imported again, by the commands that
ctxpack prints.
"""

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import replace

from . import check, judge, live, rooms, sessions
from .endpoint import Endpoint

CONTINUE = re.compile(r"^(?:forked to .*; )?continue: (.*)$", re.MULTILINE)
REPLACE = re.compile(r"^(?:forked to .*; )?(?:replace the session in|take the new session into) opencode by `(.*)`, once; continue: (.*)$",
                     re.MULTILINE)
NOT_FORKED = "cannot be forked"
COMPACT = ["--summarize", "always", "--policy", "layered"]


def run(case, kind, binary):
    """The verdict on an agent; `case` names its command, a room and a time."""
    return verdict(case, rooms.AGENTS[kind], binary)


def verdict(case, agent, binary):
    case.room.mkdir(parents=True)
    try:
        with Endpoint() as endpoint:
            return check.verdict(*typed(case, agent, binary, endpoint))
    except (check.Skip, sessions.CannotCompact) as why:
        return "FAILED", str(why)
    finally:
        agent.end(case.room / "home")
        shutil.rmtree(case.room, ignore_errors=True)


def typed(case, agent, binary, endpoint):
    """Findings, and a note for when there are none."""
    room = agent.furnish(case.command, case.room, endpoint)
    file, session = room.file, room.session
    original = agent.lines(room)
    file.write_bytes(original)
    room = replace(room, env=with_agent(case, agent, room))

    def ctxpack(*words):
        return subprocess.run([str(binary), *words], cwd=room.cwd, env=room.env, capture_output=True, text=True, timeout=300)

    def well(*words):
        done = ctxpack(*words)
        if done.returncode != 0:
            why = f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
            raise sessions.CannotCompact(f"ctxpack {' '.join(words)}: {why}")
        return done

    listed = [one["id"] for one in json.loads(well("sessions", "--json").stdout)["sessions"]]
    if listed != ([session] if agent.is_listed else []):
        return [f"listed are {listed}, not {session}"], ""
    named, latest = (session, "latest") if agent.is_listed else (file.name, file.name)
    said = well("compact", "--in-place", latest, *COMPACT).stderr
    lines = commands(said, agent)
    if not lines:
        return [f"compact --in-place prints no command: {said[-200:]!r}"], ""
    if wrong := continued(case, agent, room, endpoint, lines, original):
        return [f"{lines[-1]}: {what}" for what in wrong], ""
    if agent.is_rewritten:
        if ctxpack("undo", named, "--discard-appended").returncode == 0:
            return ["undo gives an original back, although the agent has written the file anew"], ""
        file.write_bytes(original)
        well("compact", "--in-place", latest, *COMPACT)
    well("undo", named, "--discard-appended")
    if file.read_bytes() != original:
        return ["undo does not give the original back"], ""
    forked = ctxpack("compact", "--fork", named, *COMPACT)
    if file.read_bytes() != original:
        return ["the fork changed the original"], ""
    if not agent.is_forked:
        if forked.returncode == 0 or NOT_FORKED not in forked.stderr:
            return [f"--fork: exit {forked.returncode}: {forked.stderr[-200:]!r}"], ""
        lines.append("no forks")
    elif forked.returncode != 0 or not (found := commands(forked.stderr, agent)):
        return [f"compact --fork: exit {forked.returncode}, no command: {forked.stderr[-200:]!r}"], ""
    else:
        lines += found
        made = fork_of(file, session, found[-1], agent)
        if not made or not made.is_file():
            return [f"no file of the fork that {found[-1]!r} continues"], ""
        if wrong := continued(case, agent, replace(room, file=made), endpoint, found, original):
            return [f"{found[-1]}: {what}" for what in wrong], ""
    # An agent may note something about its other sessions, such as a title.
    if not file.read_bytes().startswith(original):
        return ["the agent of the fork changed the original"], ""
    return [], "; ".join(shown(line, room.cwd) for line in lines)


def commands(said, agent):
    """The commands that ctxpack prints, in their order; none if there are none."""
    found = (CONTINUE if agent.is_listed else REPLACE).search(said)
    return list(found.groups()) if found else []


def continued(case, agent, room, endpoint, lines, original):
    """Findings about what the agent sends when these lines are typed, one after the other."""
    kept = agent.kept(original, room.file.read_bytes())
    if kept is None:
        return ["there is no summary in the compacted file"]
    if not kept[1]:
        return ["nothing was kept, so nothing is checked"]
    elsewhere, words = replace(room, cwd=case.room), live.question(1)
    *first, last = lines
    for line in first:
        if wrong := ended(case, elsewhere, line):
            return [wrong]
    if agent.ends:
        endpoint.take()
        if wrong := ended(case, elsewhere, last):
            return [wrong]
        requests = endpoint.take()
    else:
        with live.opened(case, replace(elsewhere, open=["/bin/sh", "-c", last])) as terminal:
            requests = live.ask(terminal, elsewhere, endpoint, words, case.timeout)
            live.leave(terminal)
    asked = live.asked_for(requests, words)
    sent = next((asked[key] for key in ("messages", "input", "contents") if asked.get(key)), [])
    sent = judge.squeezed(" ".join(texts_of(sent)))
    summary, texts = kept
    lost = [text for text in [summary, *texts] if judge.squeezed(text) not in sent]
    return [f"{len(lost)} of {len(texts) + 1} texts are not sent: {lost[0][:60]!r}"] if lost else []


def texts_of(value):
    """All strings in a JSON value, and those in strings that are JSON themselves: some agents send results like that."""
    for text in live.strings(value):
        yield text
        if text.startswith(("[", "{")):
            try:
                yield from live.strings(json.loads(text))
            except ValueError:
                pass


def ended(case, room, line):
    """Why a line that is typed into a shell does not end well, if it does not."""
    try:
        done = subprocess.run(["/bin/sh", "-c", line], cwd=room.cwd, env=room.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=case.timeout)
    except subprocess.TimeoutExpired:
        return f"no end within {case.timeout} s"
    return f"exit {done.returncode}: {(done.stdout + done.stderr)[-200:]!r}" if done.returncode != 0 else None


def with_agent(case, agent, room):
    """The environment, with the agent on the PATH."""
    programs = case.room / "bin"
    programs.mkdir()
    program = programs / agent.program
    command = shlex.join([str(word) for word in case.command])
    program.write_text(f"#!/bin/sh\n{agent.runs(command, live.question(1))}\n")
    program.chmod(0o755)
    return {**room.env, "PATH": f"{programs}:{room.env['PATH']}"}


def fork_of(file, session, line, agent):
    """The file of the session that a line continues. Its name may hold only the beginning of the id; a document's is the id."""
    forked = line.rsplit(" ", 1)[-1]
    if forked == session:
        return None
    if not agent.is_listed:
        return file.with_name(f"{forked}.json")
    named = session if session in file.name else session[:8]
    return file.with_name(file.name.replace(named, forked))


def shown(line, cwd):
    return line.replace(str(cwd.parent), "…")
