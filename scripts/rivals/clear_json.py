#!/usr/bin/env python3
"""The rival of `scripts/bench`: clears long tool results with one json.loads and one json.dumps a line.

Every tool result whose text is longer than 200 characters is replaced by the placeholder, a string by a string and a
list by a list of one text; everything else is kept. In Claude Code lines the `toolUseResult` copy goes too. Written as
a competent script would be; never tuned against ctxpack.

exit codes: 0 done; 1 a line is not JSON or a file cannot be read; 2 wrong arguments
"""

import argparse
from pathlib import Path

LIMIT = 200  # characters; longer results are cleared


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("placeholder")
    parser.add_argument("in_dir", type=Path)
    parser.add_argument("out_dir", type=Path)
    parser.add_argument("--orjson", action="store_true", help="use orjson instead of json")
    args = parser.parse_args()
    convert = with_orjson(args.placeholder) if args.orjson else with_json(args.placeholder)
    for source in sorted(args.in_dir.rglob("*.jsonl")):
        target = args.out_dir / source.relative_to(args.in_dir)
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(source, "rb") as lines, open(target, "wb") as out:
            for line in lines:
                out.write(convert(line))


def with_json(placeholder):
    import json

    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def convert(line):
        record = json.loads(line.decode())
        edit(record, placeholder)
        return encode(record).encode() + b"\n"

    return convert


def with_orjson(placeholder):
    import orjson

    def convert(line):
        record = orjson.loads(line)
        edit(record, placeholder)
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)

    return convert


def edit(record, placeholder):
    """Clears in place what one line holds: a conversation, an enveloped message or a bare one."""
    if "messages" in record:
        for message in record["messages"]:
            clear_message(message, placeholder)
    elif "message" in record:
        if clear_message(record["message"], placeholder) and "toolUseResult" in record:
            record["toolUseResult"] = placeholder
    else:
        clear_message(record, placeholder)


def clear_message(message, placeholder):
    """Whether anything was cleared."""
    if message.get("role") == "tool":
        return clear(message, placeholder)
    content = message.get("content")
    if not isinstance(content, list):
        return False
    cleared = [clear(block, placeholder) for block in content if block["type"] == "tool_result"]
    return any(cleared)


def clear(result, placeholder):
    content = result["content"]
    if isinstance(content, str):
        if len(content) <= LIMIT:
            return False
        result["content"] = placeholder
    else:
        if sum(len(block.get("text", "")) for block in content) <= LIMIT:
            return False
        result["content"] = [{"type": "text", "text": placeholder}]
    return True


if __name__ == "__main__":
    main()
