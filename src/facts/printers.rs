//! Commands that print text written by others: files, logs, pages, server responses.
//!
//! PURE. Their output may contain anything, including the words with which agents state how a command ended. Errs on the side of
//! listing a command: an unknown status is better than a wrong one.

/// Programs that print foreign text.
const PRINTERS: [&str; 62] = [
    "cat",
    "bat",
    "batcat",
    "tac",
    "nl",
    "head",
    "tail",
    "less",
    "more",
    "sed",
    "awk",
    "gawk",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ack",
    "zcat",
    "zgrep",
    "strings",
    "xxd",
    "hexdump",
    "base64",
    "cut",
    "sort",
    "uniq",
    "column",
    "diff",
    "cmp",
    "comm",
    "paste",
    "fold",
    "tr",
    "echo",
    "printf",
    "type",
    "jq",
    "yq",
    "xmllint",
    "gh",
    "glab",
    "hub",
    "curl",
    "wget",
    "http",
    "lynx",
    "w3m",
    "journalctl",
    "dmesg",
    "docker",
    "podman",
    "kubectl",
    "oc",
    "heroku",
    "fly",
    "vercel",
    "aws",
    "gcloud",
    "az",
    "Get-Content",
    "gc",
];
/// The subcommands of git that print it.
const OF_GIT: [&str; 6] = ["show", "diff", "log", "grep", "blame", "cat-file"];
/// Words that may precede the program.
const BEFORE: [&str; 12] = [
    "sudo", "env", "time", "command", "exec", "nohup", "then", "do", "else", "if", "!", "-",
];

/// Whether a command, or one of its parts, prints foreign text. A command that only filters another's output does not count.
pub(super) fn prints_foreign_text(command: &str) -> bool {
    // A command that reads from a pipe is a filter.
    let mut is_fed = false;
    let mut rest = command;
    loop {
        let end = rest.find(['|', ';', '&', '\n', '(', ')', '{', '}', '`']);
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        if !is_fed && is_printer(part) {
            return true;
        }
        let (mark, after) = match after.as_bytes() {
            [] => return false,
            [b'|', b'|' | b'&', ..] | [b'&', b'&', ..] => after.split_at(2),
            _ => after.split_at(1),
        };
        is_fed = match mark {
            "|" | "|&" => true,
            // The `&` of `2>&1`: the rest is not a command.
            "&" => part.ends_with('>'),
            _ => false,
        };
        rest = after;
    }
}

fn is_printer(part: &str) -> bool {
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with('=');
    let mut words = part
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'', '\\']))
        .skip_while(|word| BEFORE.contains(word) || is_setting(word));
    let Some(program) = words.next() else {
        return false;
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let goes_to_a_file = || {
        let mut places = part.match_indices('>').map(|(at, _)| &part[..at]);
        places.any(|before| !before.ends_with(['2', '&', '-', '=']))
    };
    match name {
        "git" => words.any(|word| OF_GIT.contains(&word)),
        "cat" | "echo" | "printf" => !goes_to_a_file(),
        name => PRINTERS.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_show_what_is_written_elsewhere_are_found() {
        for command in [
            "cat result.json",
            "cd /w && tail -5 log",
            "make; cat log",
            "gh run view 7 | tail -3",
            "cat ci.log | jq .",
            "x || cat log",
            "A=1 sudo /bin/cat log",
            "git -C /w show HEAD",
            "r=$(cat log)",
            "cat a 2>/dev/null",
        ] {
            assert!(prints_foreign_text(command), "{command}");
        }
    }

    #[test]
    fn others_and_filters_of_these_are_not() {
        for command in [
            "",
            "make",
            "cargo test 2>&1 | tail -20",
            "npm run build |& grep error",
            "git push && npm ci",
            "cat > a.txt <<'E'\nx\nE",
            "./cat-it",
        ] {
            assert!(!prints_foreign_text(command), "{command}");
        }
    }
}
