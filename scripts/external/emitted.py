"""Judges what `ctxpack compact --emit` writes: against its source, and by the providers' own types.

Run by scripts/ci-external in the environment that it makes. Every fixture's input is emitted in both forms with the policy
`none`, and as its own policy leaves it. Texts, calls, results and their order must be those of the source as the readers
here, which share nothing with the program, find them: each sequence within that of the source; where the program reports no
dead lines, all of it but for the losses that it reports. Each line must be valid by the SDKs' types and by Mistral's
validator of orders (validate.py), have no finding of `ctxpack verify` that the source lacks, and give itself when it is
emitted again.

usage: emitted.py BINARY [TRANSCRIPT...]
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from validate import order_error, shape_error

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
FORMS = {"messages": "openai", "anthropic-messages": "anthropic"}
TEXT_TYPES = ("text", "input_text", "output_text", "refusal")
REMINDER = ("<system-reminder>\n", "\n</system-reminder>")
# What leaves with another reason than that nobody would see it again.
GONE = ("unanswered_call", "orphan_result", "repeated_result")


def main(binary, paths):
    chosen = [Path(path) for path in paths] or sorted(FIXTURES.glob("*/*/input.jsonl"))
    jobs = [(binary, path, form) for path in chosen for form in FORMS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(checked, jobs))
    counts = Counter()
    findings = self_test()
    for outcome in outcomes:
        counts.update(outcome.counts)
        findings += outcome.findings
    print(f"ci-external: emitted: {len(jobs)} exports of {len(chosen)} transcripts, {counts['conversations']} conversations, "
          f"{counts['text']} texts, {counts['call']} calls, {counts['result']} results compared; {counts['whole']} are whole; "
          f"{len(findings)} findings")
    for finding in findings[:60]:
        print(f"ci-external: emitted: {finding}", file=sys.stderr)
    return 1 if findings or not counts["whole"] else 0


def checked(job):
    """A reader that fails has found something."""
    check = Check(*job)
    try:
        return check.run()
    except Exception as error:
        check.find(f"the reader failed: {error!r} at line {error.__traceback__.tb_next.tb_lineno}")
        return check


class Check:
    """One transcript in one form."""

    def __init__(self, binary, path, form):
        self.binary, self.path, self.form = str(Path(binary).resolve()), path, form
        self.counts, self.findings = Counter(), []

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            source = folder / ("in" + "".join(self.path.suffixes[-1:]))
            source.write_bytes(self.path.read_bytes())
            lines, entry = self.emit(source, "none", folder / "none.jsonl")
            if lines is not None:
                self.compare(lines, entry)
                self.judge(folder / "none.jsonl", lines, entry)
                self.again(folder / "none.jsonl")
            # Compacted, texts are new, but the rest holds.
            own = self.path.parent / "policy.toml"
            policy = own if own.exists() else "auto"
            lines, entry = self.emit(source, policy, folder / "own.jsonl")
            if lines is not None:
                self.judge(folder / "own.jsonl", lines, entry)
        return self

    def find(self, what):
        self.findings.append(f"{self.path.parent.name}/{self.path.name} as {self.form}: {what}")

    def program(self, *args):
        return subprocess.run([self.binary, *map(str, args)], capture_output=True, text=True, timeout=300,
                              env=os.environ | {"RUST_BACKTRACE": "0"})

    def emit(self, source, policy, output):
        report = output.with_suffix(".report.json")
        done = self.program("compact", source, "--policy", policy, "--emit", self.form, "-o", output, "--report", report, "-q")
        if done.returncode not in (0, 1, 3) or not report.exists():
            self.find(f"exit code {done.returncode}: {done.stderr[-300:]}")
            return None, None
        entry = json.loads(report.read_text())["files"][0]
        if not output.exists():
            if entry["status"] not in ("unsupported", "failed") or entry["output"] is not None:
                self.find(f"nothing was written, and the status is {entry['status']}")
            return None, entry
        lines = [json.loads(line) for line in output.read_text(errors="strict").split("\n") if line]
        self.counts["conversations"] += len(lines)
        return lines, entry

    def losses(self, entry):
        losses = Counter()
        for conversation in entry["conversations"]:
            losses.update({loss["kind"]: loss["count"] for loss in (conversation.get("emitted") or {"losses": []})["losses"]})
        return losses

    def compare(self, lines, entry):
        """Each sequence of the export against that of the source."""
        source = Source(self.path, entry["format"])
        losses = self.losses(entry)
        seen = [emitted(line) for line in lines]
        for kind in ("text", "call", "result"):
            has_own_ids = self.form == "messages" and not losses["call_id"]
            whole = [event_of(event, self.form, has_own_ids) for event in source.events if event[0] == kind]
            parts = [[event_of(event, self.form, has_own_ids) for event in events if event[0] == kind] for events in seen]
            is_other = bool(losses["dead_line"]) or not source.is_whole or not source.is_in_order
            # History that is written twice has the parts of one answer in several places.
            is_other = is_other if kind == "text" else not source.is_in_order
            may_move = bool(losses["result_moved"]) or is_other
            self.counts[kind] += sum(map(len, parts))
            for number, part in enumerate(parts, 1):
                if (missing := not_within(part, whole, may_move)) is not None:
                    self.find(f"line {number}: {kind} is not in the source, or not there: {str(missing)[:300]}")
            if not losses["dead_line"] and source.is_whole:
                here, there = Counter(event for part in parts for event in part), Counter(whole)
                lost = there - here
                spared = sum(losses[name] for name in GONE) if kind != "text" else losses["empty_message"] + losses["system_alone"]
                if kind == "result":
                    spared += losses["bad_line"]
                if sum(lost.values()) > spared:
                    self.find(f"{kind}: {sum(lost.values())} lost, {spared} of them reported: {str(next(iter(lost)))[:300]}")
        self.counts["whole"] += not losses["dead_line"] and source.is_whole

    def judge(self, output, lines, entry):
        provider = FORMS[self.form]
        for number, line in enumerate(lines, 1):
            # Misplaced system messages are refused by the order's validator alone.
            # So are names of tools that were not one in the source, either.
            order = order_error(provider, line["messages"])
            is_other = order is not None and ("Unexpected role 'system'" in order or "Function name was" in order)
            errors = [shape_error(provider, line["messages"]), None if is_other else order]
            if provider == "anthropic" and "system" in line:
                texts = line["system"] if isinstance(line["system"], list) else [{"type": "text", "text": line["system"]}]
                errors.append(shape_error(provider, [{"role": "user", "content": texts}]))
            for error in filter(None, errors):
                self.find(f"line {number}: {error}")
        done = self.program("verify", output, "--format", "json")
        found = [json.loads(line) for line in done.stdout.split("\n") if line]
        errors = [one for one in found if one["severity"] == "error"]
        if self.losses(entry)["answer_first"]:
            errors = [one for one in errors if one["rule"] != "first-not-user"]
        if errors:
            self.find(f"verify: {errors[0]}")
        if lines and "not checked" in done.stderr:
            self.find(f"verify does not read it: {done.stderr[-300:]}")

    def again(self, output):
        twice = output.with_name("twice.jsonl")
        lines, _ = self.emit(output, "none", twice)
        if lines is not None and output.read_bytes() != twice.read_bytes():
            self.find("emitting it again gives something else")
        if lines is None and output.read_bytes():
            self.find("it is not emitted again")


def event_of(event, form, has_own_ids):
    """An event as both sides can hold it: ids may be new, and Anthropic's system messages only come first."""
    if event[0] == "text":
        is_moved = form != "messages" and event[1] == "system"
        return ("user", event[2]) if is_moved else event[1:]
    return event[1:] if has_own_ids else event[2:]


