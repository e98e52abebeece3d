"""Stories as Claude Code session files: the envelope, the chain, the mirrors and the lines that are no messages.

Two generations are imitated: 2.1.39 (thinking in clear, `stop_reason` null, progress lines) and 2.1.126 (thinking
empty, session lines such as `ai-title`). Never writes a parent that is not in the file.
"""

from datetime import datetime, timezone

from corpus.chat import IMAGE_SHARE, image_data, signature, tool_result
from corpus.story import Story
from corpus.text import camel, name

OVERHEAD_TOKENS = 20_000  # system prompt and tool schemas, which the file does not hold
COMPACT_AT_TOKENS = (40_000, 90_000, 165_000)  # one of them a session
EPOCH_SECONDS = 1_770_000_000  # early 2026; sessions start up to 200 days later


def claude_code(rng, library, out):
    """One session file."""
    _Session(rng, library, out).run()


class _Session:
    def __init__(self, rng, library, out):
        self._rng, self._library, self._out = rng, library, out
        self._old = rng.chance(0.5)
        self._thinks = rng.chance(0.6)
        self._story = Story(rng, library, self._thinks)
        self._id = rng.uuid()
        self._slug = f"{rng.hex(6)}-{name(rng).replace('_', '-')}"
        self._model = rng.pick(["claude-opus-4-6", "claude-sonnet-4-5-20250929"])
        self._now = 1_000 * (EPOCH_SECONDS + rng.below(200 * 86_400))  # milliseconds
        self._leaf = None
        self._context = OVERHEAD_TOKENS
        self._cached = 0
        self._compact_at = rng.pick(COMPACT_AT_TOKENS)
        self._progress = 0

    def run(self):
        rng, out = self._rng, self._out
        if self._old and rng.chance(0.5):
            out.add({"type": "summary", "summary": f"{camel(rng)} repair", "leafUuid": rng.uuid()})
        if not self._old:
            self._session_line("permission-mode", permissionMode="acceptEdits")
        if rng.chance(0.5):
            self._user("<command-name>/clear</command-name>\n<command-message>clear</command-message>", isMeta=True)
        ends_with_user = False
        while not out.full():
            self._story.fit(out.room() // 2)
            self._typed()
            ends_with_user = True
            for step in self._story.turn():
                if out.full():
                    break
                self._step(step)
                ends_with_user = bool(step.calls)
                self._story.fit(out.room() // 2)
                if self._context > self._compact_at and ends_with_user:
                    self._compact("auto")
            else:
                self._turn_ended()
        if not ends_with_user:
            self._typed()
        if not self._old:
            self._session_line("last-prompt", lastPrompt=self._story.request(), leafUuid=self._leaf)

    def _typed(self):
        rng = self._rng
        id = rng.uuid()
        self._out.add({"type": "file-history-snapshot", "messageId": id, "snapshot": {
            "messageId": id, "trackedFileBackups": {}, "timestamp": self._stamp()}, "isSnapshotUpdate": False})
        content = self._story.request()
        if rng.chance(IMAGE_SHARE):
            data = image_data(rng, min(rng.between(2_000, 60_000), 100 + self._story.limit))
            content = [{"type": "text", "text": content},
                       {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]
        self._user(content, uuid=id, permissionMode="acceptEdits")
        if not self._old and rng.chance(0.3):
            self._session_line("ai-title", aiTitle=f"{camel(rng)} in {camel(rng)}")

    def _turn_ended(self):
        rng = self._rng
        if rng.chance(0.6):
            self._chained("system", {"subtype": "turn_duration", "durationMs": rng.between(2_000, 900_000),
                                     "isMeta": False})
        if rng.chance(0.1):
            self._session_line("queue-operation", operation="dequeue", timestamp=self._stamp())
        if rng.chance(0.05):
            self._compact("manual")

    def _step(self, step):
        """One API message, a block a line; its calls in one of the two orders that real files have."""
        rng = self._rng
        message = {"id": "msg_01" + rng.token(22), "request": "req_011" + rng.token(21)}
        blocks = []
        if step.thinking:
            blocks.append({"type": "thinking", "thinking": step.thinking if self._old else "", "signature": signature(rng)})
        if step.text:
            blocks.append({"type": "text", "text": step.text})
        uses = []
        for call in step.calls:
            call.id = "toolu_01" + rng.token(22)
            uses.append({"type": "tool_use", "id": call.id, "name": call.tool, "input": call.input})
        message["left"] = len(blocks) + len(uses)
        message["output"] = rng.between(40, 2_000)
        message["stop"] = "tool_use" if uses else "end_turn"
        for block in blocks:
            self._assistant(block, message)
        if rng.chance(0.5):
            for call, use in zip(step.calls, uses):  # each result before the next call of the same message
                asked = self._assistant(use, message)
                self._tick(call, asked)
                self._leaf = self._result(call, asked)
        else:
            asked = [self._assistant(use, message) for use in uses]  # all calls, then results that hang off them
            for call, parent in zip(step.calls, asked):
                self._tick(call, parent)
                self._leaf = self._result(call, parent)
        self._cached = self._context
        self._context += message["output"] + sum(len(call.text) for call in step.calls) // 4

    def _assistant(self, block, message):
        """One line of a message; `output_tokens` grows to its real value on the last one."""
        rng = self._rng
        message["left"] -= 1
        final = message["left"] == 0
        created = self._context - self._cached
        line = {"model": self._model, "id": message["id"], "type": "message", "role": "assistant", "content": [block],
                "stop_reason": None if self._old else message["stop"], "stop_sequence": None,
                "usage": {"input_tokens": 3, "cache_creation_input_tokens": created,
                          "cache_read_input_tokens": self._cached,
                          "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": created},
                          "output_tokens": message["output"] if final else 8, "service_tier": "standard"}}
        self._now += rng.between(200, 4_000)
        return self._chained("assistant", {"message": line, "requestId": message["request"]})

    def _tick(self, call, parent):
        """Progress of a running command; these lines hang off the call and are on no path to the leaf."""
        rng = self._rng
        if call.tool != "Bash" or not rng.chance(0.4 if self._old else 0.1):
            return
        leaf = self._leaf
        for seconds in range(2, 2 + rng.between(1, 4)):
            shown = call.text[:min(len(call.text), 4_000) * seconds // 5]
            parent = self._chained("progress", {
                "data": {"type": "bash_progress", "output": shown[-400:], "fullOutput": shown,
                         "elapsedTimeSeconds": seconds, "totalLines": shown.count("\n")},
                "toolUseID": f"bash-progress-{self._progress}", "parentToolUseID": call.id}, parent=parent)
            self._progress += 1
        self._leaf = leaf

    def _result(self, call, asked):
        content = [tool_result(self._rng, call)]
        return self._chained("user", {"message": {"role": "user", "content": content}, "toolUseResult": call.mirror,
                                      "sourceToolAssistantUUID": asked}, parent=asked)

    def _user(self, content, uuid=None, **fields):
        self._now += self._rng.between(5_000, 400_000)
        size = len(content) if isinstance(content, str) else 8_000
        self._context += size // 4
        return self._chained("user", {"message": {"role": "user", "content": content}, **fields}, uuid=uuid)

    def _compact(self, trigger):
        """A boundary, the summary as a user message, and one file that the agent attached again."""
        rng = self._rng
        before, self._leaf, root = self._context, None, self._leaf
        self._chained("system", {"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False,
                                 "level": "info", "compactMetadata": {"trigger": trigger, "preTokens": before},
                                 "logicalParentUuid": root})
        self._context, self._cached = OVERHEAD_TOKENS, 0
        summary = ("This session is being continued from a previous conversation that ran out of context. The summary "
                   "below covers the earlier portion of the conversation.\n\nAnalysis:\n"
                   + self._library.take(rng, "markdown", min(rng.between(2_000, 9_000), self._story.limit)))
        self._user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        if not self._old:
            text = self._library.take(rng, "rust", min(rng.between(500, 6_000), self._story.limit))
            file = f"{self._story.root}/src/{name(rng)}.rs"
            lines = text.count("\n") + 1
            self._chained("attachment", {"attachment": {"type": "file", "filename": file, "content": {
                "type": "text", "file": {"filePath": file, "content": text, "numLines": lines, "startLine": 1,
                                         "totalLines": lines}}, "displayPath": file[len(self._story.root) + 1:]}})

    def _chained(self, type, fields, parent=None, uuid=None):
        """Writes a line of the chain after `parent` (the leaf, if none is given) and makes it the leaf."""
        uuid = uuid or self._rng.uuid()
        line = {"parentUuid": parent or self._leaf, "isSidechain": False, "userType": "external",
                "cwd": self._story.root, "sessionId": self._id, "version": "2.1.39" if self._old else "2.1.126",
                "gitBranch": "main", "slug": self._slug}
        if type == "assistant":
            line.update(fields, type=type)
        else:
            line.update({"type": type}, **fields)
        line.update(uuid=uuid, timestamp=self._stamp())
        self._out.add(line)
        self._leaf = uuid
        return uuid

    def _session_line(self, type, **fields):
        self._out.add({"type": type, **fields, "sessionId": self._id})

    def _stamp(self):
        self._now += 13
        seconds, milliseconds = divmod(self._now, 1_000)
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds:03d}Z"
