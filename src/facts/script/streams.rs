//! Programs for `sed` and `awk`: whether they write files or run other programs.
//!
//! PURE. Parses their commands without executing any. Anything unreadable is assumed to write.

use std::collections::BTreeSet;

/// Whether a `sed` script writes no file and runs nothing.
pub(super) fn sed_only_edits(script: &str) -> bool {
    Sed {
        rest: script.chars(),
    }
    .only_edits()
    .unwrap_or(false)
}

struct Sed<'s> {
    rest: std::str::Chars<'s>,
}

impl Sed<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn skip(&mut self, is_it: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&is_it) {
            self.rest.next();
        }
    }

    /// As `sed_only_edits`; `None` if the script cannot be parsed.
    fn only_edits(&mut self) -> Option<bool> {
        loop {
            self.skip(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}'));
            self.addresses()?;
            let Some(command) = self.rest.next() else {
                return Some(true);
            };
            match command {
                's' => {
                    let end = self.rest.next()?;
                    self.until(end)?;
                    self.until(end)?;
                    while let Some(flag) = self.peek().filter(char::is_ascii_alphanumeric) {
                        if matches!(flag, 'w' | 'e') {
                            return Some(false);
                        }
                        self.rest.next();
                    }
                }
                'y' => {
                    let end = self.rest.next()?;
                    self.until(end)?;
                    self.until(end)?;
                }
                '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P'
                | 'x' | 'z' | 'F' => {}
                'q' | 'Q' | 'l' | 'L' => self.skip(|c| c == ' ' || c.is_ascii_digit()),
                ':' | 'b' | 't' | 'T' => self.skip(|c| !matches!(c, '\n' | ';' | '}')),
                // Text, or the name of a file to read.
                'a' | 'i' | 'c' | 'r' | 'R' => self.line(),
                // A backslash does not continue a comment.
                '#' => self.skip(|c| c != '\n'),
                _ => return Some(false),
            }
        }
    }

    /// Reads the addresses of a command.
    fn addresses(&mut self) -> Option<()> {
        loop {
            match self.peek() {
                Some('/') => {
                    self.rest.next();
                    self.until('/')?;
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                Some('\\') => {
                    self.rest.next();
                    let end = self.rest.next()?;
                    self.until(end)?;
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                Some('0'..='9' | '$' | ',' | '!' | '+' | '~' | ' ' | '\t') => {
                    self.rest.next();
                }
                Some(_) | None => return Some(()),
            }
        }
    }

    /// Reads past the next character that ends a pattern.
    fn until(&mut self, end: char) -> Option<()> {
        let mut is_in_class = false;
        loop {
            match self.rest.next()? {
                '\\' => {
                    self.rest.next()?;
                }
                // Inside a bracket expression, some implementations end the pattern here and others do not.
                c if c == end && is_in_class => return None,
                c if c == end => return Some(()),
                '[' => is_in_class = true,
                ']' => is_in_class = false,
                _ => {}
            }
        }
    }

    /// Reads to the end of the line, following backslash continuations.
    fn line(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => {
                    self.rest.next();
                }
                '\n' => return,
                _ => {}
            }
        }
    }
}

/// Placeholder for the name of a stream in a plain program.
const STREAM: char = '\u{1}';

/// Whether an `awk` program prints only to its output and runs nothing.
pub(super) fn awk_only_prints(program: &str) -> bool {
    plain_awk(program).is_some_and(|plain| {
        let words = plain.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let mut words = words.filter(|word| !word.is_empty());
        !words.any(|word| word == "system")
            && !plain.contains('@')
            && !has_single_pipe(&plain)
            && !prints_to_a_file(&plain)
    })
}

/// The program without the contents of its strings, patterns and comments; `None` if one is unterminated.
fn plain_awk(program: &str) -> Option<String> {
    let mut plain = String::new();
    let mut rest = program.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                let text = inside(&mut rest, '"')?;
                // A stream that is not a file.
                let is_stream = matches!(&text[..], "/dev/stderr" | "/dev/stdout" | "/dev/null");
                plain.push(if is_stream { STREAM } else { '"' });
            }
            '/' if begins_a_pattern(&plain) => {
                inside(&mut rest, '/')?;
                plain.push('"');
            }
            '#' => {
                while rest.clone().next().is_some_and(|c| c != '\n') {
                    rest.next();
                }
            }
            c => plain.push(c),
        }
    }
    Some(plain)
}

