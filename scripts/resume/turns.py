"""Sessions of a few turns, as each agent writes them: a question, a call with its output, an answer.

What is said in each turn is said nowhere else, so that it can be looked for in a request.
"""

import hashlib
import json
from dataclasses import dataclass

TURNS = 9
OUTPUT = "".join(f"{at:03} -rw-r--r-- 1 user user 12 notes-{at}.txt\n" for at in range(60))
TIME = "2026-01-01T00:00:00.000Z"
# The same in milliseconds.
MOMENT = 1_767_225_600_000


@dataclass
class Turn:
    """What is said in one turn."""

    number: int

    @property
    def question(self):
        return f"Request {self.number}: which files are there?"

    @property
    def call(self):
        return f"call_{self.number}"

    @property
    def command(self):
        return f"ls -l {self.number}"

    @property
    def output(self):
        return f"{self.number}\n{OUTPUT}"

    @property
    def answer(self):
        return f"Answer {self.number}: sixty."

    @property
    def said(self):
        return [self.question, self.output, self.answer]


def turns():
    return [Turn(number) for number in range(TURNS)]


def lines(records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def id_of(number):
    return f"{number:08x}-7a1d-4e0c-8b5f-c0a570000002"


def copilot(session, cwd):
    records = []

    def add(kind, **data):
        last = records[-1]["id"] if records else None
        records.append({"type": kind, "data": data, "id": id_of(len(records)), "timestamp": TIME, "parentId": last})

    add("session.start", sessionId=session, version=1, producer="copilot-agent", copilotVersion="1.0.102", startTime=TIME,
        selectedModel="m", context={"cwd": str(cwd)})
    for turn in turns():
        arguments = {"command": turn.command, "description": "List the files"}
        request = {"toolCallId": turn.call, "name": "bash", "arguments": arguments, "type": "function"}
        add("user.message", content=turn.question, transformedContent=turn.question)
        add("assistant.message", messageId=f"m{turn.number}a", model="m", content="", toolRequests=[request])
        add("tool.execution_start", toolCallId=turn.call, toolName="bash", arguments=arguments)
        add("tool.execution_complete", toolCallId=turn.call, model="m", success=True, result={"content": turn.output})
        add("assistant.message", messageId=f"m{turn.number}b", model="m", content=turn.answer, toolRequests=[])
    return lines(records)


def gemini(session, cwd):
    project = hashlib.sha256(str(cwd).encode()).hexdigest()
    records = [{"sessionId": session, "projectHash": project, "startTime": TIME, "lastUpdated": TIME, "kind": "main"}]

    def message(kind, content, **more):
        return {"id": id_of(len(records)), "timestamp": TIME, "type": kind, "content": content, **more}

    context = f"<session_context>\n- **Workspace Directories:**\n  - {cwd}\n</session_context>"
    records.append({"$set": {"messages": [message("user", [{"text": context}])], "lastUpdated": TIME}})
    for turn in turns():
        name = "run_shell_command"
        result = [{"functionResponse": {"id": turn.call, "name": name, "response": {"output": turn.output}}}]
        call = {"id": turn.call, "name": name, "args": {"command": turn.command}, "result": result, "status": "success",
                "timestamp": TIME, "resultDisplay": turn.output}
        records.append(message("user", [{"text": turn.question}]))
        records.append(message("gemini", "", toolCalls=[call], model="gemini-2.5-pro"))
        records.append(message("user", result))
        records.append(message("gemini", turn.answer, model="gemini-2.5-pro"))
    return lines(records)


def qwen(session, cwd):
    records = []

    def add(kind, origin, **more):
        last = records[-1]["uuid"] if records else None
        records.append({"uuid": id_of(len(records)), "parentUuid": last, "sessionId": session, "timestamp": TIME,
                        "type": kind, "provenance": origin, "cwd": str(cwd), "version": "0.24.4", "gitBranch": "main", **more})

    def parts(role, *of):
        return {"message": {"role": role, "parts": list(of)}}

    add("system", "system", subtype="session_model", systemPayload={"model": "qwen3-coder"})
    for turn in turns():
        name = "run_shell_command"
        call = {"functionCall": {"id": turn.call, "name": name, "args": {"command": turn.command, "is_background": False}}}
        result = {"functionResponse": {"id": turn.call, "name": name, "response": {"output": turn.output}}}
        add("user", "real_user", **parts("user", {"text": turn.question}))
        add("assistant", "assistant_output", model="qwen3-coder", **parts("model", call))
        add("tool_result", "tool_result", **parts("user", result), toolCallResult={
            "callId": turn.call, "status": "success", "resultDisplay": turn.output, "executionStatus": "success"})
        add("assistant", "assistant_output", model="qwen3-coder", **parts("model", {"text": turn.answer}))
    return lines(records)


def droid(session, cwd):
    records = [{"type": "session_start", "id": session, "title": "Which files", "owner": "unknown", "version": 2, "cwd": str(cwd)}]

    def add(role, block, **more):
        last = {"parentId": records[-1]["id"]} if len(records) > 1 else {}
        records.append({"type": "message", "id": id_of(len(records)), **last, "timestamp": TIME,
                        "message": {"role": role, "content": [block], **more}})

    for turn in turns():
        add("user", {"type": "text", "text": turn.question}, interactionMode="auto")
        add("assistant", {"type": "tool_use", "id": turn.call, "name": "Execute",
                          "input": {"command": turn.command, "riskLevel": "low"}}, modelId="custom:m-0")
        add("user", {"type": "tool_result", "tool_use_id": turn.call, "is_error": False, "content": turn.output})
        add("assistant", {"type": "text", "text": turn.answer}, modelId="custom:m-0")
    return lines(records)


def kimi(_session, cwd):
    records = [{"type": "metadata", "protocol_version": "1.5", "created_at": MOMENT},
               {"type": "profile.bind", "agentId": "main", "modelAlias": "m", "profileName": "agent", "thinkingEffort": "off",
                "systemPrompt": "You are an agent.", "environmentDisclosure": {"cwd": str(cwd)}, "agentsMdPaths": [],
                "activeToolNames": ["Bash"], "disallowedTools": [], "subagents": [], "time": MOMENT}]

    def add(kind, **more):
        records.append({"type": kind, "agentId": "main", **more, "time": MOMENT + len(records)})

    def step(turn, number, *events, **end):
        about = {"turnId": str(turn.number), "step": number}
        id = f"step-{turn.number}-{number}"
        add("context.append_loop_event", event={"type": "step.begin", "uuid": id, **about})
        for event in events:
            add("context.append_loop_event", event={**event, **about, "stepUuid": id} if "uuid" in event else event)
        add("context.append_loop_event", event={"type": "step.end", "uuid": id, **about, "messageId": f"answer-{id}", **end})

    for turn in turns():
        text = [{"type": "text", "text": turn.question}]
        add("turn.prompt", input=text, origin={"kind": "user"}, promptId=f"msg_{turn.number}", turnId=turn.number)
        add("context.append_message", message={"role": "user", "content": text, "id": f"msg_{turn.number}", "toolCalls": [],
                                               "origin": {"kind": "user"}})
        call = f"part-{turn.number}-1"
        step(turn, 1, {"type": "tool.call", "uuid": call, "toolCallId": turn.call, "name": "Bash", "args": {"command": turn.command}},
             {"type": "tool.result", "parentUuid": call, "toolCallId": turn.call, "result": {"output": turn.output}},
             finishReason="tool_use")
        step(turn, 2, {"type": "content.part", "uuid": f"part-{turn.number}-2", "part": {"type": "text", "text": turn.answer}},
             finishReason="end_turn")
    return lines(records)


def cline(session, cwd):
    messages = []

    def add(role, block, **more):
        messages.append({"id": f"msg_{len(messages):04}", "role": role, "content": [block], "ts": MOMENT + len(messages), **more})

    model = {"modelInfo": {"id": "model", "provider": "openai-compatible"}}
    for turn in turns():
        result = [{"query": turn.command, "result": turn.output, "success": True}]
        add("user", {"type": "text", "text": f'<user_input mode="act">{turn.question}</user_input>'})
        add("assistant", {"type": "tool_use", "id": turn.call, "name": "run_commands", "input": {"commands": [turn.command]}}, **model)
        add("user", {"type": "tool_result", "tool_use_id": turn.call, "name": "run_commands", "content": result})
        add("assistant", {"type": "text", "text": turn.answer}, **model)
    origin = {"source": "cli", "mode": "user", "sessionId": session, "version": "3.0.65"}
    prompt = f"You are Cline, an AI coding agent.\n\n<env>\n4. Working Directory: {cwd}\n</env>"
    return json.dumps({"version": 1, "updated_at": TIME, "agent": "lead", "sessionId": session, "origin": origin,
                       "messages": messages, "system_prompt": prompt}, indent=2).encode()


def opencode(session, cwd):
    messages = []
    model = {"providerID": "loopback", "modelID": "model"}
    tokens = {"input": 20, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}}

    def add(info, *parts):
        id = f"msg_{len(messages):04}"
        named = [{**part, "id": f"prt_{len(messages):04}{at}", "sessionID": session, "messageID": id} for at, part in enumerate(parts)]
        time = {"created": MOMENT + len(messages), "completed": MOMENT + len(messages)}
        messages.append({"info": {"time": time, **info, "id": id, "sessionID": session}, "parts": named})
        return id

    for turn in turns():
        asked = add({"role": "user", "agent": "build", "model": model, "time": {"created": MOMENT + len(messages)}},
                    {"type": "text", "text": turn.question})
        state = {"status": "completed", "input": {"command": turn.command, "description": "Lists"}, "output": turn.output,
                 "title": "bash", "metadata": {"output": turn.output, "exit": 0, "truncated": False},
                 "time": {"start": MOMENT, "end": MOMENT}}
        info = {"parentID": asked, "role": "assistant", "mode": "build", "agent": "build", "cost": 0, "tokens": tokens, **model,
                "path": {"cwd": str(cwd), "root": str(cwd)}}
        end = {"type": "step-finish", "cost": 0, "tokens": tokens}
        add({**info, "finish": "tool-calls"}, {"type": "step-start"},
            {"type": "tool", "callID": turn.call, "tool": "bash", "state": state}, {**end, "reason": "tool-calls"})
        add({**info, "finish": "stop"}, {"type": "step-start"}, {"type": "text", "text": turn.answer}, {**end, "reason": "stop"})
    about = {"id": session, "slug": "quiet-sluice", "projectID": "global", "directory": str(cwd), "title": "Which files",
             "version": "1.18.33", "time": {"created": MOMENT, "updated": MOMENT}}
    return json.dumps({"info": about, "messages": messages}, indent=2).encode()
