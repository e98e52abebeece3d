"""Writes a Codex rollout of classic calls a second time, in code mode: each call becomes a cell of JavaScript, each result
what that cell prints. Nothing of this is shared with ctxpack's readers."""

import json
import re

CALLS = {"exec_command", "write_stdin", "update_plan", "apply_patch"}


def in_code_mode(text):
    """The rollout with each classic call in a cell; all else as it was."""
    names, lines = {}, []
    for line in text.splitlines():
        entry = json.loads(line)
        item = entry.get("payload", {})
        name, call = item.get("name"), item.get("call_id")
        if item.get("type") in ("function_call", "custom_tool_call") and name in CALLS:
            names[call] = name
            entry["payload"] = {"type": "custom_tool_call", "status": "completed", "call_id": call, "name": "exec",
                                "input": cell(name, item, len(names))}
        elif item.get("type") in ("function_call_output", "custom_tool_call_output") and call in names:
            entry["payload"] = {"type": "custom_tool_call_output", "call_id": call,
                                "output": printed(names[call], item["output"], list(names).index(call) + 1)}
        lines.append(json.dumps(entry, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def cell(name, item, number):
    """The cell that makes this call. Each third one prints the result whole, the others its output."""
    if name == "apply_patch":
        return f"const patch = {json.dumps(item['input'])};\nconst r = await tools.apply_patch(patch);\ntext(r.output);"
    arguments = json.loads(item["arguments"])
    if name == "update_plan":
        return f"await tools.update_plan({literal(arguments, number)});\ntext(\"planned\");"
    shown = "JSON.stringify(r)" if number % 3 == 0 else "r.output"
    return f"const r = await tools.{name}({literal(arguments, number)});\ntext({shown});"


def literal(value, number):
    """The arguments as JSON, or with bare keys and the command in a template."""
    if number % 2:
        return json.dumps(value)
    parts = []
    for key, one in value.items():
        plain = isinstance(one, str) and not re.search(r"[`\\$]", one)
        parts.append(f"{key}: {'`' + one + '`' if plain else json.dumps(one)}")
    return "{" + ", ".join(parts) + "}"


HEAD = re.compile(
    r"(?:Chunk ID: (?P<chunk>\w+)\n)?Wall time: (?P<wall>[\d.]+) seconds\n"
    r"(?:Process exited with code (?P<code>-?\d+)\n|Process running with session ID (?P<session>\d+)\n)?"
    r"(?:Original token count: \d+\n)?Output:\n", re.S)


def printed(name, output, number):
    """What the cell of a call prints whose classic result is `output`."""
    head = HEAD.match(output)
    if name == "update_plan":
        return blocks("completed", 0.1, "planned")
    if name == "apply_patch":
        if "verification failed" in output or "rejected" in output[:200]:
            return blocks("failed", 0.1, f"Error: {output}")
        body = re.sub(r"^Exit code: \d+\nWall time: [\d.]+ seconds\nOutput:\n", "", output)
        if body.startswith("{"):
            body = json.loads(body).get("output", body)
        return blocks("completed", 0.1, body)
    if not head:
        # The tool has thrown.
        return blocks("failed", 0.1, f"Error: {output}")
    body, wall = output[head.end():], float(head["wall"])
    if number % 3 == 0:
        result = {"chunk_id": head["chunk"], "wall_time_seconds": wall}
        if head["code"] is not None:
            result["exit_code"] = int(head["code"])
        if head["session"] is not None:
            result["session_id"] = int(head["session"])
        body = json.dumps({**result, "output": body})
    return blocks("completed", wall, body)


def blocks(end, wall, body):
    return [{"type": "input_text", "text": f"Script {end}\nWall time {wall:.1f} seconds\nOutput:\n"},
            {"type": "input_text", "text": body}]
