"""Random sessions of a coding agent, as the messages of an API, by a seed: the same seed gives the same sessions.

A session has a folder: what its reads show is what the folder has. Sizes lie around the systems' thresholds; what a case
sets by `--set` is set so that its history is one token below its trigger, on it, above it, or far above."""

import copy
import json
import random
from dataclasses import dataclass, field

from . import boundary, layered, offload_first, reset, turns
from .host import Cut, Ours
from .shapes import compact

SYSTEMS = {"layered": layered, "offload-first": offload_first, "reset": reset, "boundary": boundary, "turns": turns}
FORMS = {"layered": ["anthropic", "anthropic", "openai"], "offload-first": ["openai", "openai", "anthropic"],
         "reset": ["anthropic", "anthropic", "openai"], "boundary": ["anthropic", "anthropic", "openai"],
         "turns": ["ai-sdk", "ai-sdk", "openai", "anthropic"]}
WORDS = ("the a tide gauge station reads level chart axis metre quay birch alder parser loop cache queue field test build "
         "commit branch merge config table row column index value type error none").split()
ODD = ["é", "潮位", "😀", "ß\t", "“q”", "\\n", "‮x", "한국", "🧭🌊"]
TOOLS = ["bash", "read_file", "read_file", "read_file", "write_file", "edit_file", "grep", "browse"]


@dataclass
class Case:
    name: str
    preset: str
    form: str
    messages: list
    files: dict = field(default_factory=dict)
    keys: dict = field(default_factory=dict)
    manual: bool = False
    instructions: str = ""
    answers: list = field(default_factory=list)
    root: bool = False
    name_tokens: tuple = (0, 0)
    made: list | None = None
    waits: bool = False
    store = ""

    @property
    def threshold(self):
        """Below this, restored files stay."""
        return SYSTEMS[self.preset].threshold(self.all_keys)

    @property
    def all_keys(self):
        return {**SYSTEMS[self.preset].DEFAULTS, **self.keys}


