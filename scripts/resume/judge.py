"""Judges what an agent sent for a compacted session against what it sent for the original.

Pure: knows requests and records, no files, no processes. Every finding is one sentence; no finding means that the two
agree but for what was cleared, and that the result is a history which the provider takes.
"""

import json

# How Claude Code begins the request in which it compacts by itself.
ASKS_FOR_SUMMARY = "Your task is to create a detailed summary of the conversation"


def main_request(requests, prompt):
    """The request that asks for an answer to the prompt; None if there is none."""
    for request in reversed(requests):
        users = [message for message in request.get("messages", []) if message["role"] == "user"]
        if users and any(prompt in text_of(block) for block in blocks(users[-1])):
            return request
    return None


def summary_requests(requests):
    """How many of the requests are the agent's own compaction."""
    return sum(ASKS_FOR_SUMMARY in json.dumps(request.get("messages", [])[-1:]) for request in requests)


# How much more than its share a figure may be: requests hold more than the conversation.
LEEWAY = 1.1


def is_stale(recorded, now, before, after):
    """Whether a recorded figure is higher than what is left accounts for: an agent would compact by it for nothing.

    `before`, `after`: what was sent, of the original and of the compacted file.
    """
    return now > LEEWAY * recorded * len(json.dumps(after)) / max(1, len(json.dumps(before)))


def results(request):
    """Each tool result that was sent, by the id of its call."""
    sent = {}
    for message in request["messages"]:
        for block in blocks(message):
            if block["type"] == "tool_result":
                sent.setdefault(block["tool_use_id"], block)
    return sent


def pairs(request):
    """Findings: calls without a result in the next message, results without a call in the one before."""
    # Messages of the role system stand between the others; they are no turns.
    turns = [message for message in request["messages"] if message["role"] != "system"]
    found = []
    for at, message in enumerate(turns):
        calls = ids(message, "tool_use", "id")
        answers = ids(turns[at + 1], "tool_result", "tool_use_id") if at + 1 < len(turns) else []
        found += [f"call {call} has no result in the next message" for call in calls if call not in answers]
        asked = ids(turns[at - 1], "tool_use", "id") if at else []
        answered = ids(message, "tool_result", "tool_use_id")
        found += [f"result {answer} has no call in the message before" for answer in answered if answer not in asked]
        found += [f"{one} stands twice in a message" for one in sorted({i for i in calls if calls.count(i) > 1}
                                                                     | {i for i in answered if answered.count(i) > 1})]
    return found


def same_messages(original, compacted, noise, cleared):
    """Findings: what differs between two requests and may not.

    `noise`: the places of `varying`. `cleared`: the calls whose results the compaction cleared, by its own account.
    """
    before, after = original["messages"], compacted["messages"]
    if [message["role"] for message in before] != [message["role"] for message in after]:
        at = next((i for i, (a, b) in enumerate(zip(before, after)) if a["role"] != b["role"]),
                  min(len(before), len(after)))
        return [f"{len(after)} messages, not {len(before)}: the roles differ from message {at + 1} on"]
    found = []
    for at, (old, new) in enumerate(zip(before, after)):
        found += [f"message {at + 1} of {len(before)}: {what}"
                  for what in same_message(old, new, at - len(before), noise, cleared)]
    return found + sent_whole(original, compacted, cleared)


def sent_whole(original, compacted, cleared):
    """Findings: results that were cleared on another line of the file than the one that is sent."""
    was, now = results(original), results(compacted)
    return [f"the result of {call} was cleared in the file and is sent whole"
            for call in sorted(cleared & was.keys() & now.keys()) if was[call] == now[call]]


