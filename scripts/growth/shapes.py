"""Hostile shapes: transcripts of about so many bytes that have very many of one thing, or one very large thing.

A shape is a function of a writer and a size. Each begins with a request and ends with the same short exchanges, so that
what is hostile lies in what a summary replaces. `only` says for which formats a shape is; the others make it in all.
"""

from growth.writers import Call, dumps, prose, uuid

SHAPES = {}
ALL = ("anthropic", "claude-code", "openai", "codex", "pi")


def shape(*only):
    def register(function):
        SHAPES[function.__name__.replace("_", "-")] = (only or ALL, function)
        return function

    return register


def write(name, writer, size):
    """A transcript of this shape, of about `size` bytes."""
    _, make = SHAPES[name]
    return write_with(lambda writer: make(writer, size), writer)


def write_with(make, writer):
    """A transcript of what `make` writes, between the request and the exchanges of every shape."""
    writer.user("Please look at all gauges and repair the reader.")
    make(writer)
    for number in range(24):
        writer.user(f"Now go on with part {number}. {prose(number, 20)}")
        writer.bash(10_000_000 + number, prose(number, 60))
        writer.say(f"Part {number} is done. {prose(number + 3, 30)}")
    return writer.bytes()


def until(writer, size):
    """Numbers, until there is enough."""
    number = 0
    while writer.size < size:
        yield number
        number += 1


# One message that has much.

