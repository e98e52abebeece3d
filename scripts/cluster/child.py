"""A `ctxpack filter` beside its worker: asked line by line, started again where it died.

Never changes a byte of a record: what the child adds for the worker (its stats) is cut off again.
"""

import json
import subprocess
import threading

STATS = "ctxpack_stats"
# `,"ctxpack_stats":`, the last member of an answer: within a string, the quotes would be escaped.
MARK = f',"{STATS}":'.encode()


class Filter:
    """One child; `retries` is how often a record may end it before it comes back with an error."""

    def __init__(self, binary, arguments, retries=2):
        self.command = [binary, "-q", "filter", "--stats-field", STATS, *arguments]
        self.retries = retries
        self.child = None

    def ask(self, lines):
        """The answer to each line (bytes that end with a newline), in order: its bytes, and its stats or None."""
        answers = []
        try:
            self._exchange(lines, answers)
        except Died:
            # Several were on their way: the one that ended the child is found by asking for one at a time.
            for line in lines[len(answers):]:
                self._ask_one(line, answers)
        return answers

    def _ask_one(self, line, answers):
        for _ in range(self.retries):
            try:
                return self._exchange([line], answers)
            except Died as error:
                died = error
        answers.append((line, failed("", died)))

    def _exchange(self, lines, answers):
        child = self._running()
        feeder = threading.Thread(target=feed, args=(child.stdin, lines), daemon=True)
        feeder.start()
        for _ in lines:
            answer = child.stdout.readline()
            if not answer.endswith(b"\n"):
                self._end()
                feeder.join()
                raise Died(f"ctxpack filter ended with exit code {child.returncode}")
            answers.append(split(answer))
        feeder.join()

    def _running(self):
        if self.child is None:
            # Its errors go where the worker's go.
            self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self.child

    def _end(self):
        child, self.child = self.child, None
        child.stdout.close()
        child.wait()

    def close(self):
        """Ends the child; gives its exit code."""
        if self.child is None:
            return 0
        child, self.child = self.child, None
        child.stdin.close()
        child.stdout.close()
        return child.wait()


def failed(path, error, kind=None):
    """The entry of a report for what the child never saw, or did not survive."""
    kind = kind or ("io" if isinstance(error, OSError) else "internal")
    return {"input": path, "output": None, "format": None, "status": "failed",
            "error": {"kind": kind, "message": str(error) or type(error).__name__, "line": None},
            "original": None, "findings_before": 0, "findings_after": 0, "hash_before": None, "hash_after": None,
            "bytes_before": 0, "bytes_after": 0, "tokens_before": 0, "tokens_after": 0, "messages_before": 0,
            "messages_after": 0, "degraded": [], "warnings": [], "conversations": []}


class Died(Exception):
    """The child is gone, with records on their way."""


def feed(pipe, lines):
    try:
        for line in lines:
            pipe.write(line)
        pipe.flush()
    except (BrokenPipeError, ValueError):
        pass  # Whoever reads the answers sees that it died.


def split(answer):
    """An answer without the stats, and these."""
    at = answer.rfind(MARK)
    if at < 0:
        return answer, None
    end = answer.rindex(b"}")
    stats = json.loads(answer[at + len(MARK):end])
    return answer[:at] + answer[end:], stats
