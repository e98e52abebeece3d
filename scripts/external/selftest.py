"""Histories with a known verdict, so that a validator that accepts everything is noticed.

`CASES` holds (provider, name, messages, judges): the judges ("shape", "order") that must reject it; none for a good
history, which all must accept.
"""


def _user(text="go on"):
    return {"role": "user", "content": text}


def _use(*ids, **fields):
    return {"role": "assistant", "content": [
        {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "/a"}, **fields} for id in ids]}


def _results(*ids, then=None):
    blocks = [{"type": "tool_result", "tool_use_id": id, "content": "text"} for id in ids]
    return {"role": "user", "content": blocks + ([{"type": "text", "text": then}] if then else [])}


def _calls(*ids, arguments="{\"file_path\":\"/a\"}"):
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "read_file", "arguments": arguments}} for id in ids]}


def _tool(id, **fields):
    return {"role": "tool", "tool_call_id": id, "content": "text", **fields}


_SAY = {"role": "assistant", "content": "done"}
_SYSTEM = {"role": "system", "content": "You are an agent."}
_THINK = {"type": "thinking", "thinking": "hm", "signature": "sig"}

CASES = [
    ("anthropic", "one loop", [_user(), _use("a"), _results("a"), _SAY, _user()], ()),
    ("anthropic", "parallel calls, results in another order, text after them",
     [_user(), _use("a", "b"), _results("b", "a", then="and now?")], ()),
    ("anthropic", "thinking and an image", [
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image", "source": {
            "type": "base64", "media_type": "image/png", "data": "aGk="}}]},
        {"role": "assistant", "content": [_THINK, *_use("a")["content"]]}, _results("a")], ()),
    ("anthropic", "ends with an answer", [_user(), _use("a"), _results("a"), _SAY], ()),
    ("anthropic", "one message over several lines",
     [_user(), _use("a"), _use("b"), _results("a"), _results("b"), _user()], ()),
    ("anthropic", "orphan result", [_user(), _SAY, _results("a"), _SAY, _user()], ("order",)),
    ("anthropic", "orphan result at the start", [_results("a"), _SAY, _user()], ("order",)),
    ("anthropic", "missing result", [_user(), _use("a"), _user(), _SAY, _user()], ("order",)),
    ("anthropic", "one of two results missing", [_user(), _use("a", "b"), _results("a"), _SAY, _user()], ("order",)),
    ("anthropic", "missing result at the end", [_user(), _use("a")], ("order",)),
    ("anthropic", "late result", [_user(), _use("a"), _user(), _SAY, _results("a")], ("order",)),
    ("anthropic", "text before the result", [_user(), _use("a"), _user(), _results("a")], ("order",)),
    ("anthropic", "duplicate result", [_user(), _use("a"), _results("a", "a")], ("order",)),
    ("anthropic", "wrong id", [_user(), _use("a"), _results("b")], ("order",)),
    ("anthropic", "thinking without a signature", [
        _user(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}], ("shape",)),
    ("anthropic", "call without a name", [_user(), {"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "input": {}}]}], ("shape",)),
    ("anthropic", "unknown role", [{"role": "tool", "content": "text"}], ("shape",)),
    ("openai", "one loop", [_SYSTEM, _user(), _calls("a"), _tool("a"), _SAY, _user()], ()),
    ("openai", "parallel calls in another order", [_user(), _calls("a", "b"), _tool("b"), _tool("a"), _SAY, _user()], ()),
    ("openai", "ends with an answer", [_user(), _calls("a"), _tool("a", name="read_file"), _SAY], ()),
    ("openai", "contents as lists of texts", [
        {"role": "user", "content": [{"type": "text", "text": "go"}]}, _calls("a"),
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "text"}]}], ()),
    ("openai", "legacy function call", [
        _user(), {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "text"}], ()),
    ("openai", "orphan result", [_user(), _SAY, _tool("a"), _SAY, _user()], ("order",)),
    ("openai", "orphan result at the start", [_SYSTEM, _tool("a"), _SAY, _user()], ("order",)),
    ("openai", "missing result", [_user(), _calls("a"), _SAY, _user()], ("order",)),
    ("openai", "one of two results missing", [_user(), _calls("a", "b"), _tool("a"), _SAY, _user()], ("order",)),
    ("openai", "missing result at the end", [_user(), _calls("a")], ("order",)),
    ("openai", "late result", [_user(), _calls("a"), _user(), _tool("a")], ("order",)),
    ("openai", "duplicate result", [_user(), _calls("a"), _tool("a"), _tool("a")], ("order",)),
    ("openai", "wrong id", [_user(), _calls("a"), _tool("b")], ("order",)),
    ("openai", "system message late", [_user(), _SAY, _SYSTEM, _user()], ("order",)),
    ("openai", "arguments as an object", [_user(), _calls("a", arguments={"x": 1}), _tool("a")], ("shape",)),
    ("openai", "result without an id", [_user(), {"role": "tool", "content": "text"}], ("shape",)),
    ("openai", "unknown role", [{"role": "human", "content": "text"}], ("shape",)),
]
