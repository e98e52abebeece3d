"""The pages that are checked: of one file, of a folder, of many rows, and of hostile text. Made with the real program."""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Each sets `ran`, if a browser runs it.
PAYLOADS = [
    "<script>ran=1</script>", "</script><script>ran=1</script>", "<img src=x onerror=ran=1>", "<svg onload=ran=1>",
    "<svg><script>ran=1</script></svg>", "\"><img src=x onerror=ran=1>", "'><img src=x onerror=ran=1>", "<body onload=ran=1>",
    "<iframe src=javascript:parent.ran=1></iframe>", "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>",
    "<a href=javascript:ran=1>x</a>", "javascript:ran=1", "<details open ontoggle=ran=1>", "<input autofocus onfocus=ran=1>",
    "<select autofocus onfocus=ran=1>", "<textarea autofocus onfocus=ran=1>", "<video><source onerror=ran=1></video>",
    "<audio src=x onerror=ran=1>", "<object data=javascript:ran=1>", "<embed src=javascript:ran=1>",
    "<math><mtext><img src=x onerror=ran=1></mtext></math>", "<style>@import 'x'</style>", "<link rel=stylesheet href=x>",
    "<meta http-equiv=refresh content='0;url=javascript:ran=1'>", "<base href=javascript:ran=1//>", "<form action=javascript:ran=1>",
    "--><script>ran=1</script>", "<!--<script>ran=1</script>", "]]><script>ran=1</script>", "</title><script>ran=1</script>",
    "</style><script>ran=1</script>", "</noscript><script>ran=1</script>", "</textarea><script>ran=1</script>",
    "</svg><script>ran=1</script>", "</desc></title><script>ran=1</script>", "\" onmouseover=\"ran=1", "' onfocus='ran=1",
    "` onerror=ran=1", "<IMG SRC=x OnErRoR=ran=1>", "<img/src=x/onerror=ran=1>", "<img src=x\tonerror=ran=1>",
    "<scr<script>ipt>ran=1</scr</script>ipt>", "&lt;script&gt;ran=1&lt;/script&gt;", "&#60;script&#62;ran=1&#60;/script&#62;",
    "\\u003cscript\\u003eran=1\\u003c/script\\u003e", "\\x3cscript\\x3eran=1", "%3Cscript%3Eran=1%3C/script%3E",
    "${ran=1}", "{{constructor.constructor('ran=1')()}}", "\"+(ran=1)+\"", "';ran=1;//", "\\\";ran=1;//",
    "<marquee onstart=ran=1>", "<x onclick=ran=1 tabindex=1>", "<template><script>ran=1</script></template>",
    "<xmp><script>ran=1</script></xmp>", "<svg><animate onbegin=ran=1 attributeName=x>", "<img srcset=x onerror=ran=1>",
]


def program(root):
    """The newest build of the program."""
    built = [p for p in [root / "target/debug/ctxpack", root / "target/release/ctxpack"] if p.exists()]
    if not built:
        give_up("build the program first: cargo build")
    return max(built, key=lambda p: p.stat().st_mtime)


def run(ctxpack, room, *args, codes=(0, 1, 3)):
    """Runs the program in a folder, so that pages have short names."""
    done = subprocess.run([ctxpack, "-q", *args], cwd=room, capture_output=True, text=True)
    if done.returncode not in codes:
        give_up(f"ctxpack {' '.join(args)}: exit {done.returncode}\n{done.stderr}")


def give_up(why):
    print(f"page-check: {why}", file=sys.stderr)
    sys.exit(2)


