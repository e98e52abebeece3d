"""Validates policy files with the schema that `ctxpack schema policy` prints, by a program that is not ours.

Run by scripts/ci-external in the environment that it makes. The schema must be one; every preset as `policy show` prints it
and every fixture's policy must be valid, and files with one mistake each must not be.

usage: policies.py BINARY
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
# One mistake each.
INVALID = (
    "[claer]\nkeep = 3",
    "[clear]\nkepe = 3",
    "[clear]\nkeep = -1",
    "[clear]\nkeep = 2.5",
    "[clear]\nkeep = \"3\"",
    "[clear]\nshapes = [\"lists\"]",
    "[clear]\nplaceholder = \"{summary}\"",
    "[demote]\ntext = \"gone\"",
    "[summary]\nwhen = \"alway\"",
    "[summary]\ntries = 0",
    "[tokens]\nchars_per_token = 0",
    "[trigger]\nshare = 1.5",
    "[offload]\ncleanup = \"yes\"",
    "[tools]\nread = [1]",
    "[env]\nKEEP = 5",
    "schema = 2",
    "clear = 5",
)


def main(binary):
    def output(*args):
        return subprocess.run([binary, *args], check=True, capture_output=True, text=True).stdout

    schema = json.loads(output("schema", "policy"))
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        print(f"ci-external: the schema of policies is none: {error.message}", file=sys.stderr)
        return 1
    validator = Draft202012Validator(schema)
    presets = [line.split()[0] for line in output("policy", "list").splitlines()]
    files = {f"policy show {preset}": output("policy", "show", "--isolated", preset) for preset in presets}
    files |= {str(path): path.read_text() for path in sorted(FIXTURES.glob("*/*/policy.toml"))}
    findings = [f"{name}: {error.json_path}: {error.message}" for name, text in files.items()
                for error in validator.iter_errors(tomllib.loads(text))]
    findings += [f"accepted: {text!r}" for text in INVALID if validator.is_valid(tomllib.loads(text))]
    print(f"ci-external: {len(files)} policies are valid by their schema, {len(INVALID)} are not; {len(findings)} findings")
    for finding in findings:
        print(f"ci-external: {finding}", file=sys.stderr)
    return 1 if findings or not presets else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
