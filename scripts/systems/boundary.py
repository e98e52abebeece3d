"""The rules of `boundary` (s24, auto-compact), transcribed from its document.

Where the document is silent, the published code decides: the acknowledgement's words, 8 192 tokens for the summary, and
that the last turn begins with the last message of the role `user`. Its other numbers and texts differ from the document's,
which wins: 16 000 tokens for the answer, and the marks around the summary. The prompt is not in the document, only what it
asks for."""

from .host import Request
from .shapes import parts, units

DEFAULTS = {"window.context": 200_000, "window.max_output": 16_000, "window.buffer": 13_000, "summary.keep_turns": 1}
SYSTEM = "你是一个对话摘要助手。"
ACKNOWLEDGEMENT = "我已了解之前的对话上下文。请继续。"


def count_as_written(messages):
    return count(messages, list_units=len)


def count(messages, list_units=lambda _: 0):
    units_in_all = 0
    for message in messages:
        if isinstance(message.get("content"), str):
            units_in_all += units(message["content"])
            continue
        for block in parts(message):
            if isinstance(block.get("text"), str):
                units_in_all += units(block["text"])
            elif isinstance(block.get("content"), str):
                units_in_all += units(block["content"])
            elif isinstance(block.get("content"), list):
                units_in_all += list_units(block["content"])
    # In whole numbers: the quarter and the four thirds are a third.
    return -(-units_in_all // 3)


def threshold(keys):
    return keys["window.context"] - keys["window.max_output"] - keys["window.buffer"]


def run(messages, host, keys):
    counted = host.counter(count_as_written, count, "a list counts nothing")

    def is_over(some):
        return counted(some) > threshold(keys)

    if not host.manual and not is_over(messages):
        return messages
    summary_at = host.last_turn(messages, keys["summary.keep_turns"], is_over)
    summary = host.ask(messages, summary_at, Request(system=SYSTEM, prompt=None, max_tokens=8_192, whole=True, after=True))
    if summary is None:
        return messages
    first = {"role": "user", "content": f"[对话摘要]\n{summary}\n[摘要结束]"}
    answer = {"role": "assistant", "content": ACKNOWLEDGEMENT}
    return host.place(messages, summary_at, [first, answer], counted)