class Session:
    def __init__(self, rng, form, preset):
        self.rng, self.form, self.preset = rng, form, preset
        self.messages, self.files, self.ids = [], {}, 0

    def prose(self, length):
        """A text of exactly this many characters."""
        rng, out = self.rng, []
        size = 0
        while size < length:
            word = rng.choice(ODD) if rng.random() < 0.04 else rng.choice(WORDS)
            out.append(word + ("\n" if rng.random() < 0.1 else " "))
            size += len(out[-1])
        text = "".join(out)[:length]
        # Spaces at the ends are what trims are about, and are not what is checked here.
        return text if length < 2 else "t" + text[1:-1] + "."

    def size(self):
        edges = [4, 26, 49, 50, 51, 99, 100, 101, 102, 400, 1_000, 3_999, 4_000, 4_003, 4_004, 4_005, 6_000, 9_000]
        return self.rng.choice(edges)

    def say(self, role, text):
        if self.form in ("anthropic", "ai-sdk") and role != "system" and self.rng.random() < 0.4:
            return {"role": role, "content": [{"type": "text", "text": text}]}
        return {"role": role, "content": text}

    def ask(self):
        length = self.rng.choice([5, 12, 40, 200, 1_500])
        self.messages.append(self.say("user", self.prose(length)))

    def answer(self):
        if self.form != "openai" and self.rng.random() < 0.1:
            self.messages.append({"role": "assistant", "content": [self.thought(), {"type": "text", "text": self.prose(30)}]})
        else:
            self.messages.append(self.say("assistant", self.prose(self.rng.choice([8, 80, 600]))))

    def thought(self):
        if self.form == "ai-sdk":
            return {"type": "reasoning", "text": self.prose(60)}
        return {"type": "thinking", "thinking": self.prose(60), "signature": "c2lnbmVk"}

    def use(self):
        """One answer with calls, and their results."""
        rng = self.rng
        number = rng.choice([1, 1, 1, 1, 2, 3])
        made = [self.call() for _ in range(number)]
        words = self.prose(rng.choice([10, 60])) if rng.random() < 0.6 else ""
        thinks = self.form != "openai" and rng.random() < 0.15
        if self.form == "openai":
            tool_calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": arguments(g)}}
                          for i, n, g, _, _ in made]
            self.messages.append({"role": "assistant", "content": words or None, "tool_calls": tool_calls})
            for i, _, _, output, _ in made:
                listed = rng.random() < 0.1 and output and self.preset in ("layered", "offload-first", "reset")
                content = [{"type": "text", "text": output}] if listed else output
                self.messages.append({"role": "tool", "tool_call_id": i, "content": content})
            return
        blocks = [self.thought()] if thinks else []
        blocks += [{"type": "text", "text": words}] if words else []
        if self.form == "anthropic":
            blocks += [{"type": "tool_use", "id": i, "name": n, "input": g} for i, n, g, _, _ in made]
            back = []
            for i, _, _, output, failed in made:
                content = [{"type": "text", "text": output}] if rng.random() < 0.15 and output else output
                back.append({"type": "tool_result", "tool_use_id": i, "content": content, **({"is_error": True} if failed else {})})
            self.messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": back}]
            return
        blocks += [{"type": "tool-call", "toolCallId": i, "toolName": n, "input": g} for i, n, g, _, _ in made]
        back = [{"type": "tool-result", "toolCallId": i, "toolName": n, "output": {"type": "text", "value": output}}
                for i, n, _, output, _ in made]
        self.messages += [{"role": "assistant", "content": blocks}, {"role": "tool", "content": back}]

    def call(self):
        """A call and what its tool says: (id, name, input, output, whether it failed)."""
        rng = self.rng
        self.ids += 1
        number, name = f"call_{self.ids:04}", rng.choice(TOOLS)
        path = f"src/{rng.choice(WORDS)}{rng.randrange(4)}.py"
        if name == "read_file":
            if path not in self.files:
                self.files[path] = self.content()
            return number, name, {"path": path}, self.files[path], False
        if name == "write_file":
            self.files[path] = self.content()
            return number, name, {"path": path, "content": self.files[path]}, f"Wrote {len(self.files[path])} bytes", False
        if name == "edit_file":
            old = self.files.get(path, "")[:24]
            if len(old) < 24 or self.files[path].count(old) != 1:
                return number, name, {"path": path, "old_text": "nothing", "new_text": "x"}, f"Error: Text not found in {path}", True
            self.files[path] = self.files[path].replace(old, f"edited {self.ids} times, that is", 1)
            return number, name, {"path": path, "old_text": old, "new_text": f"edited {self.ids} times, that is"}, f"Edited {path}", False
        failed = name == "bash" and rng.random() < 0.15
        given = {"command": f"make {rng.choice(WORDS)}"} if name == "bash" else {"pattern": rng.choice(WORDS)}
        if rng.random() < 0.15:
            # Few characters of many tokens.
            return number, name, given, "".join(rng.choice("潮位測站讀數圖表軸🌊") for _ in range(rng.choice([50, 51, 60, 110, 700]))), False
        return number, name, given, ("Error: " if failed else "") + self.prose(self.size()), failed

    def content(self):
        return "\n".join(self.prose(self.rng.choice([20, 40, 70])).replace("\n", " ").replace("\t", " ").rstrip()
                         for _ in range(self.rng.choice([2, 30, 90, 130])))


def arguments(given):
    return json.dumps(given, ensure_ascii=False)


def session(rng, preset, form):
    made = Session(rng, form, preset)
    if form != "anthropic" and rng.random() < 0.5:
        made.messages.append({"role": "system", "content": made.prose(120)})
    for _ in range(rng.choice([1, 1, 2, 3, 5, 8, 12])):
        made.ask()
        for _ in range(rng.choice([0, 0, 1, 2, 4, 7])):
            made.use()
        if rng.random() < 0.85:
            made.answer()
        if form == "openai" and rng.random() < 0.05:
            made.messages.append({"role": "system", "content": made.prose(40)})
    if form == "openai" and preset == "turns" and rng.random() < 0.1:
        made.messages.append({"role": "user", "content": made.prose(30)})
    return made


