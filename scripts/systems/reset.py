"""The rules of `reset` (learn-claude-code, s06), transcribed from its document.

The document shows all of its code. Later versions of the published code spare results of read_file, read the last 80 000
characters instead of the first, and answer the summary with nothing: the document wins."""

import json

from .host import NAME, Request
from .shapes import calls, results

DEFAULTS = {"trigger.tokens": 50_000, "clear.keep": 3, "clear.min_chars": 100, "summary.input_chars": 80_000}
PROMPT = ("Summarize this conversation for continuity. Include: 1) What was accomplished, 2) Current state, "
          "3) Key decisions made. Be concise but preserve critical details.")
ACKNOWLEDGEMENT = "Understood. I have the context from the summary. Continuing."


def count(messages):
    # A mark is one character of a name, and Python would print it as six.
    return len(str(messages).replace(repr(NAME)[1:-1], NAME)) // 4


def micro_compact(messages, host, keys):
    found = results(messages)
    if len(found) <= keys["clear.keep"]:
        return
    for result in found[:-keys["clear.keep"]] if keys["clear.keep"] else found:
        if isinstance(result.content, str) and len(result.content) > keys["clear.min_chars"]:
            host.replace(result, f"[Previous: used {result.tool}]", lambda text: len(text) // 4)


def manual(messages):
    """The messages up to the result of the last call of `compact`, with its focus; None without one."""
    answered = {result.id: result.at for result in results(messages)}
    for call in reversed(calls(messages)):
        if call.name == "compact" and call.id in answered:
            return answered[call.id] + 1, call.arguments.get("focus", "")
    return None


def run(messages, host, keys):
    micro_compact(messages, host, keys)
    total = count(messages)
    # The loop looks at the threshold first; the focus of an earlier call is still the last that was asked for.
    asked = manual(messages)
    is_due = host.manual or total > keys["trigger.tokens"]
    if not is_due and asked is None:
        return messages
    end = len(messages) if is_due else asked[0]
    focus = asked[1] if asked else ""
    at = host.last(messages, 0, end)
    path = host.archive(messages)
    text = json.dumps(host.counted(messages[:at]))[:keys["summary.input_chars"]]
    summary = host.ask(messages, at, Request(prompt=PROMPT, max_tokens=2_000, text=text, focus=focus))
    if summary is None:
        return messages
    first = {"role": "user", "content": f"[Conversation compressed. Transcript: {path}]\n\n{summary}"}
    return host.place(messages, at, [first, {"role": "assistant", "content": ACKNOWLEDGEMENT}], count)
