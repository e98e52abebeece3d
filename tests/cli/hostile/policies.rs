//! A `ctxpack.toml` that is found in the repository.

use super::{Beside, Case, InPlace};

const REFUSED: &str = "ctxpack.toml";

pub(super) const CASES: [Case; 9] = [
    Case {
        name: "policy-server",
        attempt: "the conversation is sent to a server of the attacker's",
        plant: |site| {
            let policy = "[summary]\nsource = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nwhen = \"always\"\n";
            site.write("ctxpack.toml", policy);
        },
        told: &[(Beside, REFUSED), (InPlace, REFUSED)],
    },
    Case {
        name: "policy-files-of-others",
        attempt: "files of the user's are put into outputs",
        plant: |site| site.write("ctxpack.toml", "[restore]\nroot = \"../home\"\n"),
        told: &[(Beside, REFUSED)],
    },
    Case {
        name: "policy-without-redaction",
        attempt: "secrets are no longer masked",
        plant: |site| site.write("ctxpack.toml", "redact = \"never\"\n"),
        told: &[(Beside, REFUSED)],
    },
    Case {
        name: "policy-hook",
        attempt: "a command of the repository's is run",
        plant: |site| {
            site.write(
                "ctxpack.toml",
                "pre_hook = \"touch PWNED\"\n[hooks]\npre = \"touch PWNED\"\n",
            );
        },
        told: &[(Beside, REFUSED)],
    },
    Case {
        name: "policy-environment",
        attempt: "what is in the environment is put into outputs",
        plant: |site| site.write("ctxpack.toml", "[env]\nHOME = \"clear.placeholder\"\n"),
        told: &[(Beside, REFUSED)],
    },
    Case {
        name: "policy-pipe",
        attempt: "the run waits for ever",
        plant: |site| site.pipe("ctxpack.toml"),
        told: &[(Beside, "ctxpack.toml: not a regular file")],
    },
    Case {
        name: "policy-device",
        attempt: "a device is read for ever",
        plant: |site| site.link("ctxpack.toml", "/dev/zero"),
        told: &[(Beside, "ctxpack.toml: not a regular file")],
    },
    Case {
        name: "policy-endless",
        attempt: "a policy of 1 TB fills the memory",
        plant: |site| site.sparse("ctxpack.toml"),
        told: &[(Beside, "ctxpack.toml: it has more than")],
    },
    Case {
        name: "policy-of-a-fixture",
        attempt: "a fixture's policy reads files of the user's",
        plant: |site| {
            site.write(
                "case/policy.toml",
                "[summary]\nsource = \"scripted\"\nwhen = \"always\"\n",
            );
            site.link("case/summaries.jsonl", "/dev/zero");
        },
        told: &[(
            super::Check,
            "summaries.jsonl: a link, and files of cases are not read through links",
        )],
    },
];
