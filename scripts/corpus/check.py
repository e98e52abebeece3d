"""A second opinion on generated transcripts: the providers' rules, read from the files alone.

Shares no code with the writers. Returns findings as text; never raises on a malformed transcript.
"""

import json
import re

ID = re.compile(r"^[a-zA-Z0-9_-]+$")


def check_file(path):
    """The findings of one file; the shape of its lines says which rules hold."""
    with open(path, "rb") as file:
        lines = [json.loads(line) for line in file]
    return check_lines(lines)


def check_lines(lines):
    if all("messages" in line for line in lines):
        return [f"line {n}: {finding}" for n, line in enumerate(lines, 1) for finding in check_openai(line["messages"])]
    if any("parentUuid" in line for line in lines):
        return check_claude_code(lines)
    if lines[0]["role"] in ("system", "developer"):
        return check_openai(lines)
    return check_anthropic(lines)


def check_openai(messages):
    """Every call is answered at once, every answer has its call, texts are there."""
    findings, open_calls, ids = [], [], set()
    for n, message in enumerate(messages, 1):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                findings.append(f"message {n}: result without a call just before it")
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            findings.append(f"message {n}: {len(open_calls)} calls are not answered before it")
        open_calls = []
        if role in ("system", "developer") and n > 1:
            findings.append(f"message {n}: {role} message is not the first")
        if role == "assistant":
            for call in message.get("tool_calls", []):
                if call["id"] in ids:
                    findings.append(f"message {n}: duplicate call id")
                ids.add(call["id"])
                open_calls.append(call["id"])
                if not isinstance(json.loads(call["function"]["arguments"]), dict):
                    findings.append(f"message {n}: arguments are no object")
        if not message["content"] and not message.get("tool_calls"):
            findings.append(f"message {n}: empty content")
    if open_calls:
        findings.append("the last calls are not answered")
    if messages[-1]["role"] not in ("user", "tool"):
        findings.append("the last message is not the user's")
    return findings


def check_anthropic(lines):
    """The rules of the Messages API on merged messages."""
    findings, ids, open_calls = [], set(), []
    messages = _merge(lines)
    for n, (role, blocks) in enumerate(messages, 1):
        if not blocks:
            findings.append(f"message {n}: empty content")
        kinds = [block["type"] for block in blocks]
        if role == "user":
            answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            if sorted(answers) != sorted(open_calls):
                findings.append(f"message {n}: {len(open_calls)} calls before it, {len(answers)} results in it, or other ids")
            if "tool_result" in kinds[len(answers):]:
                findings.append(f"message {n}: a tool_result stands after something else")
            open_calls = []
        else:
            if open_calls:
                findings.append(f"message {n}: calls are not answered before it")
            open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            for id in open_calls:
                if id in ids or not ID.match(id):
                    findings.append(f"message {n}: duplicate or malformed id {id}")
                ids.add(id)
            if "thinking" in kinds and (kinds[0] != "thinking" or kinds[-1] == "thinking"):
                findings.append(f"message {n}: thinking is not at the start, or at the end")
        for block in blocks:
            if block["type"] == "text" and not block["text"].strip():
                findings.append(f"message {n}: empty text block")
            if block["type"] == "thinking" and not block["signature"]:
                findings.append(f"message {n}: thinking without a signature")
    if open_calls:
        findings.append("the last calls are not answered")
    if messages[0][0] != "user" or messages[-1][0] != "user":
        findings.append("the first or the last message is not the user's")
    return findings


def _merge(lines):
    """Messages as the API sees them: neighbours of one role are one message."""
    messages = []
    for line in lines:
        content = line["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if messages and messages[-1][0] == line["role"]:
            messages[-1][1].extend(blocks)
        else:
            messages.append((line["role"], list(blocks)))
    return messages


def check_claude_code(lines):
    """The chain, and each window between two boundaries as a conversation of its own."""
    findings, uuids, window = [], set(), []
    for n, line in enumerate(lines, 1):
        if line["type"] == "last-prompt" and line["leafUuid"] not in uuids:
            findings.append(f"line {n}: leafUuid is not in the file")
        if "uuid" not in line:
            continue
        if line["uuid"] in uuids or (line["parentUuid"] is not None and line["parentUuid"] not in uuids):
            findings.append(f"line {n}: duplicate uuid, or a parent that is not in the file before it")
        uuids.add(line["uuid"])
        if line.get("subtype") == "compact_boundary":
            findings += _check_window(window)
            window = []
        window.append(line)
    return findings + _check_window(window)


def _check_window(window):
    """Walks from the leaf to the root, adds what shares a message or answers its calls, and checks the messages."""
    chain = {line["uuid"]: line for line in window}
    leaf, path = window[-1], set()
    while leaf is not None:
        path.add(leaf["uuid"])
        leaf = chain.get(leaf["parentUuid"])
    on_path = {_message_id(line) for line in window if line["uuid"] in path} - {None}
    messages, by_id, calls = [], {}, set()
    for line in window:
        if line["type"] not in ("user", "assistant"):
            continue
        message = line["message"]
        content, id = message["content"], _message_id(line)
        if id in on_path:
            calls |= {block["id"] for block in content if block["type"] == "tool_use"}
            if id in by_id:
                by_id[id]["content"].extend(content)
            else:
                by_id[id] = {"role": "assistant", "content": list(content)}
                messages.append(by_id[id])
        elif line["uuid"] in path or (isinstance(content, list) and content[0].get("tool_use_id") in calls):
            messages.append(message)
    # A window that a compaction closed may end with the assistant's answer.
    findings = check_anthropic(messages)
    closed = messages[-1]["role"] == "assistant"
    return [finding for finding in findings if not (closed and finding.startswith("the first or the last"))]


def _message_id(line):
    return line["message"]["id"] if line["type"] == "assistant" else None
