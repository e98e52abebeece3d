"""Runs ctxpack on a case, and compares what it has made with what a transcription has made."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from . import layered
from .generate import Case
from .host import FILES, NAME, WORDS
from .shapes import compact, texts, thinks

ENTRY = re.compile(r"\[File restored: (.*?)(?:, lines \d+-\d+)?\]\n(`{3,})\n(.*?)\n?\2(\n\[Cut here: there is more\])?(?=\n\n\[File|\Z)", re.S)
BODY = re.compile(r"(?:(.*?)\n\n)?<(transcript-[0-9a-f]{32})>\n(.*)\n</\2>(?:\n\n(.*))?", re.S)
NOTICE = "\n\nThe text between <transcript-"
# No part of a file comes back that is smaller, and its header, fence and mark take no more.
USEFUL, HEADER = 200, 40
QUOTED = r"(?P<words>\n\n## User requests\nL\d+.*?)?"


class Ran:
    def __init__(self, messages, folder, code, said):
        self.messages, self.folder, self.code, self.said = messages, folder, code, said


def run(program, case, folder, url, more=()):
    """The messages that ctxpack makes of the case's."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = "".join(compact(message) + "\n" for message in case.messages)
    (folder / "in.jsonl").write_text(lines, encoding="utf-8")
    command = [program, "compact", "--isolated", "in.jsonl", "-o", "out.jsonl", "--policy", case.preset, "--no-report",
               "--input-format", case.form, "--summarizer", "anthropic", "--base-url", url, "--model", "m",
               "--set", "redact=never"]
    command += [] if case.waits else ["--set", "summary.wait_ms=1"]
    for key, value in case.keys.items():
        command += ["--set", f"{key}={value}"]
    if case.manual:
        command += ["--summarize", "always"]
    if case.instructions:
        command += ["--instructions", case.instructions]
    if case.root:
        for path, content in case.files.items():
            (folder / "root" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "root" / path).write_text(content, encoding="utf-8")
        if (folder / "root").exists():
            command += ["--files-root", "root"]
    done = subprocess.run([*command, *more], cwd=folder, capture_output=True, text=True)
    out = folder / "out.jsonl"
    if not out.exists():
        return Ran(None, folder, done.returncode, done.stderr)
    read = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return Ran(read, folder, done.returncode, done.stderr)


def differences(expected, host, ran):
    """What differs, in words; empty if nothing does."""
    if ran.messages is None:
        return [f"no output, exit code {ran.code}: {ran.said.strip()[-300:]}"]
    wanted = [{key: value for key, value in message.items() if key != "_ours"} for message in expected]
    if len(wanted) != len(ran.messages):
        return [f"{len(wanted)} messages expected, {len(ran.messages)} made"]
    found = []
    for number, (want, got) in enumerate(zip(wanted, ran.messages), 1):
        place = f"message {number}"
        if isinstance(want, dict) and want != got:
            found += values(want, got, place, host, ran)
    return found


def values(want, got, place, host, ran):
    if isinstance(want, dict) and isinstance(got, dict):
        if want.keys() != got.keys():
            return [f"{place}: keys {sorted(want)} expected, {sorted(got)} made"]
        return [word for key in want for word in values(want[key], got[key], f"{place}.{key}", host, ran)]
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return [f"{place}: {len(want)} parts expected, {len(got)} made"]
        return [word for n, (a, b) in enumerate(zip(want, got)) for word in values(a, b, f"{place}[{n}]", host, ran)]
    if isinstance(want, str) and isinstance(got, str):
        return text(want, got, place, host, ran)
    return [] if want == got else [f"{place}: {want!r:.80} expected, {got!r:.80} made"]


def store_of(program, folder, url):
    """How the names of stored outputs begin."""
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "so it goes " * 100}, {"role": "assistant", "content": "gone"}]
    keys = {"demote.min_tokens": 9, "demote.preview_chars": 0}
    made = run(program, Case("store", "layered", "openai", messages, keys=keys), folder, url).messages
    return re.search(r"Saved to: (\S*?)[0-9a-f]{32}\.txt", made[2]["content"])[1]


