"""Validates transcripts with the Anthropic and OpenAI SDKs' types and with Mistral's request validator.

Run by scripts/ci-external in the environment that it makes. The SDKs know shapes (roles, ids, signatures, types); the
Mistral validator knows order (every call answered at once, by its id, once). It speaks the chat form, so Anthropic
messages are converted here first, in order and without mending anything.

Not covered by any of them: the uniqueness of call ids over a whole conversation, empty content, where thinking stands.
"""

import json
import sys
from pathlib import Path

from anthropic.types import MessageParam
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV13, ValidationMode
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from selftest import CASES

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
MARKER = "invalid-on-purpose"
SHAPES = {"anthropic": TypeAdapter(list[MessageParam]), "openai": TypeAdapter(list[ChatCompletionMessageParam])}
ORDER = MistralRequestValidatorV13(mode=ValidationMode.serving)


def main(paths):
    findings = self_test()
    if findings:
        return fail(findings)
    if paths:
        outputs = [Path(path) for path in paths]
        validated, findings = validate_all([(output, None) for output in outputs])
        print(f"ci-external: {validated} conversations in {len(outputs)} files validated, {len(findings)} findings")
        return fail(findings) if findings or not validated else 0
    outputs = sorted(FIXTURES.glob("*/*/expected.jsonl"))
    findings = [finding for output in outputs for finding in json_findings(output)]
    spoken = [(output, output.parent.parent.name) for output in outputs if output.parent.parent.name in SHAPES]
    chosen = [(output, provider) for output, provider in spoken if not (output.parent / MARKER).exists()]
    validated, more = validate_all(chosen)
    findings += more
    print(f"ci-external: {len(outputs)} expected outputs are read as JSON; {len(chosen)} validated ({validated} "
          f"conversations), {len(spoken) - len(chosen)} marked {MARKER}; {len(findings)} findings")
    if outputs and not validated:
        findings.append(f"{FIXTURES}: there are expected outputs, but none was validated")
    return fail(findings) if findings else 0


def fail(findings):
    for finding in findings:
        print(f"ci-external: {finding}", file=sys.stderr)
    return 1


def self_test():
    """Each validator must accept the good histories and reject the bad ones that are its to reject."""
    findings = []
    for provider, name, messages, judges in CASES:
        verdicts = {"shape": shape_error(provider, messages), "order": order_error(provider, messages)}
        for judge, error in verdicts.items():
            if judge in judges and error is None:
                findings.append(f"self-test: {provider}, {name}: accepted by the {judge} validator")
            if not judges and error is not None:
                findings.append(f"self-test: {provider}, {name}: rejected by the {judge} validator: {error}")
    print(f"ci-external: self-test: {len(CASES)} histories, {len(findings)} findings")
    return findings


def validate_all(outputs):
    """The number of conversations that were judged, and the findings; `outputs` are paths with the provider, if known."""
    validated, findings = 0, []
    for output, known in outputs:
        for place, messages in conversations(output):
            validated += 1
            provider = known or provider_of(messages)
            for judge in (shape_error, order_error):
                error = judge(provider, messages)
                if error is not None:
                    findings.append(f"{place}: {provider}: {error}")
    return validated, findings


def conversations(output):
    """A line with `messages` is a conversation; the other lines with a role are one together."""
    bare = []
    for number, line in enumerate(output.read_bytes().split(b"\n"), 1):
        try:
            record = json.loads(line)
        except ValueError:
            continue  # json_findings judges it
        if not isinstance(record, dict):
            continue
        if isinstance(record.get("messages"), list):
            yield f"{output}:{number}", record["messages"]
        elif "role" in record:
            bare.append(record)
    if bare:
        yield str(output), bare


def provider_of(messages):
    """By content: a tool role, tool_calls or a system role are OpenAI's, blocks with tool ids are Anthropic's."""
    for message in messages:
        if message.get("role") in ("tool", "function", "developer") or "tool_calls" in message:
            return "openai"
        content = message.get("content")
        if isinstance(content, list) and any(
                isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result", "thinking", "image")
                for block in content):
            return "anthropic"
    return "openai" if messages[0].get("role") == "system" else "anthropic"


