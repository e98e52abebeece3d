"""Real sessions as lists of messages: OpenAI chats as they are, the live window of a Claude Code session by a small reader.

The reader walks from the last line to the root and joins the lines of one answer; what it cannot order is left out, and what has pictures: no document says what they count."""

import json

from .generate import FORMS, Case, aim_bpe, size_before_trigger
from .shapes import calls, compact, results


def cases(folder, preset, counter):
    for path in sorted(folder.rglob("*.jsonl")):
        for number, (form, messages) in enumerate(histories(path)):
            if form not in FORMS[preset] or not is_whole(messages):
                continue
            for name, part in (("over", 0.6), ("manual", 2.0)):
                case = Case(f"{preset}-{path.stem[:60]}-{number}-{name}", preset, form, messages, answers=["The work so far."] * 3)
                case.manual = name == "manual"
                set_trigger(case, part, counter)
                yield case


def set_trigger(case, part, counter):
    if case.preset == "offload-first":
        case.keys["off"] = 0
        aim_bpe(case, counter)
        case.keys = {key: int(value * part) for key, value in case.keys.items()}
        return
    total = int(size_before_trigger(case) * part)
    case.keys = {"layered": {"window.context": total + 29_384, "trigger.min_savings": 0, "restore.files": 0},
                 "reset": {"trigger.tokens": total}, "boundary": {"window.context": total + 29_000},
                 "turns": {"window.context": 4 * (total // 3 + 1), "summary.keep_turns": 2}}[case.preset]


def histories(path):
    lines = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            return
    if not lines or not all(isinstance(line, dict) for line in lines):
        return
    if all("messages" in line for line in lines):
        for line in lines:
            yield "openai", line["messages"]
    elif all(line.get("role") in ("system", "user", "assistant", "tool") for line in lines):
        yield "openai", lines
    elif any("parentUuid" in line for line in lines):
        yield "anthropic", live(lines)


def live(lines):
    chained = {line["uuid"]: line for line in lines if line.get("uuid") and not line.get("isSidechain")}
    leaf = next((line for line in reversed(lines) if line.get("uuid") in chained and line.get("type") in ("user", "assistant")), None)
    path = []
    while leaf is not None and leaf.get("subtype") != "compact_boundary":
        path.append(leaf)
        leaf = chained.get(leaf.get("parentUuid"))
    messages, last = [], None
    for line in reversed(path):
        message = line.get("message")
        if line.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            continue
        number = message.get("id")
        content = message["content"]
        if number and number == last and messages[-1]["role"] == "assistant":
            messages[-1]["content"] += content
        else:
            messages.append({"role": message["role"], "content": content})
        last = number
    return messages


def is_whole(messages):
    """Whether every call has one result and the reverse: what a branch tore apart is left out."""
    made, answered = [call.id for call in calls(messages)], [result.id for result in results(messages)]
    if '"type":"image"' in compact(messages) or '"image_url"' in compact(messages):
        return False
    return bool(messages) and sorted(made) == sorted(answered) and len(set(made)) == len(made)
