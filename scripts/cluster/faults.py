"""What must not end a job: a child or a worker that is killed, a full disk below one folder, records that are malformed.

Each returns what was not as it should be.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from cluster.child import Filter

SCRIPTS = Path(__file__).resolve().parent.parent
TALK = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "I do."}]


def child_dies(binary):
    """A child that ends at one record is started again, and the others are answered."""
    wrapper = Path("poisoned")
    wrapper.write_text(
        f"#!{sys.executable}\n"
        "import subprocess, sys\n"
        f"child = subprocess.Popen([{binary!r}, *sys.argv[1:]], stdin=subprocess.PIPE)\n"
        "for line in sys.stdin.buffer:\n"
        "    if b'poison' in line:\n"
        "        child.kill()\n"
        "        sys.exit(9)\n"
        "    child.stdin.write(line)\n"
        "    child.stdin.flush()\n"
        "child.stdin.close()\n"
        "sys.exit(child.wait())\n")
    wrapper.chmod(0o755)
    lines = [json.dumps({"n": n, "messages": TALK, "x": "poison" if n in (7, 30) else ""}).encode() + b"\n" for n in range(40)]
    asked = Filter(str(wrapper.resolve()), [])
    answers = asked.ask(lines)
    code = asked.close()
    wrong = [] if code == 0 else [f"the child ended with {code}"]
    for n, (line, (answer, stats)) in enumerate(zip(lines, answers, strict=True)):
        status = "failed" if n in (7, 30) else "unchanged"
        if answer != line or stats["status"] != status:
            wrong.append(f"record {n} after a child died: {stats['status']}")
    # One that is killed between two questions.
    asked.ask(lines[:3])
    asked.child.kill()
    if [stats["status"] for _, stats in asked.ask(lines[:3])] != ["unchanged"] * 3:
        wrong.append("a child that was killed is not started again")
    asked.close()
    return wrong


def malformed(binary, python):
    """Records of which some are no records, as lines and as rows."""
    folder = Path("records")
    folder.mkdir()
    good = json.dumps({"id": 1.50, "messages": TALK}).encode()
    lines = [good, b"no json", b"{}", b"", good, b'{"messages":"\xff"}', good]
    (folder / "a.jsonl").write_bytes(b"\n".join(lines))
    if not python:
        return []
    run_ray(python, binary, [folder, "--out-dir", "records-out", "--column", "."], 3)
    answers = Path("records-out/a.jsonl").read_bytes().split(b"\n")
    same = [answer == line for answer, line in zip(answers, lines, strict=True)]
    wrong = [] if same == [True, True, False, True, True, True, True] else [f"malformed lines: {same}"]
    if b'"error":{"kind":"unsupported"' not in answers[2]:
        wrong.append(f"no error in {answers[2]}")
    errors = [json.loads(line)["record"] for line in Path("records-out/errors.jsonl").read_text().splitlines()]
    if errors != [2, 3, 4, 6]:
        wrong.append(f"errors of malformed lines: {errors}")
    return wrong + parquet(binary, python)


def parquet(binary, python):
    """The rows that a Parquet file had, with the texts of `compact`, and a column of errors."""
    make = (
        "import pyarrow, sys\n"
        "from pathlib import Path\n"
        "from pyarrow import parquet\n"
        "paths = sorted(Path('in').glob('openai/*.jsonl'))[:60] + sorted(Path('in').glob('codex/*.jsonl'))[:60]\n"
        "texts = [path.read_bytes().decode() for path in paths] + [None, 'nothing', '']\n"
        "table = pyarrow.table({'name': [str(p)[3:] for p in paths] + ['', 'x', 'y'], 'text': texts, 'n': [0.1] * len(texts)})\n"
        "Path('tables').mkdir()\n"
        "parquet.write_table(table, 'tables/train-0.parquet', row_group_size=50, compression='zstd')\n")
    subprocess.run([python, "-c", make], check=True)
    run_ray(python, binary, ["tables", "--out-dir", "tables-out", "--column", "text", "--", "--target", "6000"], 3)
    read = (
        "import json\n"
        "from pyarrow import parquet\n"
        "old = parquet.read_table('tables/train-0.parquet').to_pylist()\n"
        "new = parquet.read_table('tables-out/train-0.parquet').to_pylist()\n"
        "print(json.dumps([old, new]))\n")
    old, new = json.loads(subprocess.run([python, "-c", read], check=True, stdout=subprocess.PIPE).stdout)
    wrong = []
    for before, after in zip(old, new, strict=True):
        error = after.pop("error")
        is_bad = before["name"] in ("", "x", "y")
        text = after.pop("text")
        expected = before.pop("text") if is_bad else file_of(binary, before["name"])
        if before.get("text"):
            del before["text"]
        if before != after or text != expected or bool(error) != is_bad:
            wrong.append(f"row {before['name']!r}: {error}")
    return wrong


def file_of(binary, name):
    """What `compact` makes of it to a stream, which has no store."""
    ran = subprocess.run([binary, "-q", "compact", f"in/{name}", "-o", "-", "--no-report", "--target", "6000"],
                         check=True, stdout=subprocess.PIPE)
    return ran.stdout.decode()


def worker_dies(binary, python, hashes):
    """A worker that is killed twice in the middle of its work: nothing is missing, nothing differs."""
    command = ray_command(python, binary, ["in", "--out-dir", "killed", "--", "--target", "6000"])
    # What one leaves that is killed while it writes.
    name = min(Path("in").rglob("*.jsonl")).relative_to("in")
    begun = Path("killed", name).with_name(f".{name.name}.1.part")
    begun.parent.mkdir(parents=True)
    begun.write_text("{")
    with open("killed.log", "wb") as log:
        job = subprocess.Popen(command, stdout=log, stderr=log)
    killed = 0
    while job.poll() is None:
        time.sleep(0.2)
        written = sum(1 for _ in Path("killed").rglob("*.jsonl*")) if Path("killed").is_dir() else 0
        if killed < 2 and written > 200 * (killed + 1):
            worker = worker_of("killed")
            if worker:
                os.kill(worker, signal.SIGKILL)
                killed += 1
    wrong = [] if job.returncode == 3 else [f"a job with a killed worker ends with {job.returncode}"]
    if killed < 2:
        wrong.append("the job was over before a worker could be killed twice")
    if hashes(Path("killed")) != hashes(Path("one")):
        wrong.append("outputs differ after a worker was killed")
    totals = [json.loads(Path(folder, "ctxpack.stats.json").read_text())["totals"] for folder in ("killed", "one")]
    return wrong + ([] if totals[0] == totals[1] else [f"totals after a worker was killed: {totals[0]}"])


def worker_of(out):
    """The parent of the child that has this store: the worker."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        if b"filter" in words and os.fsencode(str(Path(out).resolve() / ".ctxpack")) in words:
            return int(stat.rsplit(") ", 1)[1].split()[1])
    return None