def text(want, got, place, host, ran):
    if want == got:
        return []
    pattern, numbers = "", []
    for piece in re.split(f"({NAME}\\d+{NAME}|{WORDS}|{FILES})", want):
        if piece.startswith(NAME):
            numbers.append(int(piece.strip(NAME)))
            pattern += r"([^\s\]]+)"
        elif piece == WORDS:
            pattern += QUOTED if host.last_words.strip() else ""
        elif piece == FILES:
            pattern += r"(?P<files>\n\n\[File restored.*)?"
        else:
            pattern += re.escape(piece)
    match = re.fullmatch(pattern, got, re.S)
    if not match:
        at = next((n for n, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
        return [f"{place}: {want[max(0, at - 20):at + 60]!r} expected, {got[max(0, at - 20):at + 60]!r} made"]
    named = match.groupdict()
    found = []
    names = [group for group in match.groups() if group is not None and group not in named.values()]
    for number, name in zip(numbers, names):
        found += stored(host.saved[number], name, place, host, ran)
    if WORDS in want and host.last_words.strip():
        found += quoted(named.get("words") or "", host.last_words, place)
    if FILES in want:
        found += files(host, named.get("files") or "", place, ran)
    return found


def stored(content, name, place, host, ran):
    """What is in the store under the name: an output's text, or the history's messages."""
    file = ran.folder / name
    if not file.is_file():
        return [f"{place}: {name} cannot be opened"]
    if isinstance(content, str):
        same = file.read_bytes() == content.encode()
        return [] if same else [f"{place}: {name} has another content"]
    kept = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [] if kept == host.case.messages else [f"{place}: {name} is not the history"]


def quoted(extra, words, place):
    """A summary quotes the user's last words: all of them, or their beginning where they are very long."""
    squeezed = " ".join(extra.split())
    same = " ".join(words.split())
    return [] if same[:400] in squeezed else [f"{place}: {same[:60]!r} is not quoted in {squeezed[:120]!r}"]


def is_in_doubt(messages, path):
    """Whether a command was run after the last message that names a file: none of those that are generated is known to be harmless."""
    lines = [json.dumps(message, ensure_ascii=False) for message in messages]
    named = [number for number, line in enumerate(lines) if path in line]
    return any("command" in line for line in lines[named[-1]:]) if named else False


def files(host, section, place, ran):
    made = [(path, content, bool(cut)) for path, _, content, cut in ENTRY.findall(section)]
    wanted = host.files
    bare = [(path, content.rstrip("\n"), cut) for path, content, cut in wanted]
    if [(path, content.rstrip("\n"), cut) for path, content, cut in made] == bare:
        return []
    if not host.is_ours:
        return [f"{place}: other files were restored"]
    # Older files may follow instead of some that had no room.
    keys = {**host.case.all_keys, "restore.files": len(host.case.files) + 1}
    most, older = len(wanted), layered.restore_recent_files(host.case.messages, host, keys)[len(wanted):]
    order = [path for path, _, _ in wanted + older if path in {path for path, _, _ in made}]
    wanted = wanted + [file for file in older if file[0] in order and len(order) <= most]
    if order != [path for path, _, _ in made]:
        return [f"{place}: {[path for path, _, _ in made]} were restored, of {[path for path, _, _ in wanted]}"]
    found, back = [], {path: content.rstrip("\n") for path, content, _ in made}
    # What is left of the saving: a file that is missing must not have fitted, nor a useful part of it.
    left = host.limit - 1 - layered.count(ran.messages)
    for path, full, is_cut in wanted:
        part = back.get(path)
        if part is None and is_in_doubt(host.case.messages, path):
            host.note("what may have changed is not restored")
        elif part is None:
            host.note("restored within the saving")
            if left >= min(layered.estimate(full), USEFUL) + HEADER:
                found.append(f"{place}: {path} was not restored, though {left} tokens are left")
        elif not full.startswith(part):
            found.append(f"{place}: {path} was restored with another content")
        elif len(part) < len(full.rstrip("\n")):
            host.note("a file is cut at a line" if is_cut else "restored within the saving")
            if not is_cut and left >= layered.estimate(full) - layered.estimate(part) + 1:
                found.append(f"{place}: {path} was cut, though {left} tokens are left")
    return found


def requests(plain, ours, bodies, tried_by_program):
    """What differs between the requests, and the reasons for what may differ."""
    found, reasons = [], set()
    if tried_by_program != ours.tried:
        found.append(f"{ours.tried} requests expected, {tried_by_program} sent")
    if plain.tried != ours.tried:
        reasons.add("asked otherwise: see its messages")
    if not ours.requests or not bodies:
        return found, reasons
    want, body = ours.requests[0], bodies[0]
    content = body["messages"][0]["content"]
    match = BODY.fullmatch(content)
    if not match or len(body["messages"]) != 1:
        return [*found, f"a request of another form: {content[:100]!r}"], reasons
    reasons.add("sent as data")
    head, _, sent, tail = match.groups()
    if want.after:
        if head is not None:
            found.append(f"the message begins with {head[:60]!r}, and not with the conversation")
        head = tail
    elif tail is not None:
        found.append(f"the message ends with {tail[-60:]!r}, and not with the conversation")
    if want.by_system:
        if head is not None:
            found.append(f"the message begins with {head[:60]!r}")
        head = body["system"].split(NOTICE)[0]
    head = head or ""
    if not body["system"].startswith(want.system):
        found.append(f"system prompt {body['system'][:60]!r}")
    focus = want.focus or ours.case.instructions
    if focus:
        reasons.add("a focus of our own words")
        if not head.endswith(focus):
            found.append(f"the focus {focus!r} is not in {head[-60:]!r}")
        head = head.rsplit("\n\n", 1)[0]
    if want.prompt is None:
        reasons.add("a prompt of our own")
    else:
        number = re.compile(r"approximately \d+ tokens")
        if number.sub("", head) != number.sub("", want.prompt):
            found.append(f"prompt {head[:80]!r} ... {head[-60:]!r}")
    limit = body["max_tokens"]
    if ours.case.preset in ("layered", "turns"):
        reasons.add("a size of our own")
        if not 1 <= limit <= 12_000:
            found.append(f"max_tokens {limit}")
    elif limit != want.max_tokens:
        found.append(f"max_tokens {limit} instead of {want.max_tokens}")
    if want.text is not None:
        if sent != want.text:
            at = next((n for n, (a, b) in enumerate(zip(want.text, sent)) if a != b), min(len(want.text), len(sent)))
            found.append(f"input: {want.text[max(0, at - 20):at + 60]!r} expected, {sent[max(0, at - 20):at + 60]!r} sent "
                         f"({len(want.text)} and {len(sent)} characters)")
        return found, reasons
    if ours.case.preset != "offload-first" and plain.requests and sum(m["role"] != "system" for m in plain.requests[0].sent) != len(want.sent):
        reasons.add("kept messages are not sent")
    found += in_order(want.sent, sent)
    return found, reasons


def in_order(messages, sent):
    """Every text of the messages, in their order, and hardly anything besides."""
    at, size, pieces = 0, 0, 0
    for message in messages:
        content = message.get("content")
        shown = {**message, "content": [p for p in content if not thinks(p)]} if isinstance(content, list) else message
        shown = {key: value for key, value in shown.items() if key != "tool_calls"}
        for piece in texts([shown]):
            piece = piece.strip()
            size, pieces = size + len(piece), pieces + 1
            if piece.startswith(("{", NAME)) or NAME in piece:
                continue
            found = sent.find(piece, at)
            if found < 0:
                return [f"not sent, or not in its order: {piece[:60]!r}"]
            at = found + len(piece)
    calls = sum(len(message.get("tool_calls") or []) for message in messages)
    most = size + 64 * (pieces + calls) + sum(len(compact(message.get("tool_calls") or [])) for message in messages) + 64
    return [] if len(sent) <= most else [f"{len(sent)} characters sent, of texts of {size}"]
