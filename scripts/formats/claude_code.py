"""Reads a Claude Code session as a list of steps, up to its first compaction. Nothing of this is shared with ctxpack's
readers.

A step is one of
  ("user", TEXT)
  ("agent", TEXT)
  ("call", ID, TOOL, INPUT)
  ("result", ID, TEXT, FAILED)
"""

import json
import re


def steps(text):
    """The steps of the main conversation."""
    found = []
    for entry in entries(text):
        if is_compaction(entry):
            break
        found += of_entry(entry)
    return answered(found)


# A summary with less on one of its sides says nothing.
FEWEST = 20


def around_summary(text):
    """The steps before the agent's own first summary, the summary, and the steps up to the next one; `None` without one. Paths below
    the working folder are relative, as the agent's summaries write them."""
    before, after, summary = [], [], None
    for entry in entries(text):
        if entry.get("isCompactSummary"):
            if summary is not None:
                break
            summary = "\n".join(block.get("text", "") for block in blocks(entry))
        elif summary is None:
            before += of_entry(entry)
        else:
            after += of_entry(entry)
    if summary is None or min(len(before), len(after)) < FEWEST:
        return None
    folders = sorted(set(re.findall(r'"cwd":"([^"]+)"', text)), key=len)

    def relative(value):
        if folders and isinstance(value, (tuple, list)):
            return type(value)(map(relative, value))
        if folders and isinstance(value, dict):
            return {key: relative(of) for key, of in value.items()}
        return value.replace(folders[0] + "/", "").replace(folders[0], ".") if folders and isinstance(value, str) else value

    return relative(answered(before)), relative(summary), relative(answered(after))


def entries(text):
    """The lines of the main conversation."""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and not entry.get("isSidechain") and not entry.get("isMeta"):
            yield entry


def is_compaction(entry):
    return entry.get("isCompactSummary") or entry.get("subtype") == "compact_boundary"


def blocks(entry):
    message = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return []
    content = message.get("content")
    whole = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return [block for block in whole if isinstance(block, dict)]


def of_entry(entry):
    steps_of = (of_block(entry["type"], block) for block in blocks(entry))
    return [step for step in steps_of if step]


def of_block(role, block):
    kind = block.get("type")
    if kind == "text" and block.get("text"):
        text = block["text"]
        # Notes and echoes of the agent's program are not the user's words.
        if role == "user" and (text.lstrip().startswith("<") or text.startswith("[Request interrupted")):
            return None
        return ("user" if role == "user" else "agent", text)
    if kind == "tool_use":
        return ("call", block["id"], block["name"], block["input"])
    if kind == "tool_result":
        content = block.get("content") or ""
        if not isinstance(content, str):
            content = "\n".join(part.get("text", "") for part in content if part.get("type") == "text" and part.get("text"))
        return ("result", block["tool_use_id"], content, bool(block.get("is_error")))
    return None


def answered(steps):
    """The steps with each result behind its call; those without their counterpart are left out."""
    results = {step[1]: step for step in steps if step[0] == "result"}
    ordered = []
    for step in steps:
        if step[0] == "call" and step[1] in results:
            ordered += [step, results[step[1]]]
        elif step[0] in ("user", "agent"):
            ordered.append(step)
    return ordered