def corpus(root, folder, files, size, form="mix"):
    make = [sys.executable, root / "scripts/gen-corpus", folder, "--files", str(files), "--size", size, "--format", form]
    subprocess.run(list(map(str, make)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def one(root, ctxpack, room):
    """A session that was compacted."""
    corpus(root, room / "one", 1, "400kB", "claude-code")
    run(ctxpack, room, "compact", "one", "-n", "--report", "one.html")
    return room / "one.html"


def thousand(root, ctxpack, room):
    """A folder of sessions, with some that cannot be read."""
    folder = room / "thousand"
    corpus(root, folder, 970, "12MB")
    for n in range(30):
        (folder / f"broken-{n}.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00broken" + bytes([n]))
    run(ctxpack, room, "compact", "thousand", "-n", "--report", "thousand.html", "--report", "thousand.jsonl")
    return room / "thousand.html"


def others(root, ctxpack, room):
    """The pages of the commands that only read, over one session and over several."""
    corpus(root, room / "some", 6, "2MB", "claude-code")
    pages = {}
    for command in ["stats", "replay", "eval"]:
        for folder in ["one", "some"]:
            name = f"{command}-{folder}"
            run(ctxpack, room, command, folder, "--report", f"{name}.html")
            pages[name] = room / f"{name}.html"
    session = next((room / "one").rglob("*.jsonl")).relative_to(room)
    for name, policies in {"diff": ["auto"], "diff-policies": ["auto", "reset"]}.items():
        flags = [flag for policy in policies for flag in ("--policy", policy)]
        run(ctxpack, room, "diff", *flags, "--set", "summary.when=always", session, "--report", f"{name}.html")
        pages[name] = room / f"{name}.html"
    pages["check"] = checked(ctxpack, room, "some")
    return pages


def checked(ctxpack, room, folder):
    """The page of cases that were as expected until the policy changed, and one that cannot be run."""
    cases = room / f"{folder}-cases"
    for n, session in enumerate(sorted((room / folder).rglob("*.jsonl"))):
        case = cases / f"{n:02} {session.stem}"
        case.mkdir(parents=True)
        (case / "input.jsonl").write_bytes(session.read_bytes())
    run(ctxpack, room, "check", "--update=force", cases.name)
    broken = cases / "broken"
    broken.mkdir()
    (broken / "input.jsonl").write_text("{}\n")
    (broken / "expect.toml").write_text("[expect]\nnone = 1\n")
    run(ctxpack, room, "check", "--set", "clear.keep=0", cases.name, "--report", f"{folder}-check.html")
    return room / f"{folder}-check.html"


def hostile_check(ctxpack, room):
    """Payloads as names of cases and tools."""
    page = checked(ctxpack, room, "hostile")
    assert page.read_text().count("ran=1") > 300, "the payloads are not in the page"
    return page


def many(ctxpack, room, rows):
    """The report on a thousand files, again and again under other names, as the program renders it."""
    *files, last = (room / "thousand.jsonl").read_text().splitlines()
    files = [json.loads(line) for line in files]
    with (room / "many.jsonl").open("w") as out:
        for n in range(rows):
            file = dict(files[n % len(files)])
            file["input"] = f"archive/{n // 1000:03}/{n:06}-{file['input'].rsplit('/', 1)[-1]}"
            # Figures that differ, so that sorting has work to do.
            file["conversations"] = [c | {k: c[k] + n * 7919 % 1000 for k in ["tokens_before", "tokens_after"]}
                                     for c in file["conversations"]]
            out.write(json.dumps(file) + "\n")
        out.write(last + "\n")
    run(ctxpack, room, "report", "many.jsonl", "--report", "many.html")
    return room / "many.html"


def hostile(ctxpack, room):
    """Payloads as names of files and tools, as contents and as ids, and in what cannot be read."""
    folder = room / "hostile"
    folder.mkdir()
    for n, payload in enumerate(PAYLOADS):
        lines = [{"role": "user", "content": f"{payload} {n}"}]
        for call in range(12):
            lines.append({"role": "assistant", "content": [
                {"type": "text", "text": payload},
                {"type": "tool_use", "id": f"toolu_{n}_{call}", "name": payload, "input": {"file_path": payload, "command": payload}}]})
            lines.append({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": f"toolu_{n}_{call}", "content": f"{payload} " * 900}]})
        lines.append({"role": "assistant", "content": [{"type": "text", "text": payload}]})
        name = payload.replace("/", "\u2215")[:80]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{n:02} {name}.jsonl").write_text(text)
        (folder / f"{n:02} bad {name}.jsonl").write_text(f"{payload}\n" * 3)
    page = room / "hostile.html"
    run(ctxpack, room, "compact", "hostile", "-n", "--report", "hostile.html")
    assert page.read_text().count("ran=1") > 300, "the payloads are not in the page"
    return page


def hostile_diff(ctxpack, room):
    """The same in one session, and what a policy makes of it: in words, replaced results and a summary."""
    sessions = [path for path in sorted((room / "hostile").iterdir()) if " bad " not in path.name]
    (room / "all.jsonl").write_text("".join(path.read_text() for path in sessions))
    page = room / "hostile-diff.html"
    run(ctxpack, room, "diff", "--policy", "auto", "--set", "summary.when=always", "all.jsonl", "--report", page.name)
    assert page.read_text().count("ran=1") > 300, "the payloads are not in the page"
    return page
