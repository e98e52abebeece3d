"""What `ctxpack eval` measures in a folder of sessions."""

import json
import subprocess
import sys


def measured(binary, folder, shares):
    """Each budget's shares, in percent, averaged over the sessions by eval itself; `shares` names the keys of a report."""
    report = reported(binary, folder)
    return {(f"{score['budget']:g} %", share): score[key] for score in report["totals"]["scores"]
            for share, key in shares.items() if score[key] is not None}


def measured_each(binary, folder, shares):
    """The same of each session, by the name of its file."""
    figures = {}
    for file in reported(binary, folder)["files"]:
        for session in file["sessions"]:
            for score in session["scores"]:
                for share, key in shares.items():
                    of = figures.setdefault((f"{score['budget']:g} %", share), {})
                    if score[key] is not None:
                        of[file["path"].rsplit("/", 1)[-1]] = score[key]
    return figures


def reported(binary, folder):
    """The report of eval over a folder."""
    run = subprocess.run([binary, "eval", "--isolated", "--no-baselines", "--json", "-q", str(folder)],
                         capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"{folder}: {run.stderr}")
    return json.loads(run.stdout)
