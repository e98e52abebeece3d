"""The rules of `turns` ("05, context management"), transcribed from its document.

Where the document is silent, the published code decides: a message's characters are its role and its content, which is
written as JSON if it is no string, in UTF-16 units, rounded up once; a turn begins with a message of the role `user`; a
line end follows the mark; a summary of nothing is a failure. The AI SDK's own pruning removes all reasoning, all calls
with their results, and what is empty then."""

from .host import Request
from .shapes import compact, parts, thinks, units

DEFAULTS = {"window.context": 64_000, "trigger.share": 0.75, "summary.too_large_share": 0.5, "summary.keep_turns": 6}
MARK = "[COMPACTED_CONTEXT]"
TOOLS = ("tool-call", "tool-result", "tool_use", "tool_result")


def count_as_written(messages):
    characters = 0
    for message in messages:
        content = message.get("content")
        characters += units(message["role"]) + units(content if isinstance(content, str) else compact(content))
    return -(-characters // 4)


def count(messages):
    """The same, but calls beside the content count like parts of one list with it."""
    characters = 0
    for message in messages:
        content, made = message.get("content"), message.get("tool_calls") or []
        shown = [content] if isinstance(content, str) else [compact(content)] if content is not None else []
        shown += [compact(call) for call in made]
        characters += units(message["role"]) + sum(map(units, shown)) + (1 + len(shown) if made else 0)
    return -(-characters // 4)


def turn(messages, host, keep):
    """Where the last `keep` turns begin; None where there are no older ones."""
    begins = [at for at, message in enumerate(messages) if host.begins_turn(message)]
    return begins[-keep] if len(begins) > keep else None


def pruned(messages, host):
    kept = []
    for at, message in enumerate(messages):
        message = dict(message)
        if not host.is_spared(messages, at):
            message.pop("tool_calls", None)
            if isinstance(message.get("content"), list):
                left = [p for p in parts(message) if not thinks(p) and not host.prunes(messages, at, p, TOOLS)]
                message["content"] = left
            if message["role"] == "tool" and "tool_call_id" in message and host.prunes(messages, at, message, TOOLS):
                continue
        if message.get("content") or message.get("tool_calls"):
            kept.append(message)
    return kept


def run(messages, host, keys):
    if not messages:
        return messages
    counted = host.counter(count_as_written, count, "calls count in every API")
    if not host.manual and counted(messages) < keys["window.context"] * keys["trigger.share"]:
        return messages
    at = turn(messages, host, keys["summary.keep_turns"])
    if at is None or at == 0:
        return messages
    summary = host.ask(messages, at, Request(prompt=None, max_tokens=None))
    if summary is None:
        left = pruned(messages, host)
        at = turn(left, host, keys["summary.keep_turns"])
        return host.cut(left, at if at is not None else 0, "last turns, pruned")
    text = host.marked(MARK, summary) if summary.startswith(MARK) else f"{MARK}\n{summary}"
    placed = host.place(messages, at, [{"role": "assistant", "content": text}], counted)
    if host.total(placed, counted) > keys["window.context"] * keys["summary.too_large_share"]:
        return host.cut(messages, at, "last turns")
    return placed
