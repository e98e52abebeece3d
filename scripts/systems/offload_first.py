"""The rules of `offload-first` (the Synapse agent), transcribed from its document.

Where the document is silent, the published code decides: a token is one of cl100k_base, of each message as JSON; offloading
begins at 150 000 tokens, looks at the first half of the messages, and takes results of more than 50 characters."""

import math

from .host import Request
from .shapes import compact, results, units

DEFAULTS = {
    "offload.tokens": 150_000, "trigger.tokens": 150_000, "offload.share": 0.5, "offload.min_chars": 50,
    "trigger.offload_freed_below": 15_000, "summary.tokens": 8_000, "summary.keep_messages": 5, "summary.tries": 3,
}
REFERENCE = "Tool result is at:"
PROMPT = """Please provide a comprehensive summary of our conversation structured as follows:

## Technical Context
Development environment, tools, frameworks, and configurations in use.

## Project Overview
Main project goals, features, and scope. Key components and their relationships.

## Code Changes
Files created, modified, or analyzed. Specific implementations added.

## Debugging & Issues
Problems encountered, root causes, and solutions implemented.

## Current Status
What was just completed. Current state of the codebase.

## Pending Tasks
Immediate next steps and priorities. Known issues needing attention.

## User Preferences
Coding style, formatting, and workflow preferences observed.

## Key Decisions
Important technical decisions made and their rationale.

Focus on information essential for continuing effectively. Target length: approximately {targetTokens} tokens."""


def count_with(host):
    return lambda messages: sum(host.cl100k([compact(message) for message in messages]))


def offload(messages, host, keys):
    """Offloads old results; returns what that freed, or None below the threshold."""
    count = count_with(host)
    before = host.total(messages, count)
    if before < keys["offload.tokens"]:
        return None
    end = host.share(messages, keys["offload.share"])
    for result in results(messages):
        old = result.at < end and units(result.text) > keys["offload.min_chars"]
        if old and not result.text.lstrip().startswith(REFERENCE):
            host.offload(result, f"{REFERENCE} ", lambda text: host.cl100k([compact(text)])[0])
    return before - host.total(messages, count)


def restored(messages, host):
    for result in results(messages):
        if result.text.strip().startswith(REFERENCE):
            name = result.text.strip()[len(REFERENCE):].strip()
            content = host.load(name)
            result.put(f"[Content unavailable: {name}]" if content is None else content)
    return messages


def run(messages, host, keys):
    count = count_with(host)
    freed = offload(messages, host, keys)
    still_exceeds = count(messages) >= keys["trigger.tokens"] and freed is not None
    if not host.manual and not (still_exceeds and host.freed_little(freed, keys["trigger.offload_freed_below"])):
        return messages
    if len(host.counted(messages)) <= keys["summary.keep_messages"]:
        return messages
    at = host.last(messages, keys["summary.keep_messages"])
    target = keys["summary.tokens"]
    request = Request(prompt=PROMPT.replace("{targetTokens}", str(target)), max_tokens=math.ceil(target * 1.2),
                      sent=restored(host.copy(host.counted(messages[:at])), host), tries=keys["summary.tries"], by_system=True)
    summary = host.ask(messages, at, request)
    if summary is None:
        return messages
    return host.place(messages, at, [{"role": "user", "content": f"[Compressed History]\n\n{summary}"}], count)