def not_within(part, whole, may_move):
    """The first of a sequence that is not in another one in this order, if there is one."""
    at = 0
    rest = Counter(whole)
    for item in part:
        if may_move:
            if not rest[item]:
                return item
            rest[item] -= 1
            continue
        try:
            at = whole.index(item, at) + 1
        except ValueError:
            return item
    return None


def arguments(value):
    """Arguments as a value: of a string, what it holds."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return json.dumps({"input": value})
    if value is None or value == "":
        value = {}
    if not isinstance(value, dict):
        value = {"input": value}
    return json.dumps(value, sort_keys=True)


def is_object(value):
    return isinstance(value, dict)


def clean(text):
    """A text without halves of surrogate pairs."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def texts_of(content):
    """The texts of a content, in order."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    found = []
    for part in content:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict):
            if part.get("type") in TEXT_TYPES and isinstance(part.get("text", part.get("refusal")), str):
                found.append(part.get("text", part.get("refusal")))
            elif part.get("type") == "document" and isinstance(part.get("source"), dict) and part["source"].get("type") == "text":
                found.append(part["source"]["data"])
    return found


def text(role, words):
    inner = words.removeprefix(REMINDER[0]).removesuffix(REMINDER[1])
    if inner != words and inner[:1] == "{":
        try:  # the JSON of an attachment
            words = json.dumps(json.loads(inner), sort_keys=True)
        except ValueError:
            pass
    return [("text", role, clean(words))] if words.strip() else []


def call(id, name, given):
    return ("call", id or "", name or "", clean(arguments(given)))


def result(id, words):
    """A result by what it says, without the borders between its texts."""
    said = "".join(words)
    if said[:1] in ("{", "["):
        try:  # JSON is emitted as it is written
            said = json.dumps(json.loads(said), sort_keys=True)
        except ValueError:
            pass
    return ("result", id or "", clean(said))


def emitted(line):
    """The events of an emitted conversation, in either form."""
    events = []
    for words in texts_of(line.get("system")):
        events += text("system", words)
    for message in line["messages"]:
        role = message["role"]
        if role == "tool":
            events.append(result(message["tool_call_id"], texts_of(message["content"])))
            continue
        role = "system" if role == "developer" else role
        content = message.get("content")
        for part in content if isinstance(content, list) else []:
            if part["type"] == "tool_use":
                events.append(call(part["id"], part["name"], part["input"]))
            elif part["type"] == "tool_result":
                events.append(result(part["tool_use_id"], texts_of(part.get("content"))))
            else:
                for words in texts_of([part]):
                    events += text(role, words)
        if isinstance(content, str):
            events += text(role, content)
        if message.get("refusal"):
            events += text(role, message["refusal"])
        for one in message.get("tool_calls", ()):
            if one["type"] == "custom":
                events.append(call(one["id"], one["custom"]["name"], one["custom"]["input"]))
            else:
                events.append(call(one["id"], one["function"]["name"], one["function"]["arguments"]))
    return events


class Source:
    """The events of a transcript, in the order of the file. `is_whole`: nothing in it is told again or left out."""

    def __init__(self, path, format):
        self.events, self.is_whole, self.is_in_order, self.last = [], True, True, None
        raw = path.read_bytes()
        self.read = getattr(self, format.replace("-", "_"))
        try:
            document = json.loads(raw)
            values = [document] if isinstance(document, dict) else []
        except ValueError:
            values = []
            for line in raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
                try:
                    values.append(json.loads(line.decode("utf-8", "replace")))
                except (ValueError, RecursionError):
                    continue
        for value in values:
            if isinstance(value, dict):
                self.read(value)

    def add(self, *events):
        self.events += events

    def say(self, role, content):
        for words in texts_of(content):
            self.add(*text(role, words))

    def blocks(self, role, content):
        """Content blocks as Anthropic writes them, and as others do that have them from there."""
        if not isinstance(content, list):
            return self.say(role, content)
        for block in content:
            if not isinstance(block, dict):
                self.say(role, [block])
            elif block.get("type") == "tool_use":
                self.add(call(block.get("id"), block.get("name"), block.get("input")))
            elif block.get("type") == "tool_result":
                self.add(result(block.get("tool_use_id"), texts_of(block.get("content"))))
            else:
                self.say(role, [block])

    def anthropic(self, value):
        if isinstance(value.get("messages"), list):
            self.say("system", value.get("system"))
            for message in value["messages"]:
                self.anthropic(message)
        elif value.get("role") in ("user", "assistant", "system", "developer"):
            role = value["role"].replace("developer", "system")
            self.blocks(role, value.get("content"))

    def openai(self, value):
        if isinstance(value.get("messages"), list):
            for message in value["messages"]:
                if isinstance(message, dict):
                    self.openai(message)
            return
        role = value.get("role")
        if role in ("tool", "function"):
            return self.add(result(value.get("tool_call_id"), texts_of(value.get("content"))))
        if role not in ("user", "assistant", "system", "developer"):
            return
        self.say(role.replace("developer", "system"), value.get("content"))
        if isinstance(value.get("refusal"), str):
            self.say(role, value["refusal"])
        for one in filter(is_object, value.get("tool_calls") or ()):
            of = one.get("function") or one.get("custom") or {}
            self.add(call(one.get("id"), of.get("name"), of.get("arguments", of.get("input"))))
        if isinstance(value.get("function_call"), dict):
            self.add(call("", value["function_call"].get("name"), value["function_call"].get("arguments")))

    def claude_code(self, value):
        kind, message = value.get("type"), value.get("message")
        if value.get("uuid"):
            self.is_in_order &= value.get("parentUuid") == self.last
            self.last = value["uuid"]
        if kind == "attachment" and isinstance(value.get("attachment"), dict):
            self.is_whole = False
            self.add(*text("user", json.dumps(value["attachment"]).join(REMINDER)))
        if kind in ("user", "assistant") and isinstance(message, dict):
            self.is_whole &= not value.get("isApiErrorMessage")
            self.blocks(kind, message.get("content"))

    def droid(self, value):
        message = value.get("message")
        if value.get("type") == "message" and isinstance(message, dict):
            self.is_whole &= message.get("visibility") != "user_only"
            self.blocks(message.get("role"), message.get("content"))
        elif value.get("type") == "compaction_state":
            self.say("user", value.get("summaryText"))

    def claude_stream(self, value):
        if value.get("type") in ("user", "assistant") and isinstance(value.get("message"), dict):
            self.blocks(value["type"], value["message"].get("content"))

    def gemini_stream(self, value):
        kind = value.get("type")
        if kind == "message":
            # Pieces of one answer.
            self.is_whole = False
            self.say(value.get("role"), value.get("content"))
        elif kind == "tool_use":
            self.add(call(value.get("tool_id"), value.get("tool_name"), value.get("parameters")))
        elif kind == "tool_result":
            words = value.get("output")
            if words is None and isinstance(value.get("error"), dict):
                words = value["error"].get("message")
            self.add(result(value.get("tool_id"), texts_of(words)))

    def cline(self, value):
        for message in value["messages"]:
            if (message.get("metadata") or {}).get("displayOnly"):
                continue
            if not isinstance(message.get("content"), list):
                self.say(message["role"], typed(message.get("content")))
                continue
            for block in message["content"]:
                if not isinstance(block, dict):
                    continue
                if block.get("type") == "tool_use":
                    self.add(call(block.get("id"), block.get("name"), block.get("input")))
                elif block.get("type") == "tool_result":
                    self.add(result(block.get("tool_use_id"), several(block.get("content"))))
                elif block.get("type") == "text":
                    self.say(message["role"], typed(block.get("text")))
                else:
                    self.is_whole &= block.get("type") != "file"

    def ai_sdk(self, value):
        role, content = value.get("role"), value.get("content")
        if role not in ("user", "assistant", "system", "tool"):
            return
        if not isinstance(content, list):
            return self.say(role, content)
        for part in content:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "tool-call" and not part.get("providerExecuted"):
                self.add(call(part.get("toolCallId"), part.get("toolName"), part.get("input", part.get("args"))))
            elif kind == "tool-result" and role == "tool":
                output = part.get("output")
                if isinstance(output, dict):
                    output = output.get("value", output.get("reason"))
                elif "result" in part:
                    output = part["result"]
                is_list = isinstance(part.get("output"), dict) and part["output"].get("type") == "content"
                is_said = is_list or output is None or isinstance(output, str)
                self.add(result(part.get("toolCallId"), texts_of(output) if is_said else [json.dumps(output)]))
            elif kind == "text":
                self.say(role, part.get("text"))

    def codex(self, value):
        if value.get("type") in ("session_meta", "event_msg", "turn_context", "world_state"):
            payload = value.get("payload")
            self.is_whole &= not (is_object(payload) and payload.get("type") == "thread_rolled_back")
            return
        item = value.get("payload") if isinstance(value.get("payload"), dict) else value
        if value.get("type") == "compacted":
            self.is_whole = False
            for old in item.get("replacement_history") or ():
                self.codex(old)
            return self.say("user", item.get("message"))
        kind = item.get("type")
        if kind == "message" and item.get("role") in ("user", "assistant"):
            self.say(item["role"], item.get("content"))
        elif kind == "agent_message":
            self.say("user", item.get("content"))
        elif kind == "function_call":
            self.add(call(item.get("call_id"), item.get("name"), item.get("arguments")))
        elif kind == "custom_tool_call":
            self.add(call(item.get("call_id"), item.get("name"), item.get("input")))
        elif kind == "local_shell_call":
            self.add(call(item.get("call_id") or item.get("id"), "local_shell", item.get("action")))
        elif kind in ("function_call_output", "custom_tool_call_output") and isinstance(item.get("output"), (str, list)):
            self.add(result(item.get("call_id"), texts_of(item["output"])))

    def pi(self, value):
        kind, message = value.get("type"), value.get("message")
        if kind in ("compaction", "branch_summary"):
            self.is_whole &= kind != "compaction"
            self.say("user", value.get("summary"))
        if kind == "custom_message":
            self.say("user", value.get("content"))
        if kind != "message" or not isinstance(message, dict):
            return
        role = message.get("role")
        if role == "toolResult":
            self.add(result(message.get("toolCallId"), texts_of(message.get("content"))))
        elif role == "bashExecution":
            if not message.get("excludeFromContext"):
                self.say("user", message.get("command"))
                self.say("user", message.get("output"))
        elif role in ("branchSummary", "compactionSummary"):
            self.say("user", message.get("summary"))
        elif role in ("user", "custom", "hookMessage"):
            self.say("user", message.get("content"))
        elif role == "assistant" and message.get("stopReason") not in ("error", "aborted"):
            content = message.get("content")
            for part in content if isinstance(content, list) else []:
                if part.get("type") == "toolCall":
                    self.add(call(part.get("id"), part.get("name"), part.get("arguments")))
                else:
                    self.say(role, [part])
            if isinstance(content, str):
                self.say(role, content)

    def copilot(self, value):
        kind, data = value.get("type"), value.get("data")
        if not isinstance(data, dict):
            return
        if kind == "user.message":
            self.say("user", data.get("transformedContent") or data.get("content"))
        elif kind in ("system.notification", "skill.context_delivered"):
            self.say("user", data.get("content"))
        elif kind == "session.context_cleared":
            self.say("user", data.get("initialMessage"))
        elif kind == "session.compaction_complete":
            self.is_whole = False
            # It comes before what stayed.
            self.events[:0] = text("user", data.get("summaryContent") or "")
        elif kind == "assistant.message":
            self.say("assistant", data.get("content"))
            for one in filter(is_object, data.get("toolRequests") or ()):
                self.add(call(one.get("toolCallId"), one.get("name"), one.get("arguments")))
        elif kind == "tool.execution_complete":
            words = next((data[key][word] for key, word in (("result", "content"), ("error", "message"))
                          if is_object(data.get(key)) and isinstance(data[key].get(word), str)), None)
            if data.get("isUserRequested"):
                self.say("user", words)
            else:
                self.add(result(data.get("toolCallId"), texts_of(words)))

    def kimi(self, value):
        kind = value.get("type")
        if kind == "context.append_message" and isinstance(value.get("message"), dict):
            message = value["message"]
            if message.get("role") == "tool":
                words = texts_of(message.get("content"))
                self.add(result(message.get("toolCallId"), words + texts_of(message.get("note"))))
            else:
                self.say(message.get("role"), message.get("content"))
                for one in message.get("toolCalls") or ():
                    of = one.get("function") or one
                    self.add(call(one.get("id"), of.get("name"), of.get("arguments")))
        elif kind == "context.append_loop_event":
            event = value.get("event") or {}
            if event.get("type") == "content.part":
                self.say("assistant", [event.get("part")])
            elif event.get("type") == "tool.call":
                self.add(call(event.get("toolCallId"), event.get("name"), event.get("args")))
            elif event.get("type") == "tool.result" and isinstance(event.get("result"), dict):
                words = texts_of(event["result"].get("output"))
                self.add(result(event.get("toolCallId"), words + texts_of(event["result"].get("note"))))
        elif kind == "context.apply_compaction":
            self.is_whole = False
            summary = value.get("contextSummary") or value.get("summary")
            words = summary.get("content") if isinstance(summary, dict) else summary
            self.events[:0] = [event for one in texts_of(words) for event in text("user", one)]

    def gemini(self, value):
        self.is_whole = False  # messages are written again and again; the last one counts
        if isinstance(value.get("$set"), dict):
            return self.gemini(value["$set"])
        for message in value.get("messages") or ():
            self.gemini(message)
        if value.get("type") not in ("user", "gemini"):
            return
        role = "user" if value["type"] == "user" else "assistant"
        self.parts(role, value.get("content"))
        for one in filter(is_object, value.get("toolCalls") or ()):
            self.add(call(one.get("id"), one.get("name"), one.get("args")))
            of = one.get("result")
            if isinstance(of, str) and of:
                self.add(result(one.get("id"), [of]))
            self.parts(role, [part | {"of": one.get("id")} for part in of if isinstance(part, dict)] if isinstance(of, list) else [])

    def qwen(self, value):
        payload = value.get("systemPayload") or {}
        if value.get("type") in ("user", "assistant", "tool_result") and isinstance(value.get("message"), dict):
            message = value["message"]
            self.parts("assistant" if message.get("role") == "model" else "user", message.get("parts"))
        for message in payload.get("compressedHistory") or payload.get("history") or ():
            self.is_whole = False
            if isinstance(message, dict):
                self.parts("assistant" if message.get("role") == "model" else "user", message.get("parts"))

    def parts(self, role, parts):
        """Parts of Gemini's API."""
        if isinstance(parts, str):
            return self.say(role, parts)
        for part in parts if isinstance(parts, list) else [parts]:
            if isinstance(part, str):
                self.say(role, part)
            if not isinstance(part, dict) or part.get("thought"):
                continue
            if "functionCall" in part:
                one = part["functionCall"]
                self.add(call(one.get("id"), one.get("name"), one.get("args")))
            elif "functionResponse" in part:
                one = part["functionResponse"]
                of = one.get("response")
                said = list(of.values()) if isinstance(of, dict) else [of]
                if len(said) == 1 and isinstance(said[0], str):
                    self.add(result(one.get("id") or part.get("of"), said))
                else:
                    self.add(result(one.get("id") or part.get("of"), [] if of is None else [json.dumps(of)]))
            elif "text" in part:
                self.say(role, part["text"])

    def opencode(self, value):
        for message in value["messages"]:
            role = message["info"]["role"]
            for part in message["parts"]:
                kind, state = part.get("type"), part.get("state") or {}
                self.is_whole &= kind != "compaction" and not part.get("ignored")
                if kind == "text":
                    # A summary is sent as the user's.
                    self.say("user" if message["info"].get("summary") else role, part.get("text"))
                elif kind == "tool":
                    self.add(call(part.get("callID"), part.get("tool"), state.get("input")))
                    of = {"completed": state.get("output"), "error": state.get("error")}.get(state.get("status"))
                    if (state.get("metadata") or {}).get("interrupted"):
                        self.is_whole, of = False, (state["metadata"].get("output") or of)
                    if (state.get("time") or {}).get("compacted"):
                        of = "" if of is not None else None
                    if of is not None:
                        self.add(result(part.get("callID"), [of]))


def typed(words):
    """What the user typed, within the tag of it."""
    if isinstance(words, str) and words.startswith("<user_input ") and words.endswith("</user_input>"):
        return words[words.index(">") + 1:-len("</user_input>")]
    return words


def several(content):
    """What each of several commands gave."""
    if not isinstance(content, list):
        return texts_of(content)
    found = []
    for item in content:
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            said = [item.get(key) for key in ("text", "content", "result", "error")]
            found += [words for words in said if isinstance(words, str) and words]
    return found


def self_test():
    """The comparison must see what is missing, new or out of order."""
    chat = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "r"}]}
    events = emitted(chat)
    findings = []
    if events != [("text", "user", "a"), ("call", "1", "f", "{}"), ("result", "1", "r")]:
        findings.append(f"self-test: {events}")
    if not_within(["b", "a"], ["a", "b"], False) is None or not_within(["c"], ["a", "b"], True) is None:
        findings.append("self-test: an order or a text that is not the source's is accepted")
    return findings


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