@shape()
def keys_of_an_input(writer, size):
    keys = {f"key_{n}": n for n in range(size // 17)}
    writer.call("Bash", {"command": "true", **keys}, "done")


@shape()
def keys_of_an_unknown_tool(writer, size):
    writer.call("mcp__tide__set", {f"option_{n}": f"value {n}" for n in range(size // 27)}, "done")


@shape()
def objects_in_an_input(writer, size):
    writer.call("MultiEdit", {"file_path": "/srv/tide/a.rs", "edits": [
        {"old_string": f"old {n}", "new_string": f"new {n}"} for n in range(size // 50)]}, "done")


@shape()
def the_same_key_again(writer, size):
    keys = ",".join(f'"file_path":"/srv/tide/a{n}.rs"' for n in range(size // 34))
    writer.call("Read", {"MARK": 1}, "one\ntwo")
    swap(writer, '{"MARK":1}', "{" + keys + "}")


@shape()
def texts_of_a_message(writer, size):
    writer.say(*(prose(n) for n in range(size // (120 if writer.name != "claude-code" else 520))))


@shape()
def calls_of_a_message(writer, size):
    each = 1_100 if writer.name == "claude-code" else 400
    writer.calls([Call(f"toolu_{n:08d}", "Bash", {"command": f"run {n}"}, prose(n)) for n in range(size // each)])


@shape()
def deep_nesting(writer, size):
    depth = size // 3
    writer.call("mcp__tide__tree", {"MARK": 1}, "done")
    swap(writer, '{"MARK":1}', '{"a":' + "[" * depth + "]" * depth + "}")


@shape()
def deep_objects(writer, size):
    depth = size // 6
    writer.call("mcp__tide__tree", {"MARK": 1}, "done")
    swap(writer, '{"MARK":1}', '{"a":' * depth + "1" + "}" * depth)


@shape("anthropic", "claude-code")
def deep_content(writer, size):
    depth = size // 90
    writer.call("Bash", {"command": "run"}, "MARK")
    for old in ('"MARK"',):
        swap(writer, old, '[{"type":"tool_result","tool_use_id":"a","content":' * depth + '"x"' + "}]" * depth, first=True)


# One text that is long.

def one_text(writer, text):
    writer.bash(1, text)
    writer.user("Look at it again.")


@shape()
def a_long_line(writer, size):
    one_text(writer, " ".join(prose(n) for n in range(size // 160)))


@shape()
def a_long_word(writer, size):
    one_text(writer, "a" * (size // 2))


@shape()
def a_long_word_of_many_kinds(writer, size):
    one_text(writer, "".join(f"a{n}B_" for n in range(size // 16)))


@shape()
def line_ends(writer, size):
    one_text(writer, "\n" * (size // 4))


@shape()
def short_lines(writer, size):
    one_text(writer, "\n".join(f"{n}" for n in range(size // 16)))


@shape()
def escapes(writer, size):
    one_text(writer, "\u0001\"\\" * (size // 20))


@shape()
def backticks(writer, size):
    one_text(writer, "`" * (size // 4) + "\n" + "``` x\n" * (size // 30))


@shape()
def other_scripts(writer, size):
    one_text(writer, "潮位計を読む。Größe; русский текст 🎏 " * (size // 130))


@shape()
def numbers(writer, size):
    one_text(writer, " ".join(str(n * 7919) for n in range(size // 20)))


@shape()
def paths_in_a_text(writer, size):
    one_text(writer, "\n".join(f"src/part_{n}/file_{n}.rs:{n}: error: E{n} in `name_{n}`" for n in range(size // 130)))


@shape()
def links_in_a_text(writer, size):
    one_text(writer, " ".join(f"https://example.org/a/{n}?b={n}#c" for n in range(size // 80)))


@shape()
def errors_in_a_text(writer, size):
    one_text(writer, "\n".join(f"error[E{n:04}]: cannot find item_{n}\n  --> src/a{n}.rs:{n}:1" for n in range(size // 130)))


@shape()
def secrets_in_a_text(writer, size):
    one_text(writer, "\n".join(f"API_KEY_{n}=ghp_{n:036d} password: hunter{n}x https://u:p{n}@h/" for n in range(size // 190)))


@shape()
def beginnings_of_secrets(writer, size):
    one_text(writer, "-----BEGIN RSA PRIVATE KEY----- ghp_ sk-ant- password= " * (size // 120))


@shape()
def json_in_a_text(writer, size):
    one_text(writer, dumps([{"key": n, "value": [n, {"deep": str(n)}]} for n in range(size // 120)]))


@shape()
def json_in_json(writer, size):
    text = "x"
    while len(text) < size // 4:
        text = dumps({"content": text, "file_path": "/srv/tide/a.rs"})
    one_text(writer, text)


@shape()
def a_long_request(writer, size):
    writer.user("\n".join(prose(n) for n in range(size // 110)))
    writer.say("Seen.")


@shape()
def a_long_answer(writer, size):
    writer.say("\n".join(prose(n) for n in range(size // 110)))


@shape()
def a_long_command(writer, size):
    writer.call("Bash", {"command": " && ".join(f"cat src/a{n}.rs" for n in range(size // 30))}, "done")


@shape()
def a_long_path(writer, size):
    path = "/srv/tide/" + "/".join(f"f{n}" for n in range(size // 24))
    for _ in range(3):
        writer.read(path, "fn a() {}")


@shape()
def long_paths(writer, size):
    for number in until(writer, size):
        writer.read("/srv/tide/" + "/".join(f"{number}f{n}" for n in range(400)), "fn a() {}")


@shape()
def a_long_id(writer, size):
    writer.call("Bash", {"command": "ls"}, "done", id="toolu_" + "a" * (size // 3))


# Very many of one thing.

@shape()
def messages(writer, size):
    for number in until(writer, size):
        writer.user(prose(number))
        writer.say(prose(number + 1))


@shape()
def the_same_messages(writer, size):
    for _ in until(writer, size):
        writer.user("Go on with the gauges, please.")
        writer.say("The gauges are read.")


@shape()
def answers(writer, size):
    for number in until(writer, size):
        writer.say(prose(number))
        if number % 50 == 0:
            writer.user(prose(number))


@shape()
def results(writer, size):
    for number in until(writer, size):
        writer.bash(number, prose(number))


@shape()
def large_results(writer, size):
    for number in until(writer, size):
        writer.bash(number, "\n".join(prose(number + n) for n in range(30)))


@shape()
def the_same_results(writer, size):
    text = "\n".join(prose(n) for n in range(30))
    for _ in until(writer, size):
        writer.call("Bash", {"command": "make all"}, text)


@shape()
def failures(writer, size):
    for number in until(writer, size):
        writer.bash(number, f"Exit code 1\nerror: item_{number} failed in src/a{number}.rs", error=True)


@shape()
def the_same_id(writer, size):
    for number in until(writer, size):
        writer.call("Bash", {"command": f"run {number}"}, prose(number), id="toolu_same")


@shape()
def calls_without_results(writer, size):
    for number in until(writer, size):
        writer.bash(number, "done")
        if len(writer.lines) > 4:
            lost = writer.lines.pop()
            writer.size -= len(lost) + 1
            if number % 20 == 0:
                writer.user(prose(number))


@shape()
def files_read(writer, size):
    for number in until(writer, size):
        writer.read(f"/srv/tide/src/part{number % 97}/file{number}.rs", f"fn item_{number}() {{}}\n{prose(number)}")


@shape()
def a_file_read_again(writer, size):
    text = "".join(f"{n:6}\tfn item_{n}() {{}}\n" for n in range(1, 40))
    for _ in until(writer, size):
        writer.read("/srv/tide/src/a.rs", text)


@shape()
def parts_of_a_file(writer, size):
    for number in until(writer, size):
        at = number * 20 + 1
        text = "".join(f"{n:6}\tfn item_{n}() {{}}\n" for n in range(at, at + 20))
        writer.call("Read", {"file_path": "/srv/tide/src/a.rs", "offset": at, "limit": 20}, text)


@shape("anthropic", "claude-code")
def edits_of_a_file(writer, size):
    whole = "".join(f"{n:6}\tlet item_{n} = {n};\n" for n in range(1, size // 60))
    writer.read("/srv/tide/src/a.rs", whole)
    for number in until(writer, size):
        writer.call("Edit", {"file_path": "/srv/tide/src/a.rs", "old_string": f"item_{number + 1} = ",
                             "new_string": f"thing_{number + 1} = "}, "The file has been updated.")


@shape("anthropic", "claude-code")
def writes_of_a_file(writer, size):
    for number in until(writer, size):
        writer.call("Write", {"file_path": "/srv/tide/src/a.rs", "content": f"fn item_{number}() {{}}\n"}, "File written.")
        writer.read("/srv/tide/src/a.rs", f"     1\tfn item_{number}() {{}}\n")


@shape("anthropic", "claude-code")
def to_dos(writer, size):
    for number in until(writer, size):
        writer.call("TodoWrite", {"todos": [{"content": f"Do item_{number + n}", "status": "pending",
                                             "activeForm": f"Doing item_{number + n}"} for n in range(10)]}, "Kept.")


@shape("anthropic", "claude-code")
def a_long_list_of_to_dos(writer, size):
    for _ in range(3):
        writer.call("TodoWrite", {"todos": [{"content": f"Do item_{n}", "status": "pending", "activeForm": f"Doing {n}"}
                                            for n in range(size // 260)]}, "Kept.")


@shape()
def patches(writer, size):
    for number in until(writer, size):
        patch = (f"*** Begin Patch\n*** Update File: src/a{number}.rs\n@@\n-let a = {number};\n+let b = {number};\n"
                 "*** End Patch")
        writer.call("apply_patch", {"input": patch}, "Done!")


@shape()
def a_long_patch(writer, size):
    hunks = "".join(f"*** Update File: src/a{n}.rs\n@@\n-let a = {n};\n+let b = {n};\n" for n in range(size // 80))
    writer.call("apply_patch", {"input": f"*** Begin Patch\n{hunks}*** End Patch"}, "Done!")


@shape()
def summaries_in_a_row(writer, size):
    for number in until(writer, size):
        text = (f"[Earlier conversation, summarised by ctxpack]\n## User requests\nL{number + 1} {prose(number)}\n"
                f"## Files\nL{number + 2} edited: src/a{number}.rs\n## Commands\nL{number + 3} exit 1: run {number}")
        if writer.name == "claude-code":
            writer.line("system", parent=None, subtype="compact_boundary", content="Conversation compacted", isMeta=False,
                        level="info", compactMetadata={"trigger": "auto", "preTokens": 100_000},
                        logicalParentUuid=writer.leaf)
            writer.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        else:
            writer.user(text)
        writer.say(prose(number))


@shape()
def a_long_summary(writer, size):
    rows = "\n".join(f"L{n + 1} {prose(n)}" for n in range(size // 110))
    text = f"[Earlier conversation, summarised by ctxpack]\n## User requests\n{rows}\n## Files\nL2 edited: src/a.rs"
    if writer.name == "claude-code":
        writer.line("system", parent=None, subtype="compact_boundary", content="Conversation compacted", isMeta=False,
                    level="info", compactMetadata={"trigger": "auto", "preTokens": 100_000}, logicalParentUuid=writer.leaf)
        writer.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    else:
        writer.user(text)
    writer.say("Understood.")


@shape()
def the_transcript_twice(writer, size):
    """Copies of all lines so far, as sessions have that were resumed."""
    for number in until(writer, size // 4):
        writer.user(prose(number))
        writer.bash(number, prose(number))
        writer.say(prose(number))
    lines = list(writer.lines)
    for _ in range(3):
        for line in lines:
            writer.raw(line)


@shape()
def bad_lines(writer, size):
    for number in until(writer, size):
        writer.raw((f'{{"role":"user","content":"{number}', f"plain text {number}", '{"a":1}}', "\x00\x01", "[1,2")[number % 5]
                   .encode())


@shape()
def empty_lines(writer, size):
    for _ in until(writer, size):
        writer.raw(b"")


@shape()
def unknown_lines(writer, size):
    for number in until(writer, size):
        writer.add({"type": f"of_tomorrow_{number}", "value": number})


@shape("openai")
def conversations(writer, size):
    """One conversation a line."""
    writer.lines.clear()
    writer.size = 0
    for number in until(writer, size):
        writer.add({"messages": [
            {"role": "user", "content": prose(number)},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": f"c{number}", "type": "function", "function": {"name": "shell", "arguments": '{"command":"ls"}'}}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": prose(number, 200)},
            {"role": "assistant", "content": "Done."}]})
    writer.user = writer.bash = writer.say = lambda *_: None


@shape("openai")
def a_long_conversation_on_a_line(writer, size):
    writer.lines.clear()
    writer.size = 0
    messages = []
    for number in range(size // 700):
        messages += [{"role": "user", "content": prose(number)},
                     {"role": "assistant", "content": None, "tool_calls": [
                         {"id": f"c{number}", "type": "function", "function": {"name": "shell", "arguments": "{}"}}]},
                     {"role": "tool", "tool_call_id": f"c{number}", "content": prose(number, 40)}]
    writer.add({"messages": messages})
    writer.user = writer.bash = writer.say = lambda *_: None


# What Claude Code's sessions have besides.

def sidechain(writer, agent, rounds, parent=None):
    leaf, writer.leaf, writer.sidechain = writer.leaf, parent, agent
    writer.user(f"As {agent}: look at all gauges. {prose(len(agent))}")
    for number in range(rounds):
        writer.bash(number, prose(number, 30))
        writer.say(prose(number, 20))
    writer.leaf, writer.sidechain = leaf, None


@shape("claude-code")
def sidechains(writer, size):
    for number in until(writer, size):
        writer.call("Task", {"description": f"part {number}", "prompt": f"As agent{number}: look at all gauges."}, "Done.")
        sidechain(writer, f"agent{number}", 3)


@shape("claude-code")
def sidechains_without_an_agent(writer, size):
    for number in until(writer, size):
        sidechain(writer, "", 2)


@shape("claude-code")
def long_sidechains(writer, size):
    for number in range(4):
        sidechain(writer, f"agent{number}", size // 7_200)


@shape("claude-code")
def sidechains_at_once(writer, size):
    """Every sidechain has a line, then every one has its next."""
    count = max(2, size // 4_000)
    leaves = [None] * count
    for _ in range(4):
        for agent in range(count):
            main, writer.leaf, writer.sidechain = writer.leaf, leaves[agent], f"agent{agent}"
            writer.user(prose(agent)) if leaves[agent] is None else writer.say(prose(agent))
            leaves[agent], writer.leaf, writer.sidechain = writer.leaf, main, None


@shape("claude-code")
def branches(writer, size):
    """Every message hangs on the first one; the last is the leaf."""
    root = writer.leaf
    for number in until(writer, size):
        writer.leaf = root
        writer.user(prose(number))
        writer.say(prose(number))


@shape("claude-code")
def lines_of_one_message(writer, size):
    for number in until(writer, size):
        writer.assistant({"type": "text", "text": prose(number)}, "msg_same")


@shape("claude-code")
def a_chain_in_reverse(writer, size):
    start = len(writer.lines)
    for number in until(writer, size):
        writer.user(prose(number)) if number % 2 else writer.say(prose(number))
    writer.lines[start:] = reversed(writer.lines[start:])


@shape("claude-code")
def parents_that_are_missing(writer, size):
    for number in until(writer, size):
        writer.leaf = uuid(90_000_000 + number)
        writer.user(prose(number))
        writer.say(prose(number))


@shape("claude-code")
def the_same_uuid(writer, size):
    for number in until(writer, size):
        writer.user(prose(number), uuid=uuid(77))
        writer.say(prose(number))


@shape("claude-code")
def a_circle(writer, size):
    for number in until(writer, size):
        writer.user(prose(number))
        writer.say(prose(number))
    writer.user("Go on.", uuid=uuid(1))


@shape("claude-code")
def progress(writer, size):
    writer.call("Bash", {"command": "make"}, "done", id="toolu_make")
    parent = writer.leaf
    for number in until(writer, size):
        leaf = writer.leaf
        writer.line("progress", parent=parent, parentToolUseID="toolu_make", toolUseID=f"p-{number}",
                    data={"type": "bash_progress", "output": prose(number), "fullOutput": prose(number, 40)})
        writer.leaf = leaf


@shape("claude-code")
def snapshots(writer, size):
    for number in until(writer, size):
        writer.add({"type": "file-history-snapshot", "messageId": uuid(number), "isSnapshotUpdate": False, "snapshot": {
            "messageId": uuid(number), "trackedFileBackups": {}, "timestamp": "2026-02-01T00:00:00.000Z"}})


@shape("claude-code")
def attachments(writer, size):
    for number in until(writer, size):
        text = f"fn item_{number}() {{}}\n" * 10
        writer.line("attachment", attachment={"type": "file", "filename": f"/srv/tide/a{number}.rs", "content": {
            "type": "text", "file": {"filePath": f"/srv/tide/a{number}.rs", "content": text, "numLines": 11, "startLine": 1,
                                     "totalLines": 11}}, "displayPath": f"a{number}.rs"})


@shape("claude-code")
def queued_words(writer, size):
    for number in until(writer, size):
        writer.add({"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-02-01T00:00:00.000Z",
                    "content": prose(number), "sessionId": "session"})
        writer.add({"type": "queue-operation", "operation": "dequeue", "timestamp": "2026-02-01T00:00:00.000Z",
                    "sessionId": "session"})


@shape("claude-code")
def last_prompts(writer, size):
    for number in until(writer, size):
        writer.user(prose(number))
        writer.say(prose(number))
        writer.add({"type": "last-prompt", "lastPrompt": prose(number), "leafUuid": writer.leaf, "sessionId": "session"})


@shape("codex")
def token_counts(writer, size):
    for number in until(writer, size):
        writer.entry("event_msg", {"type": "token_count", "info": {"total_token_usage": {"total_tokens": number}, "last_token_usage": {
            "input_tokens": number, "total_tokens": number}, "model_context_window": 258_400}})


@shape("codex")
def compactions(writer, size):
    for number in until(writer, size):
        writer.user(prose(number))
        writer.say(prose(number))
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": prose(number)}]}]
        writer.entry("compacted", {"message": prose(number), "replacement_history": history})


@shape("pi")
def compaction_entries(writer, size):
    for number in until(writer, size):
        writer.user(prose(number))
        kept = writer.leaf
        writer.say(prose(number))
        id = f"{len(writer.lines):08x}"
        writer.add({"type": "compaction", "id": id, "parentId": writer.leaf, "timestamp": "2026-02-01T00:00:00.000Z",
                    "summary": prose(number), "firstKeptEntryId": kept, "tokensBefore": 1000})
        writer.leaf = id


def swap(writer, old, new, first=False):
    """Puts a text into the newest line that has the mark; what json cannot write."""
    for at in range(len(writer.lines) - 1, -1, -1):
        line = writer.lines[at]
        for mark, text in ((old, new), (dumps(old)[1:-1], dumps(new)[1:-1])):
            if mark.encode() in line:
                writer.lines[at] = line.replace(mark.encode(), text.encode(), 1 if first else -1)
                writer.size += len(writer.lines[at]) - len(line)
                return
    raise ValueError(f"no line has {old}")
