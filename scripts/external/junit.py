"""Checks what `ctxpack check` writes for other systems: JUnit's XML, and the report on Code Quality for GitLab.

Run by scripts/ci-external in the environment that it makes. The XML must hold by junit-10.xsd, the schema of Jenkins' xunit plugin
(Gregory Boissinot, MIT), which the source archive of pytest brings along; its content is pinned. Its counts must be those of its
elements, which the schema does not say. The JSON must have what GitLab documents ("Code Quality report format"), here as a schema.
Cases are made that are as expected, differ, and cannot be run, with names that neither format takes as they are. A self-test shows
that each check can fail.

usage: junit.py BINARY    check
       junit.py --install only fetch the schema, into target/external/junit

exit codes: 0 all well; 1 a finding; 2 the schema cannot be had, or wrong arguments
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "target/external/junit"
XSD = FOLDER / "junit-10.xsd"
ARCHIVE = "pytest==8.4.2"
MEMBER = "pytest-8.4.2/testing/example_scripts/junit-10.xsd"
SHA256 = "a1a816f58d1bf95ebabf371994df0b9246dee66ea9572fbec4f9296f1b2c0ff6"

# What GitLab's documentation lists as required of an entry.
QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    # Relative to the repository, without "./".
                    "path": {"type": "string", "pattern": r"^[^./]|^\.[^/]"},
                    "lines": {"type": "object", "required": ["begin"],
                              "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
}

# One mistake each: what is replaced by what.
XML_MISTAKES = [
    ("<testcase classname", "<test classname"), ("</testcase>", "</test>"), (' name="ctxpack check"', ""),
    ('<testsuite name', '<testsuite colour="red" name'), ("<failure message", "<wrong message"), (' time="0"', ' times="0"'),
    ('failures="1"', 'failures="2"'), ('tests="4"', 'tests="5"'), ("&lt;", "<"), ("</failure>", "\x01</failure>"),
]
JSON_MISTAKES = [('"major"', '"grave"'), ('"fingerprint"', '"print"'), ('"begin": 1', '"begin": 0'), ('"path": "', '"path": "./'),
                 ('"location"', '"place"')]


def install():
    if XSD.exists() and hashlib.sha256(XSD.read_bytes()).hexdigest() == SHA256:
        return
    with tempfile.TemporaryDirectory(prefix="junit-") as room:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--no-binary", "pytest", "--dest", room, ARCHIVE], check=True)
        archive = next(Path(room).glob("*.tar.gz"))
        with tarfile.open(archive) as members:
            content = members.extractfile(MEMBER).read()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise OSError(f"{MEMBER} of {ARCHIVE} has another content")
    FOLDER.mkdir(parents=True, exist_ok=True)
    XSD.write_bytes(content)


def xml_wrong(text):
    """What is wrong with a report for JUnit's readers."""
    import xmlschema

    try:
        root = ElementTree.fromstring(text)
        wrong = [error.reason or str(error) for error in xmlschema.XMLSchema(XSD).iter_errors(text)]
    except ElementTree.ParseError as error:
        return [f"not XML: {error}"]
    for suite in [root, *root.iter("testsuite")]:
        for attribute, element in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")]:
            found = sum(1 for _ in suite.iter(element))
            if suite.get(attribute) != str(found):
                wrong.append(f"{suite.tag}: {attribute} is {suite.get(attribute)}, but there are {found}")
    return wrong


def json_wrong(text):
    """What is wrong with a report on Code Quality."""
    import jsonschema

    entries = json.loads(text)
    wrong = [error.message for error in jsonschema.Draft202012Validator(QUALITY).iter_errors(entries)]
    prints = [entry.get("fingerprint") for entry in entries]
    return wrong + (["two entries have the same fingerprint"] if len(set(prints)) < len(prints) else [])


def cases(place):
    """Two cases as expected, one that differs, one that cannot be run."""
    turn = '{"role":"user","content":"%s"}\n'
    files = {"same": {"expected.jsonl": turn % "hello", "expect.toml": "[expect]\nvalid = true\n"},
             "expects\u202e": {"expect.toml": "[expect]\nstatus = \"unchanged\"\n"},
             "a<b>&\"'\x1b\ufffe]]>": {"expected.jsonl": turn % "\\u0001 <hello> ]]> & good bye"},
             "broken": {"policy.toml": "clear.kepe = 3\n"}}
    for name, parts in files.items():
        folder = place / "fixtures" / name
        folder.mkdir(parents=True)
        for part, text in {"input.jsonl": turn % "hello", **parts}.items():
            (folder / part).write_text(text, encoding="utf-8")


def run(binary, place, *args):
    done = subprocess.run([binary, "check", "--isolated", *args], cwd=place, capture_output=True)
    return done.returncode, done.stdout.decode("utf-8")


def check(binary):
    wrong = []
    with tempfile.TemporaryDirectory(prefix="junit-") as room:
        place = Path(room)
        cases(place)
        code, xml = run(binary, place, "--output-format", "junit", "--report", "r.xml")
        reports = {"--output-format junit": xml, "--report r.xml": (place / "r.xml").read_text(encoding="utf-8")}
        _, quality = run(binary, place, "--output-format", "gitlab")
        _, empty = run(binary, place, "--output-format", "gitlab", "fixtures/same")
        # An empty suite is one, too.
        (place / "nothing").mkdir()
        _, reports["--allow-empty"] = run(binary, place, "--output-format", "junit", "--allow-empty", "nothing")
    if code != 3 or 'tests="4" failures="1" errors="1"' not in xml:
        wrong.append(f"the cases do not end as they should: exit code {code}\n{xml}")
    for name, text in reports.items():
        wrong += [f"{name}: {what}" for what in xml_wrong(text)]
    wrong += [f"--output-format gitlab: {what}" for text in [quality, empty] for what in json_wrong(text)]
    if len(json.loads(quality)) != 2 or json.loads(empty):
        wrong.append("--output-format gitlab: two of the cases are not as expected")
    for text, mistakes, find in [(xml, XML_MISTAKES, xml_wrong), (quality, JSON_MISTAKES, json_wrong)]:
        for old, new in mistakes:
            if old not in text or not find(text.replace(old, new, 1)):
                wrong.append(f"{new!r} in the place of {old!r} is not noticed")
    return wrong


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        install()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"junit: cannot have the schema: {error}", file=sys.stderr)
        return 2
    if sys.argv[1] == "--install":
        return 0
    wrong = check(Path(sys.argv[1]).resolve())
    print("\n".join(wrong) or f"junit: reports hold, {len(XML_MISTAKES) + len(JSON_MISTAKES)} mistakes are noticed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