def shape_error(provider, messages):
    """What the provider's SDK says against the types, or None."""
    if provider == "anthropic":  # a system line is the export's way to keep the request's system prompt
        messages = [message for message in messages if message.get("role") != "system"]
    else:  # dumps of responses hold "refusal": null and the like, which the API accepts
        messages = [{key: value for key, value in message.items() if value is not None or key == "content"}
                    for message in messages]
    try:
        exhaust(SHAPES[provider].validate_python(messages))
    except ValueError as error:
        return f"shape: {first_lines(error)}"
    return None


def exhaust(value):
    """The SDKs declare lists as Iterable, which pydantic checks only when they are read."""
    if isinstance(value, dict):
        for item in value.values():
            exhaust(item)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for item in value:
            exhaust(item)


def order_error(provider, messages):
    """What the Mistral validator says against the order, or None."""
    try:
        chat = from_anthropic(messages) if provider == "anthropic" else from_openai(messages)
        # The validator does not look at the first message's place and wants no answer as the last one: a user's
        # message stands before everything, and a last answer is declared the start of the next.
        if chat and chat[0]["role"] != "system":
            chat.insert(0, {"role": "user", "content": "start"})
        if chat and chat[-1]["role"] == "assistant" and not chat[-1].get("tool_calls"):
            chat[-1]["prefix"] = True
        ORDER.validate_request(ChatCompletionRequest(model="any", messages=chat))
    except Exception as error:  # its exceptions share no base with pydantic's
        return f"order: {first_lines(error)}"
    return None


def from_openai(messages):
    """The same messages with only what the validator knows; `function` roles get the id that they lack."""
    chat = []
    for place, message in enumerate(messages):
        role = message["role"]
        plain = {"role": "system" if role == "developer" else role, "content": text_of(message.get("content"))}
        if role == "function":
            plain.update(role="tool", tool_call_id=f"legacy-{place - 1}")
        if role == "tool":
            plain["tool_call_id"] = message["tool_call_id"]
        if message.get("tool_calls"):
            plain["tool_calls"] = [{"id": call["id"], "type": "function", "function": called(call)}
                                   for call in message["tool_calls"]]
        elif message.get("function_call"):
            plain["tool_calls"] = [{"id": f"legacy-{place}", "type": "function", "function": message["function_call"]}]
        chat.append(plain)
    return chat


def called(call):
    """A function call; a custom tool's text is the only argument of one."""
    if call.get("type", "function") == "function":
        return call["function"]
    return {"name": call["custom"]["name"], "arguments": json.dumps({"input": call["custom"]["input"]})}


def from_anthropic(messages):
    """Tool uses become calls, results become tool messages where they stand, neighbours of one role become one."""
    chat = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_result":
                chat.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": text_of(block.get("content"))})
                continue
            if not chat or chat[-1]["role"] != message["role"]:
                chat.append({"role": message["role"], "content": ""})
            if block["type"] == "text":
                chat[-1]["content"] += block["text"]
            elif block["type"] == "tool_use":
                chat[-1].setdefault("tool_calls", []).append({"id": block["id"], "type": "function", "function": {
                    "name": block["name"], "arguments": json.dumps(block["input"])}})
    return chat


def text_of(content):
    """The texts of a content; other parts are the other validator's matter."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text", "") for part in content)


def first_lines(error):
    return " | ".join(str(error).strip().splitlines()[:4])


def is_document(text):
    """Whether a text of several lines is one JSON value."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return text.strip().count(b"\n") > 0


def json_findings(output):
    """Lines that Python cannot read as JSON, except those that the input holds too; a file that is one document is read as that."""
    if is_document(output.read_bytes()):
        return []
    source = output.parent / "input.jsonl"
    own = set(source.read_bytes().split(b"\n")) if source.exists() else set()
    findings = []
    for number, line in enumerate(output.read_bytes().split(b"\n"), 1):
        try:
            if line.strip():
                json.loads(line)
        except ValueError as error:
            if line not in own:
                findings.append(f"{output}:{number}: not JSON: {error}")
    return findings


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