def case(preset, seed, number):
    rng = random.Random(f"{seed}:{preset}:{number}")
    form = rng.choice(FORMS[preset])
    if number == 0:
        return Case(f"{preset}-0", preset, form, [], keys={}, answers=["Nothing."])
    made = session(rng, preset, form)
    answers = [f"Goal: chart {rng.choice(WORDS)}. " + made.prose(rng.choice([20, 300]))]
    if preset == "turns" and rng.random() < 0.2:
        answers = ["[COMPACTED_CONTEXT]" + answers[0]]
    tries = 3 if preset == "offload-first" else 1
    if rng.random() < 0.25:
        failures = rng.choice([1, 2, 3])
        answers = [500] * failures + answers
        answers = answers[:tries]
    # The last answer may be cut off, or say nothing at all.
    if isinstance(answers[-1], str) and (chance := rng.random()) < 0.2:
        answers = [*answers[:-1], Cut(answers[-1])] if chance < 0.15 else [" "] * tries
    new = Case(f"{preset}-{number}", preset, form, made.messages, made.files, answers=answers)
    new.root = preset == "layered" and rng.random() < 0.5
    if preset == "reset" and rng.random() < 0.2:
        add_compact(rng, made)
    aim(rng, new)
    return new


def add_compact(rng, made):
    """The model asks for a compaction; something may follow."""
    given = {"focus": "the parser"} if rng.random() < 0.5 else {}
    if made.form == "openai":
        call = {"id": "call_compact", "type": "function", "function": {"name": "compact", "arguments": arguments(given)}}
        made.messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                          {"role": "tool", "tool_call_id": "call_compact", "content": "Compressing..."}]
    else:
        made.messages += [{"role": "assistant", "content": [{"type": "tool_use", "id": "call_compact", "name": "compact", "input": given}]},
                          {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_compact", "content": "Compressing..."}]}]
    if rng.random() < 0.5:
        made.answer()


def aim(rng, case, cl100k=None):
    """Sets the trigger beside the history's size (that of `offload-first` by `aim_bpe`, which can count)."""
    kind = rng.choice(["below", "on", "on", "over", "far", "far", "deep", "deep", "manual"])
    off = {"below": -1, "on": 0, "over": 1, "far": rng.randrange(2, 400), "deep": rng.choice([0.2, 0.4, 0.6]), "manual": -5_000}[kind]
    case.manual = kind == "manual"
    preset, keys = case.preset, case.keys
    if preset == "offload-first":
        keys["off"] = off
        return
    module = SYSTEMS[preset]
    if preset == "layered":
        if rng.random() < 0.3:
            keys["demote.min_tokens"] = rng.choice([999, 1_000, 1_001, 1_499, 1_500])
            keys["demote.preview_chars"] = rng.choice([0, 200, 2_000])
        if rng.random() < 0.2:
            keys["clear.keep"] = rng.choice([1, 2, 5])
        if rng.random() < 0.3:
            keys["restore.files"] = rng.choice([0, 1, 2])
        if rng.random() < 0.3:
            keys["restore.tokens_per_file"] = rng.choice([250, 400, 1_000])
    total = size_before_trigger(case)
    # The history is `off` above the threshold, or by that share of its size.
    threshold = below(total, off)
    if preset == "layered":
        keys["window.context"] = threshold + 16_384 + 13_000
        keys["trigger.min_savings"] = 0
        if rng.random() < 0.3:
            saved = module.savings(free(case), Ours(case, None), case.all_keys)
            keys["trigger.min_savings"] = max(0, saved + rng.choice([-1, 0, 1]))
    elif preset == "reset":
        keys["trigger.tokens"] = threshold
        if rng.random() < 0.3:
            keys["summary.input_chars"] = rng.choice([500, 4_000, 20_000])
    elif preset == "boundary":
        keys["window.context"] = threshold + 16_000 + 13_000
    else:
        # Any number can be the whole of a window, and not three quarters of one.
        keys["window.context"], keys["trigger.share"] = threshold, 1.0
        keys["summary.keep_turns"] = rng.choice([1, 1, 2, 3, 6])
        if rng.random() < 0.2:
            keys["summary.too_large_share"] = 0.01


def below(total, off):
    return max(1, int(total * (1 - off)) if isinstance(off, float) else total - off)


def free(case):
    """The messages after the layers that ask nobody."""
    quiet = copy.copy(case)
    quiet.keys = {**case.keys, "window.context": 10**12, "trigger.tokens": 10**12}
    quiet.manual = False
    messages = copy.deepcopy(case.messages)
    if case.preset == "layered":
        return layered.run(messages, Ours(quiet, None), quiet.all_keys)
    if case.preset == "reset":
        reset.micro_compact(messages, Ours(quiet, None), quiet.all_keys)
    return messages


def size_before_trigger(case):
    return SYSTEMS[case.preset].count(free(case))


def aim_bpe(case, cl100k):
    """The same for `offload-first`: offloading begins `off` tokens below the history's size."""
    if case.preset != "offload-first":
        return
    off = case.keys.pop("off", 0)
    case.name_tokens = name_tokens(cl100k)
    total = sum(cl100k([compact(message) for message in case.messages]))
    case.keys["offload.tokens"] = case.keys["trigger.tokens"] = below(total, off)


def name_tokens(cl100k):
    """The fewest and the most tokens of a name in the store, and a few beside them: quotes, and where texts meet."""
    rng = random.Random(0)
    names = cl100k([f"{Case.store}{rng.randrange(16**32):032x}.txt" for _ in range(500)])
    return min(names) - 3, max(names) + 3


FILL = {"layered": (170_616, 4), "reset": (50_000, 4), "boundary": (171_000, 3), "turns": (48_000, 4)}
TAIL = [("user", "go on"), ("assistant", "gone on"), ("user", "and now"), ("assistant", "done"), ("user", "so"), ("assistant", "yes")]


def at_real_thresholds(preset, cl100k):
    """Histories at the document's own numbers: one token below, on and above them."""
    for off in (-1, 0, 1):
        if preset == "offload-first":
            yield from offloads(off, cl100k)
            continue
        goal, step = FILL[preset]
        tail = TAIL + ([("user", f"next {n}") for n in range(6)] if preset == "turns" else [])
        body = [{"role": role, "content": text} for role, text in [("user", "begin"), ("assistant", ""), *tail]]
        count = SYSTEMS[preset].count
        body[1]["content"] = "x" * ((goal + off - count(body) - 2) * step)
        while count(body) < goal + off:
            body[1]["content"] += "x"
        assert count(body) == goal + off
        yield Case(f"{preset}-real{off:+}", preset, FORMS[preset][0], body, answers=["The work so far."])


def offloads(off, cl100k):
    """150 000 tokens in a result, which goes to a file, and in words, which do not; failures, with the document's waits."""
    for name in ("result", "words"):
        call = {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        body = [{"role": "user", "content": "begin"}, {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "done"}]
        body += [{"role": role, "content": text} for role, text in TAIL]
        long = body[2 if name == "result" else 0]
        missing = 150_000 + off - sum(cl100k([compact(message) for message in body]))
        long["content"] += " the" * missing
        assert sum(cl100k([compact(message) for message in body])) == 150_000 + off
        answers = [500, 500, "The work so far."] if name == "words" else []
        case = Case(f"offload-first-real-{name}{off:+}", "offload-first", "openai", body, answers=answers, waits=name == "words" and off == 0)
        case.name_tokens = name_tokens(cl100k)
        yield case
