"""The rules of `layered` (v5, "context compaction"), transcribed from its document.

The document shows code; where it is silent, this is how it is read:
  a message's tokens    its text: words, reasoning, calls with their inputs, results ("estimate_tokens(text: str)"); the
                        published code counts the message's JSON
  a list as a result    the published code clears strings alone
  the model's limits    the document sets none
Each layer runs once, as before one request of the agent."""

from .host import Request
from .shapes import calls, results, texts

DEFAULTS = {
    "window.context": 200_000, "window.max_output": 16_384, "trigger.min_savings": 20_000, "summary.keep_messages": 5,
    "clear.keep": 3, "clear.min_tokens": 1_000, "demote.min_tokens": 40_000, "demote.preview_chars": 2_000,
    "restore.files": 5, "restore.tokens_per_file": 5_000, "restore.tokens_total": 50_000,
}
COMPACTABLE = {"bash", "read_file", "write_file", "edit_file"}
CLEARED = "[Output compacted - re-read if needed]"
PROMPT = "Summarize this conversation chronologically: goals, actions, decisions, current state..."
ACKNOWLEDGEMENT = "Understood. Continuing with compressed context."


def estimate(text):
    return len(text) // 4


def tokens(message):
    return estimate("".join(texts([message])))


def count(messages):
    return sum(tokens(message) for message in messages)


def threshold(keys):
    return keys["window.context"] - min(keys["window.max_output"], 20_000) - 13_000


def should_compact(messages, host, keys):
    if count(messages) <= threshold(keys):
        return False
    return savings(messages, host, keys) >= keys["trigger.min_savings"]


def savings(messages, host, keys):
    counted = host.counted(messages)
    return count(counted) - count(counted[-keys["summary.keep_messages"]:])


def handle_output(result, host, keys):
    if estimate(result.text) > keys["demote.min_tokens"]:
        path = host.save(result.text)
        preview = result.text[:keys["demote.preview_chars"]]
        host.replace(result, f"Output too large. Saved to: {path}\nPreview:\n{preview}...", estimate)


def microcompact(messages, host, keys):
    found = [result for result in results(messages) if host.is_of(result.tool, COMPACTABLE)]
    for result in found[:-keys["clear.keep"]] if keys["clear.keep"] else found:
        if host.clears(result) and estimate(result.text) > keys["clear.min_tokens"]:
            host.replace(result, CLEARED, estimate)


def restore_recent_files(messages, host, keys):
    """The files read last, the newest first: (path, content, whether it was cut)."""
    files, total = {}, 0
    for call in reversed(calls(messages)):
        path = call.arguments.get("path") if call.name == "read_file" else None
        if path is None or path in files:
            continue
        if len(files) == keys["restore.files"] or total >= keys["restore.tokens_total"]:
            break
        content = host.read(path)
        if content is None:
            continue
        # All that counts no more than the limit.
        most = 4 * min(keys["restore.tokens_per_file"], keys["restore.tokens_total"] - total) + 3
        files[path] = (path, content[:most], len(content) > most)
        total += estimate(files[path][1])
    return list(files.values())


def run(messages, host, keys):
    files = restore_recent_files(messages, host, keys)
    for result in results(messages):
        handle_output(result, host, keys)
    microcompact(messages, host, keys)
    if not host.manual and not should_compact(messages, host, keys):
        return messages
    host.archive(messages)
    at = host.last(messages, keys["summary.keep_messages"])
    summary = host.ask(messages, at, Request(prompt=PROMPT, max_tokens=None))
    if summary is None:
        return messages
    first = {"role": "user", "content": f"[Conversation compressed]\n{summary}"}
    return host.place(messages, at, [first, {"role": "assistant", "content": ACKNOWLEDGEMENT}], count, files)
