"""A model endpoint on loopback: answers every agent with the same few words and keeps what it was asked.

Speaks the part of the Messages API that Claude Code needs, that of the Responses API that Codex needs, that of Gemini's API that
its agent needs, and that of chat completions that Qwen Code needs. Never opens a connection of its own.
"""

import gzip
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = "Hello from the recorder."
# Small figures: a full window here would make the agent compact by itself.
USAGE = {"input_tokens": 10, "output_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


class Endpoint:
    """Use it as a context manager: it serves inside the block."""

    def __init__(self):
        self._lock = threading.Lock()
        self._requests = []
        self._server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"endpoint": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def keep(self, body):
        with self._lock:
            self._requests.append(body)

    def has_kept(self, words):
        """Whether one of the requests that `take` would give holds these words."""
        with self._lock:
            return any(words in json.dumps(body) for body in self._requests)

    def take(self):
        """The bodies of the requests for an answer since the last call, in the order of their arrival."""
        with self._lock:
            taken, self._requests = self._requests, []
        return taken


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """An agent that ends leaves connections open; that is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    endpoint = None

    def do_HEAD(self):
        self.answer(b"", "text/plain")

    def do_GET(self):
        self.answer(b'{"type":"error","error":{"type":"not_found_error","message":"not here"}}', code=404)

    def do_POST(self):
        body = self.body()
        path = self.path.split("?")[0]
        if path.endswith("/messages/count_tokens"):
            self.answer(json.dumps({"input_tokens": len(json.dumps(body)) // 4 + 1}).encode())
        elif path.endswith("/messages"):
            self.endpoint.keep(body)
            message = {
                "id": "msg_recorder", "type": "message", "role": "assistant", "model": body.get("model"),
                "content": [{"type": "text", "text": ANSWER}],
                "stop_reason": "end_turn", "stop_sequence": None, "usage": USAGE,
            }
            if body.get("stream"):
                self.answer(stream(message), "text/event-stream")
            else:
                self.answer(json.dumps(message).encode())
        elif path.endswith("/responses"):
            self.endpoint.keep(body)
            self.answer(responses(body.get("model")), "text/event-stream")
        elif path.endswith("/chat/completions"):
            self.endpoint.keep(body)
            if body.get("stream"):
                self.answer(completions(body.get("model")), "text/event-stream")
            else:
                self.answer(json.dumps(completion(body.get("model"))).encode())
        elif path.endswith(":streamGenerateContent"):
            self.endpoint.keep(body)
            self.answer(f"data: {json.dumps(generated())}\r\n\r\n".encode(), "text/event-stream")
        elif path.endswith(":generateContent"):
            self.endpoint.keep(body)
            self.answer(json.dumps(generated()).encode())
        else:
            self.answer(b"{}")

    def body(self):
        if "chunked" in self.headers.get("transfer-encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        return json.loads(data) if data else {}

    def answer(self, data, kind="application/json", code=200):
        self.send_response(code)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Not on the terminal."""


def stream(message):
    """The server-sent events of one answer."""
    start = {**message, "content": [], "stop_reason": None}
    events = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": USAGE["output_tokens"]}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def generated():
    """One answer of Gemini's API."""
    content = {"role": "model", "parts": [{"text": ANSWER}]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def completion(model):
    """One answer of chat completions."""
    message = {"role": "assistant", "content": ANSWER}
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    return {"id": "chatcmpl-recorder", "object": "chat.completion", "created": 1, "model": model, "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def completions(model):
    """The server-sent events of the same answer."""
    whole = completion(model)
    chunk = {**whole, "object": "chat.completion.chunk", "usage": None}
    said = {"index": 0, "delta": {"role": "assistant", "content": ANSWER}, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": "stop"}
    events = [{**chunk, "choices": [said]}, {**chunk, "choices": [ended]}, {**chunk, "choices": [], "usage": whole["usage"]}]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"


def responses(model):
    """The server-sent events of one answer of the Responses API."""
    item = {"type": "message", "id": "msg_recorder", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 3,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 13}
    done = {"id": "resp_recorder", "object": "response", "created_at": 1, "status": "completed", "model": model,
            "output": [item], "usage": usage}
    events = [
        {"type": "response.created", "response": {**done, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
