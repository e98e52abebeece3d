//! Tools for system packages, containers, clusters and remote services, one row each.
//!
//! PURE. Plain data, like the rows of the other programs.

use super::rule::{Program, Rule, open, program};

pub(super) const SERVICES: &[Program] = &[
    program(
        "pip pip3 pipx",
        Rule::Sub {
            flags: "-q --quiet -v --version -V --disable-pip-version-check --python=",
            rules: &[
                ("install uninstall", open("!-t= !--target=")),
                (
                    "list show freeze check index cache debug search inspect hash",
                    Rule::Reads,
                ),
            ],
        },
    ),
    program(
        "apt apt-get apt-cache brew gem",
        Rule::Sub {
            flags: "-[yq] -qq -y -f --yes --quiet --assume-yes --version",
            rules: &[(
                "install reinstall uninstall remove purge autoremove update upgrade list search show info policy leaves \
                 outdated deps services tap cleanup environment which",
                Rule::Reads,
            )],
        },
    ),
    program(
        "docker podman docker-compose",
        Rule::Sub {
            flags: DOCKER,
            rules: &[
                (
                    "compose",
                    Rule::Sub {
                        flags: DOCKER,
                        rules: CONTAINERS,
                    },
                ),
                (
                    "builder container context image system",
                    Rule::Sub {
                        flags: "",
                        rules: &[("df du inspect list logs ls prune", Rule::Reads)],
                    },
                ),
                (
                    "*",
                    Rule::Sub {
                        flags: "",
                        rules: CONTAINERS,
                    },
                ),
            ],
        },
    ),
    program(
        "kubectl",
        Rule::Sub {
            flags: "-n= --namespace= --context= --kubeconfig= --cluster= --user= -v=",
            rules: &[(
                "annotate api-resources api-versions apply auth autoscale cordon create delete describe drain events \
                 explain get label logs patch port-forward rollout scale set top uncordon version wait",
                open("!--output-directory="),
            )],
        },
    ),
    program(
        "helm",
        Rule::Sub {
            flags: "-n= --namespace= --kube-context= --kubeconfig=",
            rules: &[(
                "get history install lint list ls repo rollback search show status template test uninstall upgrade \
                 version",
                open("!--output-dir="),
            )],
        },
    ),
    program(
        "gh glab",
        Rule::Sub {
            flags: "-R= --repo= --version",
            rules: &[
                (
                    "api auth browse search status version label secret variable cache ruleset org",
                    open("!--clone !--output="),
                ),
                (
                    "pr issue run workflow repo release project gist mr ci pipeline",
                    Rule::Sub {
                        flags: "-R= --repo=",
                        rules: &[(
                            "list view status diff checks create comment note review edit close reopen ready watch rerun \
                             cancel delete enable disable lock unlock approve trace lint get",
                            open("!--clone !-c= !--checkout"),
                        )],
                    },
                ),
            ],
        },
    ),
    program(
        "aws az fly flyctl gcloud heroku stripe vercel",
        Rule::Asks(
            "ls list list-* describe describe-* show status logs log tail version whoami get-caller-identity get-value \
             inspect help info filter-log-events wait",
        ),
    ),
    program(
        "openssl",
        Rule::Sub {
            flags: "",
            rules: &[(
                "s_client x509 rand dgst version sha* md5 enc passwd genrsa rsa pkey ec verify ciphers asn1parse crl \
                 base64 help list",
                open(
                    "!-out* !-keyout !-writerand !-CAserial !-CAcreateserial !-sess_out !-msgfile !-keylogfile",
                ),
            )],
        },
    ),
];

const DOCKER: &str = "-f= --file= -p= --project-name= --project-directory= --profile= --env-file= -H= --host= --context= -c= \
    -l= --log-level= --progress= --ansi= -D --debug --version -v";

const CONTAINERS: &[(&str, Rule)] = &[
    (
        "build",
        open("!-o= !--output= !--iidfile= !--metadata-file="),
    ),
    (
        "config down images info inspect kill login logs network ps pull push rm rmi stats stop top version volume wait \
         port",
        open("!-o= !--output= !--lock-image-digests"),
    ),
];
