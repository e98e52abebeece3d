"""Validates what ctxpack writes for programs with the schemas that it prints, by a program that is not ours.

Run by scripts/ci-external in the environment that it makes. tests/cli/schemas/outputs.sh writes outputs of all fixtures: each
must be valid, every key of a schema must be in one of them (tests/cli/schemas/unseen.txt names the others), and an output in
which a key is missing, is added, or has a value of another type must not be.

usage: schemas.py BINARY
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from functools import cached_property
from pathlib import Path

from jsonschema_rs import Draft202012Validator, ValidationError, meta

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests" / "cli" / "schemas"
# Of no type that a key has.
OTHER = [[{"surplus": 1}]]
# Judged by policies.py.
ELSEWHERE = {"policy"}
# Cases with one mistake each.
INVALID_CASES = (
    "[expect]\ntoken_after = 3",
    "[expct]",
    "[expect]\nsaved = \"much\"",
    "[expect]\ninvented = \"<= 5%\"",
    "[expect]\nlast_turns_identical = 0",
    "[expect]\nbudget = 0",
    "[expect]\nneed = \">= 50k\"",
    "[expect]\nkept = []",
    "[expect]\ngone = [\"\"]",
    "[expect]\nvalid = \"yes\"",
    "command = \"undo\"",
)


def main(binary):
    binary = str(Path(binary).resolve())

    def output(*args):
        return subprocess.run([binary, *args], check=True, capture_output=True, text=True).stdout

    names = [line.split()[0] for line in output("schema").splitlines()]
    forms = {name: Form(json.loads(output("schema", name))) for name in names}
    findings = [f"{name}: {form.error}" for name, form in forms.items() if form.error]
    if findings:
        return report(findings, "no schema")
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"CTXPACK": binary, "FIXTURES": str(ROOT / "fixtures"), "WIDE": "1"}
        subprocess.run(["sh", TESTS / "outputs.sh"], cwd=folder, env=environment, check=True)
        values = list(outputs(Path(folder), forms))
    changed = 0
    # From the smallest: the first with a key is the one to change, and once all keys were met nobody looks for them.
    for file, name, value in sorted(values, key=lambda output: len(json.dumps(output[2]))):
        findings += forms[name].look(file, value, unseen(name))
    for name, form in forms.items():
        if name not in ELSEWHERE | {"case"}:
            accepted, number = form.accepted()
            findings += [f"{name}: {what}" for what in accepted]
            changed += number
            # The outputs have every key.
            findings += [f"{name}: no output has {place}" for place in sorted(form.unmet() - unseen(name))]
    findings += [f"case: accepted: {text!r}" for text in INVALID_CASES
                 if forms["case"].validator.is_valid(tomllib.loads(text))]
    if missing := set(names) - ELSEWHERE - {name for _, name, _ in values}:
        findings.append(f"no output of {', '.join(sorted(missing))}")
    return report(findings, f"{len(values)} outputs are valid by {len(names)} schemas, {changed} changed ones are not")


def report(findings, text):
    print(f"ci-external: {text}; {len(findings)} findings")
    for finding in findings[:50]:
        print(f"ci-external: {finding}", file=sys.stderr)
    return 1 if findings else 0


def outputs(folder, forms):
    """The files NAME.TEST.ENDING, each with the name of its schema and what is in it."""
    for path in sorted(folder.iterdir()):
        parts = path.name.split(".")
        if len(parts) != 3 or not path.is_file():
            continue
        name, _, ending = parts
        lines = f"{name}.{ending}" if f"{name}.{ending}" in forms else name
        if lines not in forms:
            continue
        text = path.read_text()
        if ending == "toml":
            values = [tomllib.loads(text)]
        elif ending == "jsonl":
            # Not at other ends of lines, which texts may have.
            values = [json.loads(line) for line in text.split("\n") if line]
        else:
            values = [json.loads(text)]
        yield from ((path.name, lines, value) for value in values)


def unseen(name):
    """The keys of a schema that no output has, as the file lists them."""
    lines = (TESTS / "unseen.txt").read_text().splitlines()
    places = [line.split(": ")[0].split(" ") for line in lines if not line.startswith("#")]
    return {place for of, place in places if of == name}


class Form:
    """A schema, and what outputs had of it."""

    def __init__(self, schema):
        self.schema, self.error = schema, None
        self.parts = schema.get("$defs", {})
        try:
            meta.validate(schema)
        except ValidationError as error:
            self.error = error.message
        self.validator = Draft202012Validator(schema)
        self.within = {}
        # The first output with each key, and where the key is in it.
        self.met = {}

    @cached_property
    def all(self):
        return set(self.places())

    def look(self, file, value, unseen):
        """What is wrong with an output; notes which keys it has, until only those that are never seen are missing."""
        errors = [f"{file}: {error.instance_path}: {error.message[-200:]}" for error in self.validator.iter_errors(value)]
        if not errors and self.all - self.met.keys() - unseen:
            for place, at in self.keys(self.schema, value, "", ()):
                self.met.setdefault(place, (value, at))
        return errors[:3]

    def keys(self, schema, value, place, at):
        """Each key that the schema describes and the value has, with its place in both."""
        if "$ref" in schema:
            part = schema["$ref"].rsplit("/", 1)[1]
            yield from self.keys(self.parts[part], value, part, at)
        for one in schema.get("anyOf", ()):
            if self.fits(one, value):
                yield from self.keys(one, value, place, at)
        if isinstance(value, dict):
            for key, inner in schema.get("properties", {}).items():
                if key in value:
                    yield below(place, key), (*at, key)
                    yield from self.keys(inner, value[key], below(place, key), (*at, key))
        if isinstance(value, list) and "items" in schema:
            for number, item in enumerate(value):
                yield from self.keys(schema["items"], item, place, (*at, number))

    def fits(self, schema, value):
        of = self.within.setdefault(id(schema), Draft202012Validator({"$defs": self.parts} | schema))
        return of.is_valid(value)

    def places(self):
        """Each key of the schema, whether it is required, and whether it takes anything."""
        found = {}

        def walk(schema, place):
            for key, inner in schema.get("properties", {}).items():
                found[below(place, key)] = key in schema["required"], set(inner) <= {"description"}
                walk(inner, below(place, key))
            for one in [*([schema["items"]] if "items" in schema else ()), *schema.get("anyOf", ())]:
                walk(one, place)

        walk(self.schema, "")
        for name, part in self.parts.items():
            walk(part, name)
        return found

    def unmet(self):
        return self.all - self.met.keys()

    def accepted(self):
        """What is accepted although it is not of this form, and how many changed outputs there were."""
        accepted, number = [], 0
        places = self.places()
        for place, (value, at) in self.met.items():
            is_required, is_anything = places[place]
            for how, change in CHANGES.items():
                if how == "a missing key" and not is_required or how == "another type" and is_anything:
                    continue
                changed = copy.deepcopy(value)
                target = changed
                for step in at[:-1]:
                    target = target[step]
                change(target, at[-1])
                number += 1
                if self.validator.is_valid(changed):
                    accepted.append(f"{place}: {how} is accepted")
        return accepted, number


def below(place, key):
    return f"{place}.{key}" if place else key


CHANGES = {
    "a missing key": lambda value, key: value.pop(key),
    "another key": lambda value, key: value.update(surplus=1),
    "another type": lambda value, key: value.update({key: OTHER}),
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
