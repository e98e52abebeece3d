"""Stories as Anthropic Messages lines, OpenAI chat lines and OpenAI conversations, one a line.

Every conversation ends as a valid request does: with a user's message or with the results of the last calls.
"""

import base64
import json

from corpus.story import Story
from corpus.text import BASE64

IMAGE_SHARE = 0.02  # of the requests
OPENAI_TOOLS = {"Read": "read_file", "Bash": "shell", "Grep": "search", "Glob": "list_files", "Edit": "edit_file",
                "Write": "write_file"}


def anthropic(rng, library, out):
    """One message a line."""
    story = Story(rng, library, thinks=rng.chance(0.5))
    while not out.full():
        story.fit(out.room())
        out.add({"role": "user", "content": _anthropic_request(rng, story)})
        for step in story.turn():
            if out.full():
                break
            _anthropic_step(rng, step, out)
            story.fit(out.room())
    if out.last["role"] == "assistant":
        out.add({"role": "user", "content": story.request()})


def _anthropic_request(rng, story):
    text = story.request()
    if not rng.chance(IMAGE_SHARE):
        return text
    data = image_data(rng, min(rng.between(2_000, 60_000), 100 + story.limit))
    return [{"type": "text", "text": text},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]


def _anthropic_step(rng, step, out):
    blocks = []
    if step.thinking:
        blocks.append({"type": "thinking", "thinking": step.thinking, "signature": signature(rng)})
    if step.text:
        blocks.append({"type": "text", "text": step.text})
    results = []
    for call in step.calls:
        call.id = "toolu_01" + rng.token(22)
        blocks.append({"type": "tool_use", "id": call.id, "name": call.tool, "input": call.input})
        results.append(tool_result(rng, call))
    out.add({"role": "assistant", "content": blocks})
    if results:
        if rng.chance(0.1):
            results.append({"type": "text", "text": "<system-reminder>The to-do list is empty.</system-reminder>"})
        out.add({"role": "user", "content": results})


def tool_result(rng, call):
    """The result block of a call: mostly a string, sometimes a list of texts, with or without `is_error`."""
    content = call.text
    if content and rng.chance(0.15):
        cut = len(content) // 2 if len(content) > 2_000 and rng.chance(0.3) else len(content)
        content = [{"type": "text", "text": part} for part in (content[:cut], content[cut:]) if part.strip()]
    block = {"tool_use_id": call.id, "type": "tool_result", "content": content}
    if call.error or call.tool == "Bash":
        block["is_error"] = call.error
    return block


def signature(rng):
    """What stands where a provider signs its thinking: opaque, a few hundred characters."""
    return "Ep" + rng.token(rng.between(200, 700), BASE64) + "=="


def image_data(rng, size):
    """The start of a PNG file and noise, in base64."""
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + rng.token(size * 3 // 4).encode()).decode()


def openai(rng, library, out):
    """One message a line."""
    _openai_messages(rng, library, out)


def openai_conversations(rng, library, out):
    """One conversation a line, with its tools."""
    tools = [{"type": "function", "function": {
        "name": tool, "description": f"Runs {tool}.",
        "parameters": {"type": "object", "properties": {"file_path": {"type": "string"}}}}} for tool in OPENAI_TOOLS.values()]
    while not out.full():
        conversation = Messages(min(rng.between(4_000, 120_000), out.room()))
        _openai_messages(rng, library, conversation)
        out.add({"messages": conversation.messages, "tools": tools})


class Messages:
    """Collects messages where a writer would take lines; sizes are rough."""

    def __init__(self, target):
        self.messages, self._left = [], target

    def add(self, message):
        self.messages.append(message)
        self._left -= 60 + len(str(message))

    @property
    def last(self):
        return self.messages[-1]

    def full(self):
        return self._left <= 0

    def room(self):
        return max(0, self._left)


def _openai_messages(rng, library, out):
    story = Story(rng, library, thinks=rng.chance(0.3))
    out.add({"role": rng.pick(["system", "system", "developer"]),
             "content": f"You are a coding agent.\n{library.take(rng, 'markdown', min(out.room() // 10, 6_000))}"})
    while not out.full():
        story.fit(out.room())
        out.add({"role": "user", "content": story.request()})
        for step in story.turn():
            if out.full():
                break
            _openai_step(rng, step, out)
            story.fit(out.room())
    if out.last["role"] not in ("user", "tool"):
        out.add({"role": "user", "content": story.request()})


def _openai_step(rng, step, out):
    message = {"role": "assistant", "content": step.text}
    if step.thinking:
        message["reasoning_content"] = step.thinking
    results = []
    for call in step.calls:
        call.id = "call_" + rng.token(24)
        arguments = json.dumps(call.input, ensure_ascii=False, separators=(",", ":"))
        message.setdefault("tool_calls", []).append(
            {"id": call.id, "type": "function", "function": {"name": OPENAI_TOOLS[call.tool], "arguments": arguments}})
        content = call.text
        if content and rng.chance(0.08):
            content = [{"type": "text", "text": content}]
        result = {"role": "tool", "tool_call_id": call.id, "content": content}
        if rng.chance(0.3):
            result["name"] = OPENAI_TOOLS[call.tool]
        results.append(result)
    out.add(message)
    if rng.chance(0.2):
        results.reverse()
    for result in results:
        out.add(result)

