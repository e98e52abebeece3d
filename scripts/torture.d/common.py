"""What the parts of scripts/torture share: arguments, rows, work folders, transcripts, and runs with a time limit."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIXTURES = ROOT / "fixtures"
# Longer than any run here takes on a loaded machine.
LIMIT = 30
HUNG = "hung"
SHOWN = 20
LONGEST = 600


def arguments(doc, extend=None):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target" / "release" / "ctxpack")
    parser.add_argument("--quick", action="store_true", help="a sample of the cases")
    if extend:
        extend(parser)
    args = parser.parse_args()
    args.binary = args.binary.resolve()
    if not args.binary.exists():
        parser.error(f"{args.binary} is missing: cargo build --release")
    return args


class Row:
    """Counts the cases of one line of the table. Threads share it. `with Row(name) as row` prints it at the end."""

    failed = False

    def __init__(self, name):
        self.name, self.cases = name, 0
        self.counts = {"lost": 0, "wrong": 0, "hung": 0}
        self.lock = threading.Lock()

    def __enter__(self):
        self.started = time.monotonic()
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            return
        if self.cases == 0:
            self.fail("wrong", "no case was run")
        seconds = time.monotonic() - self.started
        print(self.name, self.cases, *self.counts.values(), f"{seconds:.1f}", sep="\t", flush=True)

    def case(self, count=1):
        with self.lock:
            self.cases += count

    def fail(self, kind, what):
        with self.lock:
            Row.failed = True
            self.counts[kind] += 1
            shown = sum(self.counts.values())
        if shown <= SHOWN:
            print(f"{self.name}: {kind}: {what[:LONGEST]}", file=sys.stderr, flush=True)
        if shown == SHOWN:
            print(f"{self.name}: more of these are counted, but not shown", file=sys.stderr, flush=True)


def skip(name, reason):
    print(name, "skipped", reason, sep="\t", flush=True)


def exit_code():
    return 1 if Row.failed else 0


class Done:
    """How a run ended. `code` is negative for a signal, or HUNG."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def is_crash(self):
        """A panic, an abort or a fault of the processor, however it was caught."""
        return self.code in (101, 134, 139, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS) or "panicked at" in self.err


def run(*command, cwd=None, env=None, stdin=subprocess.DEVNULL, limit=LIMIT, stdout=subprocess.PIPE):
    """Runs a program; what hangs is killed with all that it started."""
    process = subprocess.Popen([str(part) for part in command], cwd=cwd, env=env or environment(), stdin=stdin,
                               stdout=stdout, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        code = HUNG
    return Done(code, out or b"", err.decode(errors="replace"))


def environment():
    """Nothing of the user's that could change a run."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8"}


def work_folder(on_disk=False):
    """A folder that is gone at the end: in memory where there is a RAM disk, since most parts wait for many small runs."""
    ram = Path("/dev/shm")
    folder = ram if not on_disk and ram.is_dir() and os.access(ram, os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="ctxpack-torture-", dir=folder)


def in_parallel(function, items, workers=None):
    """All results, in order. The function gets a worker's number and an item; a worker does one at a time."""
    workers = workers or min(os.cpu_count() or 1, 8)
    numbers = list(range(workers))
    lock = threading.Lock()

    def one(item):
        with lock:
            number = numbers.pop()
        try:
            return function(number, item)
        finally:
            with lock:
                numbers.append(number)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, items))


def sample(items, count):
    """At most `count` of the items, from the first to the last with equal steps."""
    items = list(items)
    count = min(count, len(items))
    return [items[at * len(items) // count] for at in range(count)]


def files(folder):
    """Every regular file below a folder, with its bytes; stores included."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and not path.is_symlink():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def is_temporary(name):
    base = os.path.basename(name)
    return base.startswith(".ctxpack-") and base.endswith(".tmp")


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def old(path, seconds=1000):
    """Gives a file a time in the past: ctxpack waits for a moment for those who wrote just now."""
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def output(number, size=100):
    """A tool's output; by default some 450 tokens, enough to be cleared."""
    return f"line {number} of the output\n" * size


def anthropic(results, size=100, name="Bash"):
    """A transcript of Anthropic messages with that many tool results, as bytes."""
    lines = [{"role": "user", "content": "Please look around, and mind the file notes.txt."}]
    for at in range(results):
        call = {"type": "tool_use", "id": f"toolu_{at:04}", "name": name, "input": {"command": f"cat part-{at}.txt"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{at:04}", "content": output(at, size)}
        lines.append({"role": "assistant", "content": [{"type": "text", "text": f"Part {at} next."}, call]})
        lines.append({"role": "user", "content": [result]})
    lines.append({"role": "assistant", "content": "All parts were read."})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
