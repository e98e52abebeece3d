"""Runs `compact --batch` against servers whose every word is checked by, or made of, the types of the providers' own SDKs.

What the program sends has to fit the SDK's parameters (strictly: no key that these do not know); what the servers answer are
the SDK's models, written as JSON. Two sessions are sent, collected and must have their summaries; and the requests of a file
(--batch-file) must fit, too. Run by scripts/ci-external in the environment that it makes, with the program as its argument.

exit codes: 0 all fits; 1 a finding, or the self-test takes what is wrong
"""

import datetime
import email.parser
import email.policy
import json
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from anthropic.types import Message, MessageParam
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from anthropic.types.messages.batch_create_params import BatchCreateParams as AnthropicBatch
from anthropic.types.messages.batch_create_params import Request as AnthropicRequest
from openai.types import Batch, FileObject
from openai.types.batch_create_params import BatchCreateParams as OpenaiBatch
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter, ValidationError

ANTHROPIC = TypeAdapter(AnthropicBatch)
OPENAI = TypeAdapter(OpenaiBatch)
COMPLETION = TypeAdapter(CompletionCreateParamsNonStreaming)
# The SDKs call these iterables, which pydantic looks into only when somebody reads them.
ITEMS = {
    (ANTHROPIC, "requests"): TypeAdapter(list[AnthropicRequest]),
    (COMPLETION, "messages"): TypeAdapter(list[ChatCompletionMessageParam]),
}
MESSAGES = TypeAdapter(list[MessageParam])
SUMMARY = "The stations alder-0 to alder-11 were read, and all of them are well."
PROVIDERS = ["anthropic", "openai"]


def main(program):
    findings = self_test()
    for name in PROVIDERS:
        findings += [f"batches: {name}: {finding}" for finding in check(program, name)]
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"batches: {len(PROVIDERS)} providers, {len(findings)} findings")
    return 1 if findings else 0


def self_test():
    wrong = [
        (ANTHROPIC, {"requests": [{"custom_id": "a", "params": {"model": "m", "messages": []}}]}),
        (OPENAI, {"input_file_id": "f", "endpoint": "/v1/chat", "completion_window": "24h"}),
        (COMPLETION, {"model": "m", "messages": [{"role": "nobody", "content": "x"}]}),
    ]
    return ["batches: the self-test takes what is wrong" for adapter, value in wrong if error_of(adapter, value) is None]


def error_of(adapter, value):
    try:
        adapter.validate_python(value)
        for (whose, key), items in ITEMS.items():
            if whose is adapter:
                items.validate_python(value[key])
        for item in value.get("requests", []):
            MESSAGES.validate_python(item["params"]["messages"])
        # TypedDicts let unknown keys pass; these would be refused by the servers.
        unknown = set(value) - set(json_keys(adapter))
        return f"unknown keys {unknown}" if unknown else None
    except ValidationError as error:
        return str(error).replace("\n", " ")[:500]