def same_message(old, new, place, noise, cleared):
    old, new = blocks(old), blocks(new)
    if len(old) != len(new):
        return [f"{len(new)} blocks, not {len(old)}"]
    found = []
    for at, (a, b) in enumerate(zip(old, new)):
        if a == b or (place, at) in noise and a["type"] == b["type"]:
            continue
        if a["type"] != b["type"]:
            found.append(f"a {b['type']} block in the place of {a['type']}")
        elif a["type"] != "tool_result":
            found.append(f"a {a['type']} block differs: {excerpt(a, b)}")
        elif {**a, "content": None} != {**b, "content": None}:
            found.append(f"result of {a['tool_use_id']}: more than its content differs")
        elif a["tool_use_id"] not in cleared:
            found.append(f"result of {a['tool_use_id']} differs and was not cleared: {excerpt(a, b)}")
        elif size(b) >= size(a):
            found.append(f"result of {a['tool_use_id']} differs and is not shorter: {excerpt(a, b)}")
    return found


def varying(first, second):
    """The places that differ between two runs of the same file: (message, counted from the end; block).

    None if the two differ in more than the inside of blocks: then nothing can be said about the file.
    """
    before, after = first["messages"], second["messages"]
    if [shape(message) for message in before] != [shape(message) for message in after]:
        return None
    return {(at - len(before), place)
            for at, (old, new) in enumerate(zip(before, after))
            for place, (a, b) in enumerate(zip(blocks(old), blocks(new))) if a != b}


def summarised(original, compacted, noise, cleared, summary, tail):
    """Findings for a compaction that replaced old messages by a summary.

    The summary comes first, alone or before words of the user; then the last messages of the original as they were.
    `tail`: the messages of the compacted file after the summary; none of them may be lost on the way.
    """
    before, after = without_reminders(original["messages"]), without_reminders(compacted["messages"])
    kept = 0
    while (kept < min(len(before), len(after)) and before[-1 - kept]["role"] == after[-1 - kept]["role"]
           and not same_message(before[-1 - kept], after[-1 - kept], -1 - kept, noise, cleared)):
        kept += 1
    head = after[:len(after) - kept]
    found = []
    if not kept:
        found.append("the last message is not the original's")
    if any(message["role"] == "assistant" for message in head):
        at = len(head) - [message["role"] for message in reversed(head)].index("assistant")
        found.append(f"message {at} of {len(after)} is neither the summary nor of the kept tail")
    if not any(squeezed(summary) in squeezed(text_of(block)) for message in head for block in blocks(message)):
        found.append("the summary is not sent")
    sent, could = said(after), said(before)
    kept_blocks = [name_of(block) for message in tail for block in blocks(message)]
    lost = [block for block in kept_blocks if block in could and block not in sent]
    if lost:
        found.append(f"{len(lost)} blocks of the kept tail are not sent: {lost[0][:80]}")
    return found + sent_whole(original, compacted, cleared)


def without_reminders(messages):
    """The messages without what the agent says to itself in the end: that depends on what the history has announced."""
    def is_reminder(block):
        return block.get("type") == "text" and block["text"].startswith("<system-reminder>")

    messages = [message for message in messages if message["role"] != "system"]
    last = messages[-1]
    return [*messages[:-1], {**last, "content": [block for block in blocks(last) if not is_reminder(block)]}]


def said(messages):
    """All texts and call ids of messages, to look them up in."""
    return squeezed(" ".join(name_of(block) for message in messages for block in blocks(message)))


def name_of(block):
    return squeezed(text_of(block)) or block.get("id", "")


def blocks(message):
    """A message's blocks without their cache marks: these move with the request's length."""
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return [{key: value for key, value in block.items() if key != "cache_control"}
            for block in content or [] if isinstance(block, dict)]


def shape(message):
    return message["role"], [block["type"] for block in blocks(message)]


def ids(message, kind, key):
    return [block[key] for block in blocks(message) if block["type"] == kind]


def text_of(block):
    text = block.get("text")
    return text if isinstance(text, str) else ""


def squeezed(text):
    return " ".join(text.split())


def size(block):
    return len(json.dumps(block.get("content")))


def content_text(result):
    """The text of a tool result."""
    content = result.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return "".join(text_of(part) for part in parts if isinstance(part, dict))


def excerpt(a, b):
    """The first difference, with a little of what is around it."""
    a, b = json.dumps(a, ensure_ascii=False), json.dumps(b, ensure_ascii=False)
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    start = max(0, at - 20)
    return f"…{a[start:at + 40]}… became …{b[start:at + 40]}…"