def disk_full(binary, python, hashes):
    """A folder whose disk is full: its files are listed, and the others are done."""
    full = Path("full/codex")
    full.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "ctxpack", full], stderr=subprocess.PIPE)
    if mounted.returncode:
        print(f"cluster-check: full disk: not tried: {mounted.stderr.decode().strip()}")
        return []
    try:
        run_ray(python, binary, ["in", "--out-dir", "full", "--", "--target", "6000"], 3)
        errors = [json.loads(line) for line in Path("full/errors.jsonl").read_text().splitlines()]
        outputs = hashes(Path("full"))
    finally:
        subprocess.run(["umount", full], check=True)
    listed = {error["path"] for error in errors if error["kind"] == "io"}
    expected = hashes(Path("one"))
    missing = {path for path in expected if path not in outputs}
    wrong = [] if missing and missing == listed else [f"a full disk: {len(missing)} missing, {len(listed)} listed"]
    if any(not path.startswith("codex/") for path in missing):
        wrong.append("a full disk below one folder kept others from being written")
    wrong += [f"{path} differs beside a full disk" for path in outputs if outputs[path] != expected.get(path)]
    return wrong


def ray_command(python, binary, words):
    flags = words[words.index("--"):] if "--" in words else []
    words = words[:len(words) - len(flags)]
    return [python, SCRIPTS / "ray_compact.py", *words, "--binary", binary, "--workers", "2", *flags]


def run_ray(python, binary, words, code):
    with open("ray-faults.log", "ab") as log:
        ran = subprocess.run(ray_command(python, binary, words), stdout=log, stderr=log)
    if ran.returncode != code:
        raise SystemExit(f"cluster-check: ray ended with {ran.returncode}: {words}; see ray-faults.log")