def json_keys(adapter):
    schema = adapter.json_schema()
    if "$ref" in schema:
        schema = schema["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema["properties"]


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        state = self.server.state
        if self.path == "/v1/messages/batches":
            state.expect(self.headers["anthropic-version"] == "2023-06-01", "no anthropic-version")
            state.created(json.loads(body), ANTHROPIC)
            return self.answer(state.anthropic("in_progress"))
        if self.path == "/v1/files":
            state.upload(self.headers["content-type"], body)
            return self.answer(FileObject(id="file-1", bytes=len(body), created_at=1, filename="f.jsonl", object="file",
                                          purpose="batch", status="processed"))
        if self.path == "/v1/batches":
            value = json.loads(body)
            state.metadata = value.get("metadata")
            state.check(OPENAI, value)
            return self.answer(state.openai("validating"))
        state.expect(False, f"POST {self.path}")
        self.send_error(404)

    def do_GET(self):
        state = self.server.state
        known = {
            "/v1/messages/batches/msgbatch_1": lambda: state.anthropic("ended"),
            "/v1/messages/batches/msgbatch_1/results": state.anthropic_results,
            "/v1/batches/batch_1": lambda: state.openai("completed"),
            "/v1/files/file-2/content": state.openai_results,
        }
        state.expect(self.path in known, f"GET {self.path}")
        self.answer(known[self.path]())

    def answer(self, value):
        text = value if isinstance(value, str) else value.model_dump_json()
        self.send_response(200)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


class State:
    def __init__(self):
        self.findings, self.items, self.metadata = [], [], None

    def expect(self, is_so, finding):
        if not is_so:
            self.findings.append(finding)

    def check(self, adapter, value):
        error = error_of(adapter, value)
        self.expect(error is None, f"{error}: {json.dumps(value)[:200]}")

    def created(self, value, adapter):
        self.check(adapter, value)
        self.items = value["requests"]
        self.ids()

    def ids(self):
        ids = [item["custom_id"] for item in self.items]
        plain = all(1 <= len(one) <= 64 and one.replace("_", "a").replace("-", "a").isalnum() for one in ids)
        self.expect(plain and len(set(ids)) == len(ids), "ids that are not plain or not unique")

    def upload(self, kind, body):
        parser = email.parser.BytesParser(policy=email.policy.HTTP)
        form = parser.parsebytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + body)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
        self.expect(parts["purpose"].get_payload(decode=True) == b"batch", "the purpose is not batch")
        self.lines(parts["file"].get_payload(decode=True).decode())

    def lines(self, text):
        self.items = [json.loads(line) for line in text.splitlines() if line]
        for item in self.items:
            self.expect(set(item) == {"custom_id", "method", "url", "body"}, f"keys {set(item)}")
            self.expect((item["method"], item["url"]) == ("POST", "/v1/chat/completions"), "method or url")
            self.check(COMPLETION, item["body"])
        self.ids()

    def anthropic(self, status):
        now = datetime.datetime.now(datetime.timezone.utc)
        count, ended = len(self.items), status == "ended"
        counts = {"processing": 0 if ended else count, "succeeded": count if ended else 0, "errored": 0, "canceled": 0,
                  "expired": 0}
        return MessageBatch(id="msgbatch_1", created_at=now, expires_at=now + datetime.timedelta(days=1),
                            processing_status=status, request_counts=counts, type="message_batch",
                            ended_at=now if ended else None, results_url="https://example.com/" if ended else None)

    def anthropic_results(self):
        message = Message(id="msg_1", type="message", role="assistant", model="m", stop_reason="end_turn", stop_sequence=None,
                          content=[{"type": "text", "text": SUMMARY}], usage={"input_tokens": 100, "output_tokens": 20})
        lines = [MessageBatchIndividualResponse(custom_id=item["custom_id"], result={"type": "succeeded", "message": message})
                 for item in self.items]
        return "".join(line.model_dump_json() + "\n" for line in lines)

    def openai(self, status):
        ended = status == "completed"
        count = len(self.items)
        return Batch(id="batch_1", completion_window="24h", created_at=1, endpoint="/v1/chat/completions", input_file_id="file-1",
                     object="batch", status=status, output_file_id="file-2" if ended else None, metadata=self.metadata,
                     request_counts={"total": count, "completed": count if ended else 0, "failed": 0})

    def openai_results(self):
        message = {"role": "assistant", "content": SUMMARY, "refusal": None}
        choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}
        answer = ChatCompletion(id="c", choices=[choice], created=1, model="m", object="chat.completion",
                                usage={"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120})
        # The SDK has no type for these lines; they are those of OpenAI's guide.
        lines = [{"id": "batch_req_1", "custom_id": item["custom_id"], "error": None,
                  "response": {"status_code": 200, "request_id": "r", "body": answer.model_dump(mode="json")}}
                 for item in self.items]
        return "".join(json.dumps(line) + "\n" for line in lines)


def check(program, name):
    state = State()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.state = state
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for number in range(2):
            (folder / f"{number}.jsonl").write_text(session(number))
        flags = ["--summarize", "always", "--summarizer", name, "--model", "m", "--base-url",
                 f"http://127.0.0.1:{server.server_port}", "--set", "summary.keep_tokens=20"]

        def run(*more):
            done = subprocess.run([program, "compact", ".", "--out-dir", "out", *flags, *more], cwd=folder,
                                  capture_output=True, text=True, timeout=120)
            return done.returncode, done.stderr

        code, said = run("--batch", "submit", "--batch-file", "requests.jsonl")
        state.expect(code == 3, f"--batch-file gives {code}: {said}")
        text = (folder / "requests.jsonl").read_text()
        if name == "openai":
            state.lines(text)
        else:
            state.created({"requests": [json.loads(line) for line in text.splitlines()]}, ANTHROPIC)
        for step, expected in [("submit", 3), ("collect", 0)]:
            code, said = run("--batch", step)
            state.expect(code == expected, f"--batch {step} gives {code}: {said}")
        state.expect(len(state.items) == 2, f"{len(state.items)} requests")
        outputs = [path for path in (folder / "out").glob("*.jsonl") if SUMMARY in path.read_text()]
        state.expect(len(outputs) == 2, f"{len(outputs)} outputs with a summary")
    server.shutdown()
    return state.findings


def session(number):
    lines = [{"role": "user", "content": f"Read the gauges of number {number}."}]
    for n in range(12):
        lines.append({"role": "assistant", "content": f"Station alder-{n} answers. " + "It is well. " * 40})
        lines.append({"role": "user", "content": f"And station birch-{n}?"})
    return "".join(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
