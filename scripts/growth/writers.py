"""Transcripts of five formats, written message by message, the same calls for each.

Valid unless a shape wants otherwise: every call has its result. Never random: the same calls give the same bytes.
"""

import json

WORDS = ("gauge alder birch reader parser buffer window ledger harbour signal station module record segment token cursor "
         "marker planner chunk archive header footer tide level sensor driver socket worker branch commit").split()


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def prose(number, words=12):
    """A sentence of its own for each number."""
    chosen = [WORDS[(number * 7 + i * i * 3 + i * number) % len(WORDS)] for i in range(words)]
    return f"The {' '.join(chosen)} item_{number} is read."


def uuid(number):
    return f"{number:08x}-0000-4000-8000-{number:012x}"


class Call:
    """A tool call with its result."""

    def __init__(self, id, tool, input, output, error=False):
        self.id, self.tool, self.input, self.output, self.error = id, tool, input, output, error


class Writer:
    """Lines, and how many bytes they have. The tools are named as Claude Code does."""

    tools = {}

    def __init__(self):
        self.lines, self.size, self.count = [], 0, 0

    def raw(self, line):
        self.lines.append(line)
        self.size += len(line) + 1

    def add(self, value):
        self.raw(dumps(value).encode("utf-8", "surrogatepass"))

    def next(self):
        self.count += 1
        return self.count

    def tool(self, name):
        return self.tools.get(name, name)

    def call(self, tool, input, output, id=None, error=False):
        """A call of its own message, and its result."""
        self.calls([Call(id or f"toolu_{self.next():08d}", tool, input, output, error)])

    def bash(self, number, output, error=False):
        self.call("Bash", {"command": f"run --item {number}"}, output, error=error)

    def read(self, path, output):
        self.call("Read", {"file_path": path}, output)

    def bytes(self):
        return b"\n".join(self.lines) + b"\n"


class Anthropic(Writer):
    name = "anthropic"

    def user(self, content):
        self.add({"role": "user", "content": content})

    def say(self, *texts):
        self.add({"role": "assistant", "content": [{"type": "text", "text": text} for text in texts]})

    def calls(self, calls):
        self.add({"role": "assistant", "content": [
            {"type": "tool_use", "id": call.id, "name": call.tool, "input": call.input} for call in calls]})
        self.add({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": call.output, "is_error": call.error}
            for call in calls]})


class ClaudeCode(Writer):
    name = "claude-code"

    def __init__(self):
        super().__init__()
        self.leaf, self.sidechain, self.message, self.last_uuid = None, None, 0, 0

    def line(self, type, uuid=None, parent=False, **fields):
        """A line of the chain after the leaf, and the new leaf."""
        self.last_uuid += 1
        uuid = uuid or f"{self.last_uuid:08x}-0000-4000-8000-{self.last_uuid:012x}"
        line = {"parentUuid": self.leaf if parent is False else parent, "isSidechain": self.sidechain is not None,
                "userType": "external", "cwd": "/srv/tide", "sessionId": "session", "version": "2.1.126", "gitBranch": "main",
                "type": type, **fields, "uuid": uuid, "timestamp": stamp(self.last_uuid)}
        if self.sidechain is not None:
            line["agentId"] = self.sidechain
        self.add(line)
        self.leaf = uuid
        return uuid

    def user(self, content, **fields):
        return self.line("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, block, message):
        return self.line("assistant", message={
            "id": message, "type": "message", "role": "assistant", "model": "claude-opus-4-6", "content": [block],
            "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 3, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 20_000,
                      "output_tokens": 20}}, requestId="req_" + message)

    def id(self):
        self.message += 1
        return f"msg_{self.message:08d}"

    def say(self, *texts):
        message = self.id()
        for text in texts:
            self.assistant({"type": "text", "text": text}, message)

    def calls(self, calls):
        message = self.id()
        asked = [self.assistant({"type": "tool_use", "id": call.id, "name": call.tool, "input": call.input}, message)
                 for call in calls]
        for call, parent in zip(calls, asked):
            content = [{"type": "tool_result", "tool_use_id": call.id, "content": call.output, "is_error": call.error}]
            self.line("user", parent=parent, message={"role": "user", "content": content},
                      toolUseResult={"stdout": call.output, "stderr": "", "interrupted": False},
                      sourceToolAssistantUUID=parent)


