"""What the transcribed systems live in: a model that answers, a folder, and what ctxpack does differently on purpose.

`Plain` does what the documents say and nothing else. `Ours` has the deliberate deviations, each with a name; a deviation
that made a difference is noted under its name. Both save outputs and archives under marks, which the comparison resolves."""

import copy
import re
from dataclasses import dataclass

from .shapes import calls, is_typed, parts, results, thinks, words

# Other agents' names for what the documents call bash, read_file, write_file and edit_file.
KINDS = {"Bash", "shell", "exec_command", "local_shell", "run_terminal_cmd", "PowerShell", "Read", "view", "Write", "create", "Edit",
         "MultiEdit", "edit_file", "str_replace", "str_replace_based_edit_tool", "apply_patch"}

# In texts: around the number of a stored output in place of its name, and as long as that; the user's last words after a
# summary; restored files after it.
NAME, WORDS, FILES = "\ue000", "\ue001", "\ue002"
MARK = re.compile(f"{NAME}(\\d+){NAME}")
# A name in the store: the driver asks ctxpack how it begins.
USUAL = "6784bbfe94450d6352c13f95c6c8f468.txt"


@dataclass
class Request:
    """What is sent to the model. `messages` is filled in by the host: those that the summary is of."""

    prompt: str | None
    max_tokens: int | None
    system: str = ""
    sent: list | None = None
    text: str | None = None
    focus: str = ""
    tries: int = 1
    # Whether the prompt is the system's message, whether the whole history is sent with it, and whether it stands after that.
    by_system: bool = False
    whole: bool = False
    after: bool = False


@dataclass
class Cut:
    """An answer that ends at `max_tokens`."""

    text: str


class Plain:
    """The documents alone."""

    is_ours = False

    def __init__(self, case, cl100k):
        self.case, self.names = case, {}
        # With names as ctxpack gave them, where they can still be seen: a hash is not for a transcription to know.
        self.cl100k = lambda texts: cl100k([MARK.sub(lambda m: self.names.get(int(m[1]), case.store + USUAL), text) for text in texts])
        self.manual, self.answers = case.manual, list(case.answers)
        self.saved, self.requests, self.tried, self.files, self.last_words = [], [], 0, [], ""
        self.reasons = set()

    def note(self, reason, is_different=True):
        if is_different:
            self.reasons.add(reason)
        return is_different

    # The model and the folder.

    def ask(self, messages, at, request):
        """The summary, or None after the last try has failed; None without a request where there is nothing to ask."""
        if request.sent is None:
            request.sent = copy.deepcopy(self.asked_about(messages, len(messages) if request.whole else at))
        self.requests.append(request)
        for _ in range(request.tries):
            answer = self.answers.pop(0) if self.answers else 500
            self.tried += 1
            # No document looks at how an answer ends.
            answer = answer.text if isinstance(answer, Cut) else answer
            if isinstance(answer, str) and answer.strip():
                return answer.strip()
        return None

    def asked_about(self, messages, at):
        return messages

    def save(self, content):
        self.saved.append(content)
        return f"{NAME}{len(self.saved) - 1:0{len(self.case.store + USUAL) - 2}}{NAME}"

    def load(self, name):
        number = name.strip(NAME)
        return self.saved[int(number)] if number.isdigit() and int(number) < len(self.saved) else None

    def archive(self, messages):
        return self.save([copy.deepcopy(message) for message in messages])

    def read(self, path):
        return self.case.files.get(path)

    copy = staticmethod(copy.deepcopy)

    # Where the documents and ctxpack part.

    def counted(self, messages):
        return messages

    def counter(self, documented, ours, reason):
        return documented

    def total(self, messages, count):
        return count(messages)

    def is_of(self, tool, names):
        return tool in names

    def clears(self, result):
        return isinstance(result.content, str)

    def replace(self, result, text, tokens):
        result.put(text)

    def offload(self, result, prefix, tokens):
        result.put(prefix + self.save(result.text))

    def share(self, messages, share):
        return int(len(messages) * share)

    def freed_little(self, freed, least):
        return freed < least

    def last(self, messages, keep, end=None):
        return max(0, len(messages) - keep) if keep else (len(messages) if end is None else end)

    def last_turn(self, messages, keep, is_over):
        begins = [at for at, message in enumerate(messages) if message["role"] == "user"]
        return begins[-keep] if len(begins) >= keep else max(0, len(messages) - 2)

    def begins_turn(self, message):
        return message["role"] == "user"

    def is_spared(self, messages, at):
        return False

    def prunes(self, messages, at, part, kinds):
        return part.get("type") in kinds or part.get("role") == "tool"

    def marked(self, mark, summary):
        """A summary that begins with the mark already."""
        return summary

    def place(self, messages, at, new, count, files=()):
        if files:
            self.files = list(files)
            new[0]["content"] += FILES
        return new + messages[at:]

    def cut(self, messages, at, why):
        return messages[at:]


