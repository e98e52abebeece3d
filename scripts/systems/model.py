"""A server on 127.0.0.1 that answers requests for a summary as it was told, and keeps what it was sent.

Speaks the part of Anthropic's Messages API that a summary needs. It never answers twice in different ways: each case hands
over its list of answers, and a request beyond that list is a finding."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .host import Cut


class Model:
    def __init__(self):
        self.answers, self.requests = [], []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, reply = model.answer(body)
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def expect(self, answers):
        """The answers to come: a text, one that is cut off, or an exception's status."""
        self.answers, self.requests = list(answers), []

    def answer(self, body):
        self.requests.append((time.monotonic(), body))
        at = len(self.requests) - 1
        answer = self.answers[at] if at < len(self.answers) else "Nobody expected this request."
        if isinstance(answer, int):
            return answer, {"type": "error", "error": {"type": "api_error", "message": "scripted failure"}}
        reason, text = ("max_tokens", answer.text) if isinstance(answer, Cut) else ("end_turn", answer)
        return 200, {"id": f"msg_{at}", "type": "message", "role": "assistant", "model": "m", "stop_reason": reason,
                     "stop_sequence": None, "content": [{"type": "text", "text": text}],
                     "usage": {"input_tokens": 1, "output_tokens": 1}}