/// Whether a slash after this text begins a pattern: after a value, it divides.
fn begins_a_pattern(plain: &str) -> bool {
    let before = plain.trim_end_matches([' ', '\t']).chars().next_back();
    before.is_none_or(|c| "(,{};!~&|\n=:?".contains(c))
}

fn inside(rest: &mut std::str::Chars<'_>, end: char) -> Option<String> {
    let mut text = String::new();
    loop {
        match rest.next()? {
            '\\' => {
                rest.next()?;
            }
            '\n' => return None,
            c if c == end => return Some(text),
            c => text.push(c),
        }
    }
}

fn has_single_pipe(plain: &str) -> bool {
    plain.replace("||", "").contains('|')
}

/// Whether a print goes to a file: in a print outside of brackets, `>` is a redirection, not a comparison.
fn prints_to_a_file(plain: &str) -> bool {
    let mut open = 0_i32;
    // The bracket depths at which unfinished prints began: a print may be inside the brackets of another.
    let mut prints = BTreeSet::new();
    for (at, c) in plain.char_indices() {
        match c {
            'p' if plain[at..].starts_with("print") => {
                prints.insert(open);
            }
            '(' | '[' => open += 1,
            ')' | ']' => open -= 1,
            ';' | '}' | '\n' => {
                prints.split_off(&open);
            }
            '>' => {
                if prints.split_off(&open).is_empty() {
                    continue;
                }
                let to = plain[at..].trim_start_matches(['>', ' ']);
                let behind = to.strip_prefix(STREAM).map(str::trim_start);
                if !behind.is_some_and(|b| b.is_empty() || b.starts_with([';', '}'])) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_sed_are_read() {
        for script in [
            "1,20p",
            "$d",
            "s/a/b/g",
            "s|a/w b|c|gI",
            "/x/,/y/{s/a/b/;p}",
            "/w out/p",
            "\\,a,d",
            "s/w x/w y/",
            "a\\\nw out\nd",
            "/a/!b end;s/x/y/;:end",
            "10q",
            "2,+3!d",
            "y/ab/cd/",
            "# w x\\\np",
        ] {
            assert!(sed_only_edits(script), "{script}");
        }
        for script in [
            "w out",
            "/x/w out",
            "s/a/b/w out",
            "s/a/b/gw out",
            "s/a/b/e",
            "e date",
            "1,3W out",
            "{p;w out\n}",
            "s/a",
            "/a",
            "s/[/]/b/w out",
            "s/a/b/;w out",
            "n;w out",
            "# x\\\nw out",
        ] {
            assert!(!sed_only_edits(script), "{script}");
        }
    }

    #[test]
    fn programs_of_awk_are_read() {
        for program in [
            "{print $1}",
            "$1 > 5",
            "$1>5 {print}",
            "{ print ($1 > 5) }",
            "{print \"a > b\"}",
            "/a>b/ {print $2}",
            "{ if ($1 > 3 || $2) print }",
            "{print > \"/dev/stderr\"}",
            "BEGIN{FS=\"|\"} {print $2} # > x",
            "{ s += $1 } END { print s / NR }",
            "/\"/ {print}",
            "{ print(x) ; } $1 > 2",
            "{ print (print ($1 > 5)) }",
            "{ print $1 / 2 }  /a>b/ {print}",
        ] {
            assert!(awk_only_prints(program), "{program}");
        }
        for program in [
            "{print > \"out\"}",
            "{print > $1\".txt\"}",
            "{print>FILENAME\".new\"}",
            "{printf \"%s\", $1 >> f}",
            "{system(\"rm \" $1)}",
            "{print | \"sh\"}",
            "{\"date\" | getline d}",
            "@include \"x\"",
            "/\"/ {print > \"x\"}",
            "{print \"a",
            "{print > Sum}",
            "{ print (print > f) }",
            "{ print (print x; y) > f }",
            "{print > \"/dev/stderr\" x}; {print > (f)}",
        ] {
            assert!(!awk_only_prints(program), "{program}");
        }
    }

    #[test]
    fn a_long_program_takes_little() {
        let blanks = " ".repeat(1_000_000);
        assert!(awk_only_prints(&format!("{{print}}{blanks}")));
        assert!(awk_only_prints(&format!(
            "{{print x{blanks}/{blanks}2{blanks}}}"
        )));
        let prints = "print(".repeat(200_000);
        assert!(awk_only_prints(&prints));
        assert!(!awk_only_prints(&format!("{prints}print > f")));
    }
}
