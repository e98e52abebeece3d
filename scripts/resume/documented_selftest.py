"""Shows that the check of what the README says can fail: a ctxpack that prints, keeps or lists something else.

Each is a program in the place of ctxpack that runs the real one and spoils one thing; the verdict must name it.
"""

import stat
import sys
from dataclasses import replace

from . import documented, rooms

SPOILT = """#!{python}
import json, pathlib, re, subprocess, sys
done = subprocess.run([{binary!r}, *sys.argv[1:]], capture_output=True, text=True)
words, out, err = sys.argv[1:], done.stdout, done.stderr
compacts, file = words[0] == "compact" and done.returncode == 0, pathlib.Path({file!r})
code = done.returncode
{spoil}
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""
# Name, what is spoilt, words of the verdict.
CASES = [
    ("nothing", "", "ok"),
    ("the command of another session", "err = re.sub('continue: .*', 'continue: true', err)", "FAILED"),
    ("no command", "err = err.replace('continue:', 'go on:')", "prints no command"),
    ("a session that is not listed", "out = out.replace('\"sessions\":[{', '\"sessions\":[], \"left_out\":[{')", "listed are"),
    ("an answer that was kept and leaves",
     "if compacts and '--in-place' in words: file.write_bytes(file.read_bytes().replace(b'Answer 8', b'Bnswer 8'))", "not sent"),
    ("an undo that leaves the file compacted",
     "if words[0] == 'undo': file.write_bytes(file.read_bytes() + b'\\n')", "undo does not"),
]
FORKED = [("a fork that touches the original",
           "if compacts and '--fork' in words: file.write_bytes(file.read_bytes() + b'\\n')", "changed the original")]
NOT_FORKED = [("a fork that is not refused", "if '--fork' in words: code = 0", "--fork: exit 0")]


def run(case, kind, binary):
    """Findings about the check. `case` names the agent's command and a room."""
    agent = rooms.AGENTS[kind]
    case.room.mkdir()
    found = []
    for number, (name, spoil, words) in enumerate(CASES + (FORKED if agent.is_forked else NOT_FORKED)):
        if "listed" in words and not agent.is_listed:
            continue
        program = case.room / f"ctxpack-{number}"
        here = replace(case, room=case.room / str(number))

        def furnish(*about, program=program, spoil=spoil):
            room = agent.furnish(*about)
            program.write_text(SPOILT.format(python=sys.executable, binary=str(binary), file=str(room.file), spoil=spoil))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            return room

        came = documented.verdict(here, replace(agent, furnish=furnish, kept=expecting(agent.kept, spoil)), program)
        if words not in " ".join(came):
            found.append(f"{name}: expected `{words}`, came {came[0]}: {came[1]}")
    return found


def expecting(kept, spoil):
    """What was kept, as it was before something was spoilt in the file."""
    if "Bnswer" not in spoil:
        return kept
    return lambda original, data: kept(original, data.replace(b"Bnswer 8", b"Answer 8"))
