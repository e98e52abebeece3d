"""Shows that the check of agents from npm can fail: a fixture's compacted file, as it is and made bad, resumed by the real agent.

Every case names the words that the verdict must hold; an unexpected verdict is a finding about the check itself.
"""

from dataclasses import replace
from pathlib import Path

from . import droid, gemini, kimi, opencode, qwen

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"

# Of each agent: a fixture with a summary, what was said last, and what makes a record of it a summary. Each is in the compacted file.
AGENTS = {
    "gemini": (gemini, "gemini/auto-a-summary-is-a-list-before-kept-lines", b"All 400 tests pass.", b'"$set":{"messages"'),
    "qwen": (qwen, "qwen/auto-a-summary-is-a-compression-before-kept-records", b'"text":"The changelog has its line."',
             b'"chat_compression"'),
    "droid": (droid, "droid/auto-a-summary-is-a-compaction-that-names-what-it-covers", b"It is changed.",
              b'"compaction_state"'),
    "opencode": (opencode, "opencode/layered-a-summary-is-a-compaction-of-the-agent", b"All 60 tests pass now.",
                 b'"type":"compaction"'),
    "kimi": (kimi, "kimi/auto-a-summary-is-a-compaction-with-a-kept-end", b"It is changed.", b'"context.apply_compaction"'),
}
# A result that is kept. Of Factory Droid there is none: it writes the results of its edits anew.
KEPT_RESULTS = {"kimi": b"Replaced 1 occurrence."}


def cases(kind, data):
    """Name, compacted bytes, words of the verdict."""
    _, _, last, summary = AGENTS[kind]
    for needed in (last, summary):
        assert needed in data, f"{kind}: {needed} is not in the fixture"
    yield "as ctxpack wrote it", data, "ok"
    # Both are changed at their last letter or so: lengths stay, and so does the JSON.
    yield "another last word", data.replace(last, last[:-3] + b"x" + last[-2:]), "FAILED"
    yield "a summary that is none to the agent", data.replace(summary, summary[:-3] + b"x" + summary[-2:]), "FAILED"
    if result := KEPT_RESULTS.get(kind):
        yield "a kept result that grew", data.replace(result, result * 3), "FAILED"


def of(kind):
    """The self-test of an agent: findings about the check. Its job names the agent and the room."""
    agent, folder, *_ = AGENTS[kind]
    files = FIXTURES / folder

    def run(job):
        job.room.mkdir()
        original = next(files.glob("input.*"))
        data = next(path for path in files.glob("expected.json*")).read_bytes()
        found = []
        for number, (name, bad, words) in enumerate(cases(kind, data)):
            made = job.room / f"{number}{original.suffix}"
            made.write_bytes(bad)
            came = agent.run(replace(job, path=original, compacted=made, room=job.room / "run"))
            if words != came[0]:
                found.append(f"{name}: expected `{words}`, came {came[0]}: {came[1]}")
        return found

    return run
