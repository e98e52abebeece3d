"""Lists of messages as three APIs write them (Anthropic, OpenAI chat, AI SDK): their texts, calls and results.

Knows no system and no policy, and never changes a message but through `Result.put`."""

import json


def compact(value):
    """A value as JSON.stringify writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def units(text):
    """The length of a string in JavaScript: UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def parts(message):
    """The content of a message as a list of blocks; a string is one block of text."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []


class Call:
    def __init__(self, at, number, name, given):
        self.at, self.id, self.name, self.input = at, number, name, given

    @property
    def arguments(self):
        """The input as an object, whatever its form."""
        try:
            return json.loads(self.input) if isinstance(self.input, str) else self.input
        except ValueError:
            return {}


class Result:
    """What a tool said: the holder is the object that has it under the key."""

    def __init__(self, at, number, holder, key, tool):
        self.at, self.id, self.holder, self.key, self.tool = at, number, holder, key, tool

    @property
    def content(self):
        return self.holder.get(self.key)

    @property
    def text(self):
        """Its text; the texts of a list are joined as they stand."""
        content = self.content
        if isinstance(content, str):
            return content
        if isinstance(content, list):
            return "".join(part.get("text", "") for part in content if isinstance(part, dict))
        return ""

    @property
    def is_whole_text(self):
        content = self.content
        return isinstance(content, str) or all(part.get("type") == "text" for part in content or [])

    def put(self, content):
        self.holder[self.key] = content


def calls(messages):
    found = []
    for at, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        for call in message.get("tool_calls") or []:
            found.append(Call(at, call["id"], call["function"]["name"], call["function"]["arguments"]))
        for part in parts(message):
            if part.get("type") == "tool_use":
                found.append(Call(at, part["id"], part["name"], part["input"]))
            elif part.get("type") == "tool-call":
                found.append(Call(at, part["toolCallId"], part["toolName"], part["input"]))
    return found


def results(messages):
    """All results in their order, with the names of their tools ("unknown" without a call)."""
    names = {call.id: call.name for call in calls(messages)}
    found = []
    for at, message in enumerate(messages):
        if message["role"] == "tool" and "tool_call_id" in message:
            number = message["tool_call_id"]
            found.append(Result(at, number, message, "content", names.get(number, "unknown")))
        for part in parts(message):
            if part.get("type") == "tool_result":
                number = part["tool_use_id"]
                found.append(Result(at, number, part, "content", names.get(number, "unknown")))
            elif part.get("type") == "tool-result":
                found.append(Result(at, part["toolCallId"], part["output"], "value", part["toolName"]))
    return found


def is_typed(message):
    """Whether a person wrote it: words of the user, and no result of a tool."""
    blocks = parts(message)
    return (message["role"] == "user" and any(part.get("type") in ("text", "image") for part in blocks)
            and not any(part.get("type") == "tool_result" for part in blocks))


def words(message):
    """What a person wrote."""
    return "\n".join(part.get("text", "") for part in parts(message) if part.get("type") == "text")


def thinks(part):
    return part.get("type") in ("thinking", "redacted_thinking", "reasoning")


def texts(messages):
    """All that a model reads of these messages, piece by piece: words, reasoning, names and inputs of calls, results."""
    for message in messages:
        for part in parts(message) if message["role"] != "tool" else []:
            kind = part.get("type")
            if kind in ("text", "reasoning"):
                yield part["text"]
            elif kind == "thinking":
                yield part["thinking"]
        for call in calls([message]):
            yield call.name
            yield call.input if isinstance(call.input, str) else compact(call.input)
        for result in results([message]):
            yield result.text