class OpenAi(Writer):
    name = "openai"
    tools = {"Read": "read_file", "Bash": "shell", "Grep": "search", "Edit": "edit_file", "Write": "write_file"}

    def user(self, content):
        self.add({"role": "user", "content": content})

    def say(self, *texts):
        self.add({"role": "assistant", "content": "\n".join(texts)})

    def calls(self, calls):
        self.add({"role": "assistant", "content": None, "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": self.tool(call.tool), "arguments": dumps(call.input)}}
            for call in calls]})
        for call in calls:
            self.add({"role": "tool", "tool_call_id": call.id, "content": call.output})


class Codex(Writer):
    name = "codex"
    tools = {"Bash": "shell"}

    def __init__(self):
        super().__init__()
        self.entry("session_meta", {"id": uuid(1), "timestamp": stamp(0), "cwd": "/srv/tide", "originator": "codex_cli_rs",
                                    "cli_version": "0.169.0", "source": "cli", "model_provider": "openai"})

    def entry(self, type, payload):
        self.add({"timestamp": stamp(len(self.lines)), "type": type, "payload": payload})

    def item(self, **payload):
        self.entry("response_item", payload)

    def user(self, content):
        self.item(type="message", role="user", content=[{"type": "input_text", "text": content}])
        self.entry("event_msg", {"type": "user_message", "message": content})

    def say(self, *texts):
        self.item(type="message", role="assistant", content=[{"type": "output_text", "text": text} for text in texts])

    def calls(self, calls):
        for call in calls:
            name, input = self.tool(call.tool), call.input
            if "file_path" in call.input and call.tool == "Read":
                name, input = "shell", {"command": ["cat", call.input["file_path"]]}
            self.item(type="function_call", name=name, arguments=dumps(input), call_id=call.id)
        for call in calls:
            self.item(type="function_call_output", call_id=call.id, output=dumps(
                {"output": call.output, "metadata": {"exit_code": int(call.error), "duration_seconds": 0.1}}))


class Pi(Writer):
    name = "pi"
    tools = {"Read": "read", "Bash": "bash", "Grep": "grep", "Edit": "edit", "Write": "write"}

    def __init__(self):
        super().__init__()
        self.leaf = None
        self.add({"type": "session", "version": 3, "id": uuid(1), "timestamp": stamp(0), "cwd": "/srv/tide"})

    def message(self, **message):
        id = f"{len(self.lines):08x}"
        self.add({"type": "message", "id": id, "parentId": self.leaf, "timestamp": stamp(len(self.lines)),
                  "message": {**message, "timestamp": 1773054007000 + len(self.lines)}})
        self.leaf = id

    def user(self, content):
        self.message(role="user", content=[{"type": "text", "text": content}])

    def assistant(self, content, stop):
        self.message(role="assistant", content=content, api="anthropic-messages", provider="anthropic", model="claude-test-1",
                     usage={"input": 3, "output": 8, "cacheRead": 150, "cacheWrite": 0, "totalTokens": 161}, stopReason=stop)

    def say(self, *texts):
        self.assistant([{"type": "text", "text": text} for text in texts], "stop")

    def calls(self, calls):
        self.assistant([{"type": "toolCall", "id": call.id, "name": self.tool(call.tool), "arguments": call.input}
                        for call in calls], "toolUse")
        for call in calls:
            self.message(role="toolResult", toolCallId=call.id, toolName=self.tool(call.tool),
                         content=[{"type": "text", "text": call.output}], isError=call.error)


def stamp(number):
    hours, rest = divmod(number, 3600)
    return f"2026-02-{1 + hours // 24 % 28:02d}T{hours % 24:02d}:{rest // 60:02d}:{rest % 60:02d}.000Z"


WRITERS = {writer.name: writer for writer in (Anthropic, ClaudeCode, OpenAi, Codex, Pi)}
