"""What agents that are installed from npm have in common: the installation, one run on a file, and the verdict on it.

Each agent has its own module, which says where a session lies, how it is resumed, and what it sends as messages with blocks.
"""

import json
import shutil
import subprocess

from . import agents, check, judge, sessions
from .endpoint import Endpoint
from .sessions import CannotCompact

NOWHERE = "http://127.0.0.1:9"
# Whatever an agent wants from its home ends here.
CUT_OFF = {"HTTPS_PROXY": NOWHERE, "HTTP_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"}


def install(agent, name, cache, command):
    """The command of an agent's pinned version (`agent.NAME`), installed below `cache` unless it is there already, and known to
    start. `command` says it, given the folder."""
    if name != agent.NAME:
        raise agents.CannotInstall(f"{name}: known is {agent.NAME}")
    folder = cache / name
    stamp = folder / "starts"
    if stamp.exists():
        return command(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    add(folder, f"{agent.PACKAGE}@{agent.VERSION}")
    said = agents.output([*command(folder), "--version"], agent.environment(folder, NOWHERE))
    if agent.VERSION not in said:
        raise agents.CannotInstall(f"{agent.PACKAGE} {agent.VERSION} says that it is {said[:200]}")
    stamp.touch()
    return command(folder)


def add(folder, package):
    agents.output([*agents.NPM_INSTALL, "--prefix", str(folder), package])


def verdict(agent, job, as_sent=lambda request: request):
    """The verdict on one file; `as_sent` is a request as it is judged."""
    job.room.mkdir()
    original = job.path.read_bytes()
    try:
        with Endpoint() as endpoint:
            if original not in job.baselines:
                job.baselines[original] = baseline(agent, job, endpoint, original, as_sent)
            before = job.baselines[original]
            data = compacted(job)
            done = agent.resume(job, data, endpoint, "compacted")
            return check.verdict(*agent.judged(before, original, data, done))
    except check.Skip as why:
        return "skipped", f"does not resume unmodified: {why}"
    except CannotCompact as why:
        return "FAILED", str(why)
    finally:
        shutil.rmtree(job.room, ignore_errors=True)


def compacted(job):
    """The bytes that are judged: a file that was named, or what ctxpack makes of the job's."""
    if job.compacted:
        return job.compacted.read_bytes()
    return sessions.compact(job.binary, job.path, job.room, job.flags, lambda *_: set()).data


def baseline(agent, job, endpoint, original, as_sent):
    """What the agent sends for the original."""
    done = agent.resume(job, original, endpoint, "original")
    request = judge.main_request(done.requests, agents.PROMPT)
    if done.returncode != 0 or request is None or len(done.requests) != 1:
        raise check.Skip(f"exit {done.returncode}, {len(done.requests)} requests: {done.said[:200]}")
    request = as_sent(request)
    if broken := judge.pairs(request):
        raise check.Skip(broken[0])
    return request


def judged(before, data, done, summary):
    """What came of a run of the compacted file: findings, and a note for when there are none. `summary`: the text of a new summary in
    it, and what the messages after that say; or None."""
    found = [] if done.prefix_kept else ["the agent changed the bytes of the compacted file"]
    if len(done.requests) != 1:
        return [*found, f"{len(done.requests)} requests, not 1: {done.said[:200]}"], ""
    after = judge.main_request(done.requests, agents.PROMPT)
    if done.returncode != 0 or after is None:
        return [*found, f"does not resume: exit {done.returncode}: {done.said[:200]}"], ""
    found += judge.pairs(after)
    was, now = judge.results(before), judge.results(after)
    cleared = {call for call in now if call in was and was[call] != now[call]}
    shown = f"{len(after['messages'])} messages, {len(now)} results"
    if summary:
        found += judge.summarised(before, after, set(), cleared, *summary)
        return found, f"{shown} after a summary"
    found += judge.same_messages(before, after, set(), cleared)
    return found, f"{shown}, {len(cleared)} cleared" if cleared else f"{shown}, all as they were"


def folders(job):
    """An empty HOME and an empty working directory, the same for every run of a file: their paths are in what the agent sends."""
    room = job.room / "run"
    shutil.rmtree(room, ignore_errors=True)
    home, cwd = room / "home", room / "work"
    home.mkdir(parents=True)
    cwd.mkdir()
    return home, cwd


def moved(data, record, cwd):
    """A session that belongs to the folder that this record of it names, as one of the folder `cwd`."""
    return data.replace(json.dumps(record.get("cwd")).encode(), json.dumps(str(cwd)).encode())


def once(job, command, cwd, env):
    """Runs the agent: its exit code, None if it does not end in time, and what it says."""
    try:
        done = subprocess.run(command, cwd=cwd, timeout=job.timeout, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", env=env)
        return done.returncode, (done.stdout + done.stderr).strip()
    except subprocess.TimeoutExpired:
        return None, f"no end within {job.timeout} s"


def keep(job, name, requests, data):
    """Keeps what was sent, and the session, where the user wants to look at them."""
    if job.keep:
        job.keep.mkdir(parents=True, exist_ok=True)
        (job.keep / f"{name}.json").write_text(json.dumps(requests, indent=1))
        (job.keep / f"{name}.session{job.path.suffix}").write_bytes(data)
