"""Writes the steps of a session (`claude_code.py`) in other formats: each tool as the agent of that format calls it, and by its own
name where that agent has no such tool."""

import json
import re

from formats.code_mode import in_code_mode

TIME = "2026-01-01T00:00:00.000Z"
EXIT = re.compile(r"^Exit code (\d+)\n?")


def as_messages(steps):
    """Anthropic's messages, one a line."""
    lines = []
    for step in steps:
        kind = step[0]
        if kind == "user":
            lines.append({"role": "user", "content": step[1]})
        elif kind == "agent":
            lines.append({"role": "assistant", "content": [{"type": "text", "text": step[1]}]})
        elif kind == "call":
            lines.append({"role": "assistant", "content": [
                {"type": "tool_use", "id": step[1], "name": step[2], "input": step[3]}]})
        else:
            failed = {"is_error": True} if step[3] else {}
            lines.append({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": step[1], "content": step[2], **failed}]})
    return written(lines)


def as_chat(steps):
    """Chat Completions' messages, one a line; a tool's message has no flag, so that a failure is known by its text alone."""
    lines = []
    for step in steps:
        kind = step[0]
        if kind == "user":
            lines.append({"role": "user", "content": step[1]})
        elif kind == "agent":
            lines.append({"role": "assistant", "content": step[1]})
        elif kind == "call":
            function = {"name": step[2], "arguments": json.dumps(step[3], ensure_ascii=False)}
            lines.append({"role": "assistant", "content": None,
                          "tool_calls": [{"id": step[1], "type": "function", "function": function}]})
        else:
            lines.append({"role": "tool", "tool_call_id": step[1], "content": flagged(step)})
    return written(lines)


def flagged(step):
    """The text of a result that fails in words: a program that has no flag says so."""
    _, _, text, failed = step
    says = EXIT.match(text) or text.startswith(("Error", "<tool_use_error>"))
    return f"Error: {text}" if failed and not says else text


def as_codex(steps):
    """A Codex rollout of classic calls."""
    lines = [{"timestamp": TIME, "type": "session_meta",
              "payload": {"id": "0195a7f0-0000-7000-8000-000000000000", "timestamp": TIME, "cwd": "/", "originator": "codex_cli_rs",
                          "cli_version": "0.50.0"}}]
    tools = {}

    def item(payload):
        lines.append({"timestamp": TIME, "type": "response_item", "payload": payload})

    for step in steps:
        kind = step[0]
        if kind == "user":
            item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": step[1]}]})
        elif kind == "agent":
            item({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": step[1]}]})
        elif kind == "call":
            payload = codex_call(*step[1:])
            tools[step[1]] = payload["name"]
            item(payload)
        else:
            item(codex_result(tools[step[1]], *step[1:]))
    return written(lines)


def codex_call(call, tool, given):
    patch = codex_patch(tool, given)
    if patch is not None:
        return {"type": "custom_tool_call", "status": "completed", "call_id": call, "name": "apply_patch", "input": patch}
    name, arguments = tool, given
    if tool == "Bash":
        name, arguments = "exec_command", {"cmd": given.get("command", "")}
    elif tool == "TodoWrite":
        plan = [{"step": todo.get("content", ""), "status": todo.get("status", "pending")} for todo in given.get("todos", [])]
        name, arguments = "update_plan", {"plan": plan}
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments, ensure_ascii=False), "call_id": call}


def codex_patch(tool, given):
    """The patch that does what a call of Claude Code does to a file; `None` for other calls."""
    path = given.get("file_path")
    if tool == "Write" and path:
        body = "\n".join("+" + line for line in given.get("content", "").split("\n"))
        return f"*** Begin Patch\n*** Add File: {path}\n{body}\n*** End Patch"
    edits = given.get("edits") if tool == "MultiEdit" else [given] if tool == "Edit" else None
    if not path or not isinstance(edits, list):
        return None
    hunks = []
    for edit in edits:
        old, new = edit.get("old_string", ""), edit.get("new_string", "")
        hunks += ["@@", *("-" + line for line in old.split("\n")), *("+" + line for line in new.split("\n"))]
    body = "\n".join(hunks)
    return f"*** Begin Patch\n*** Update File: {path}\n{body}\n*** End Patch"


def codex_result(name, call, text, failed):
    kind = "custom_tool_call_output" if name == "apply_patch" else "function_call_output"
    if name == "exec_command":
        code = EXIT.match(text)
        text = text[code.end():] if code else text
        status = int(code[1]) if code else int(failed)
        text = f"Wall time: 0.1 seconds\nProcess exited with code {status}\nOutput:\n{text}"
    elif name == "apply_patch":
        text = f"apply_patch verification failed: {text}" if failed else f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n{text}"
    elif failed and not text.startswith("Error"):
        text = f"Error: {text}"
    return {"type": kind, "call_id": call, "output": text}


def as_code_mode(steps):
    """The same in code mode."""
    return in_code_mode(as_codex(steps))


GEMINI = {"Bash": "run_shell_command", "Read": "read_file", "Write": "write_file", "Edit": "replace", "Grep": "search_file_content",
          "Glob": "glob", "LS": "list_directory", "TodoWrite": "write_todos", "WebFetch": "web_fetch"}


def as_gemini(steps):
    """A Gemini CLI session: a record holds a call and its result."""
    lines = [{"sessionId": "5c030e11-0000-4000-8000-000000000009", "projectHash": "0" * 64, "startTime": TIME,
              "lastUpdated": TIME, "kind": "main"}]
    results = {step[1]: step for step in steps if step[0] == "result"}
    number = 0
    for step in steps:
        if step[0] == "result":
            continue
        number += 1
        record = {"id": f"7e1eb9be-7554-47e8-8118-{number:012}", "timestamp": TIME}
        if step[0] == "user":
            record |= {"type": "user", "content": [{"text": step[1]}]}
        elif step[0] == "agent":
            record |= {"type": "gemini", "content": step[1], "model": "gemini-2.5-pro"}
        else:
            record |= {"type": "gemini", "content": "", "model": "gemini-2.5-pro",
                       "toolCalls": [gemini_call(*step[1:], results[step[1]])]}
        lines.append(record)
    return written(lines)


def gemini_call(call, tool, given, result):
    _, _, text, failed = result
    name = GEMINI.get(tool, tool)
    if name == "run_shell_command":
        code = EXIT.match(text)
        text = text[code.end():] if code else text
        status = int(code[1]) if code else int(failed)
        text = f"Output: {text or '(empty)'}" + (f"\nExit Code: {status}" if status else "") + "\nProcess Group PGID: 4711"
        failed = False
    elif name == "write_todos":
        given = {"todos": [{"description": todo.get("content", ""), "status": todo.get("status", "pending")}
                           for todo in given.get("todos", [])]}
    response = {"error": text} if failed else {"output": text}
    return {"id": call, "name": name, "args": given, "timestamp": TIME, "status": "error" if failed else "success",
            "result": [{"functionResponse": {"id": call, "name": name, "response": response}}]}


def written(lines):
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


FORMS = {"messages": as_messages, "codex": as_codex, "code-mode": as_code_mode, "gemini": as_gemini, "chat": as_chat}