class Ours(Plain):
    """The same with what ctxpack does differently on purpose; `REASONS` says what and why."""

    is_ours = True

    def __init__(self, case, cl100k):
        super().__init__(case, cl100k)
        self.round = 0

    def counted(self, messages):
        left = [message for message in messages if message["role"] != "system"]
        self.note("system lines stay", len(left) < len(messages))
        return left

    def counter(self, documented, ours, reason):
        def count(messages):
            number = ours(messages)
            self.note(reason, number != documented(messages))
            return number
        return count

    def is_of(self, tool, names):
        is_kind = tool in names or tool in KINDS
        self.note("tools go by kind", is_kind and tool not in names)
        return is_kind

    def clears(self, result):
        if not isinstance(result.content, str):
            self.note("lists count as their text")
        return result.is_whole_text

    def replace(self, result, text, tokens):
        shaped = text
        if isinstance(result.content, list):
            shaped = [{"type": "text", "text": text}]
            self.note("a list stays a list")
        if tokens(text) < tokens(result.text):
            result.put(shaped)
        else:
            self.note("no edit without saving")

    def offload(self, result, prefix, tokens):
        if not result.is_whole_text:
            return self.note("pictures are not offloaded")
        # A name is random: where it may or may not be the longer text, what ctxpack has found is looked up.
        least, most = self.case.name_tokens
        size = tokens(result.text) - tokens(prefix)
        if size <= least or size <= most and self.made(result) == result.text:
            return self.note("no edit without saving")
        stored = prefix + self.save(result.text)
        named = self.made(result)
        if named and named.startswith(prefix):
            self.names[len(self.saved) - 1] = named[len(prefix):]
        if isinstance(result.content, list):
            self.note("a list stays a list")
            stored = [{"type": "text", "text": stored}]
        result.put(stored)
        return True

    def made(self, result):
        """What ctxpack has left of a result; None if nothing."""
        return next((other.text for other in results(self.case.made or []) if other.id == result.id), None)

    def share(self, messages, share):
        systems = [at for at, message in enumerate(messages) if message["role"] == "system"]
        others = [at for at in range(len(messages)) if at not in systems] + [len(messages)]
        self.note("system lines stay", bool(systems))
        return others[int((len(others) - 1) * share)]

    def freed_little(self, freed, least):
        self.note("to a fixed point", not freed < least)
        return True

    def last(self, messages, keep, end=None):
        end = len(messages) if end is None else end
        others = [at for at in range(end) if messages[at]["role"] != "system"]
        plain = super().last(messages, keep, end)
        if keep:
            begins = others[-keep] if len(others) >= keep else (others[0] if others else end)
        else:
            # A system line after all that is replaced stays after the summary.
            begins = others[-1] + 1 if others else end
        self.note("system lines stay", begins != plain)
        return self.unsplit(messages, begins)

    def last_turn(self, messages, keep, is_over):
        typed = [at for at, message in enumerate(messages) if is_typed(message) and not self.is_summary(messages, at)]
        plain = super().last_turn(messages, keep, is_over)
        if len(typed) <= 1 and keep == 1 and not self.is_summary(messages, self.first(messages)):
            answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
            at = max(answers[-1:] + typed[-1:], default=len(messages))
        elif len(typed) >= keep:
            at = typed[-keep]
        else:
            at = self.first(messages)
        at = self.unsplit(messages, at)
        sent = max((n for n, message in enumerate(messages) if message["role"] in ("user", "tool")), default=at)
        if sent > at and is_over([message for message in messages[at:] if message["role"] != "system"]):
            self.note("a last turn over the trigger loses its beginning")
            return self.unsplit(messages, sent)
        self.note("a turn begins with a typed message", at != plain)
        return at

    def begins_turn(self, message):
        typed = is_typed(message)
        self.note("a turn begins with a typed message", typed != (message["role"] == "user"))
        return typed

    def is_spared(self, messages, at):
        last = max((n for n, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
        if at == last:
            self.note("the last answer stays whole", any(thinks(p) for p in parts(messages[at]))
                      or bool(calls([messages[at]])))
        return at == last

    def prunes(self, messages, at, part, kinds):
        last = max((n for n, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
        of_last = {call.id for call in calls(messages[last:last + 1])} if last >= 0 else set()
        number = part.get("tool_call_id") or part.get("toolCallId") or part.get("tool_use_id")
        return super().prunes(messages, at, part, kinds) and not (at > last and number in of_last)

    def marked(self, mark, summary):
        rest = summary.removeprefix(mark)
        if rest.startswith("\n"):
            return summary
        self.note("a line end after a mark")
        return f"{mark}\n{rest.lstrip()}"

    def asked_about(self, messages, at):
        sent = [message for message in messages[:at] if message["role"] != "system"]
        return sent

    def first(self, messages):
        return next((at for at, message in enumerate(messages) if message["role"] != "system"), len(messages))

    def is_summary(self, messages, at):
        """Whether an earlier round has left this: its summary, or the answer to that."""
        return at < len(messages) and "_ours" in messages[at]

    def unsplit(self, messages, at):
        """The place at or before `at` where no result loses its call, and no answer its thinking."""
        while True:
            made = {call.id: call.at for call in calls(messages)}
            before = min((made.get(result.id, at) for result in results(messages) if result.at >= at), default=at)
            if before < at:
                self.note("pairs stay together")
                at = before
                continue
            earlier = max((n for n in range(at) if messages[n]["role"] != "system"), default=None)
            if (at < len(messages) and earlier is not None and messages[at]["role"] == "assistant"
                    and messages[earlier]["role"] == "assistant" and any(thinks(p) for p in parts(messages[earlier]))):
                self.note("thinking stays with its answer")
                at = earlier
                continue
            return at

    def ask(self, messages, at, request):
        span = [n for n in range(at) if messages[n]["role"] != "system"]
        if all(self.is_summary(messages, n) for n in span):
            self.note("nothing but a summary to summarise", bool(span))
            return None
        return super().ask(messages, at, request)

    def place(self, messages, at, new, count, files=()):
        span, kept = messages[:at], messages[at:]
        systems = [message for message in span if message["role"] == "system"]
        self.note("system lines stay", bool(systems))
        typed = [message for n, message in enumerate(messages) if is_typed(message) and not self.is_summary(messages, n)]
        # The user's last words, where no kept message has them: a summary quotes them.
        if typed and not any(message is typed[-1] for message in kept):
            self.last_words = words(typed[-1])
            # It is quoted inside of the summary: before what closes it.
            summary, mark = new[0]["content"], "\n[摘要结束]"
            closes = mark if summary.endswith(mark) else ""
            new[0]["content"] = summary.removesuffix(mark) + WORDS + closes
            self.note("the user's last words stay", bool(self.last_words.strip()))
        if len(new) > 1 and kept and kept[0]["role"] == "assistant" and any(map(thinks, parts(kept[0])[:1])):
            self.note("no acknowledgement before thinking")
            new = new[:1]
        if new[0]["role"] == "assistant" and self.case.form == "anthropic":
            self.note("the user speaks first")
            new[0]["role"] = "user"
        placed = systems + new + kept
        if self.total(placed, count) >= count(messages):
            self.note("never larger")
            return messages
        if files:
            self.files, self.limit = list(files), count(messages)
            if not self.manual:
                self.limit = min(self.limit, self.case.threshold)
            new[0]["content"] += FILES
        for message in new:
            message["_ours"] = True
        return placed

    def total(self, messages, count):
        """What a result counts, with the words that are quoted in it: below a heading and a line's number, in a fence if they
        have lines."""
        number = next((n for n, message in enumerate(self.case.messages, 1) if words(message) == self.last_words), 1)
        last = f"\n~~~\n{self.last_words}\n~~~" if "\n" in self.last_words else f" {self.last_words}"
        shown = []
        for message in messages:
            content = message.get("content")
            if isinstance(content, str):
                quoted = f"\n\n## User requests\nL{number}{last}"
                content = content.replace(WORDS, quoted if self.last_words.strip() else "").replace(FILES, "")
                message = {**message, "content": content}
            shown.append({key: value for key, value in message.items() if key != "_ours"})
        return count(shown)

    def cut(self, messages, at, why):
        typed = [n for n, message in enumerate(messages) if is_typed(message)]
        at = self.unsplit(messages, min([at, *typed[-1:]]))
        systems = [message for message in messages[:at] if message["role"] == "system"]
        self.note("system lines stay", bool(systems))
        return systems + messages[at:]


# What ctxpack does differently on purpose, and why.
DELIBERATE = {
    "system lines stay": "system messages are never replaced and do not count among the kept",
    "pairs stay together": "a cut moves back to the call of a kept result: the API wants both",
    "thinking stays with its answer": "a cut moves back to the thinking of a kept answer",
    "no acknowledgement before thinking": "an acknowledgement would stand between thinking and its turn",
    "the user speaks first": "the API wants a user's message first",
    "the user's last words stay": "where the last typed message is summarised, the summary quotes it",
    "the last answer stays whole": "pruning spares the last answer and the results of its calls",
    "a list stays a list": "a replaced result keeps its shape",
    "no edit without saving": "an edit that saves no tokens is not made",
    "never larger": "a summary that makes the history no smaller is not placed",
    "pictures are not offloaded": "what is not text does not go to a store of texts",
    "nothing but a summary to summarise": "a summary of a summary alone would only lose",
    "to a fixed point": "`compact` repeats the system's turn until it changes nothing",
    "a turn begins with a typed message": "results are messages of the role `user` in one API and not in the others",
    "a last turn over the trigger loses its beginning": "a turn that begins with a typed message may be over the trigger alone, for ever",
    "tools go by kind": "the document names the tools of one agent; other agents' tools of the same kind are meant, too",
    "lists count as their text": "the document speaks of results, the published code of strings",
    "a list counts nothing": "the document adds a list's length, its number of parts; the published code nothing",
    "calls count in every API": "where calls stand beside the content, they count as they would inside of it",
    "what may have changed is not restored": "the document reads the disk; a transcript does not say what a command has written since",
    "restored within the saving": "restored files never bring the history over its trigger, and never undo the saving",
    "a line end after a mark": "a mark that the model wrote itself stands on a line of its own, too: so a later run knows it",
    "a file is cut at a line": "a restored file is cut at the end of a line",
}
# What is sent to a model, compared apart from what becomes of the messages.
SENT = {
    "asked otherwise: see its messages": "another trigger, span or number of tries, for a reason that the messages have",
    "sent as data": "the conversation travels in one message between marks that it cannot close, with a notice in the system prompt",
    "kept messages are not sent": "the document does not say what is sent, ctxpack sends what the summary replaces",
    "a size of our own": "the document sets no size: 5 % of what is replaced, 2 000 to 10 000 tokens, and a fifth more",
    "a prompt of our own": "the document says what a prompt asks for, and not its words",
    "a focus of our own words": "the document has a focus, and no words for it",
}
REASONS = {**DELIBERATE, **SENT}
