//! Texts to fit on: files of packages, transcripts, and what an agent's tools would have made of these files.
//!
//! A folder directly under a given one is an origin (a package); the file names decide the kind of text. Which files and
//! which part of them are taken follows from hashes of their names, so that a run can be repeated.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use similar::TextDiff;

/// A text, what kind it is of and where it comes from.
pub(crate) struct Document {
    pub(crate) kind: String,
    pub(crate) origin: String,
    pub(crate) text: String,
    /// Exact tokens; 0 until they are counted.
    pub(crate) tokens: u64,
}

/// Shorter texts say little of an average.
const SHORTEST: usize = 300;
/// Files of one ending and origin.
const FILES: usize = 70;

/// FNV-1a.
pub(crate) fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    }) >> 16
}

/// All texts under some folders or files.
pub(crate) fn read(roots: &[PathBuf]) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for root in roots {
        let mut files = Vec::new();
        walk(root, &mut files).with_context(|| root.display().to_string())?;
        files.sort();
        let mut origins: Vec<(String, Vec<(String, PathBuf)>)> = Vec::new();
        for file in files {
            let inside = file
                .strip_prefix(root)
                .unwrap_or(&file)
                .to_string_lossy()
                .into_owned();
            let (origin, name) = inside.split_once('/').unwrap_or(("files", &inside));
            match origins.last_mut() {
                Some((last, files)) if last == origin => files.push((name.to_owned(), file)),
                _ => origins.push((origin.to_owned(), vec![(name.to_owned(), file)])),
            }
        }
        for (origin, files) in origins {
            of_origin(&origin, files, &mut documents);
        }
    }
    documents.retain(|d| d.text.len() >= SHORTEST);
    Ok(documents)
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let meta = fs::symlink_metadata(path)?;
    if meta.is_dir() {
        for entry in fs::read_dir(path)? {
            walk(&entry?.path(), files)?;
        }
    } else if meta.is_file() && meta.len() < 8_000_000 {
        files.push(path.to_owned());
    }
    Ok(())
}

fn of_origin(origin: &str, mut files: Vec<(String, PathBuf)>, documents: &mut Vec<Document>) {
    files.sort_by_key(|(name, _)| hash(name));
    let mut add = |kind: &str, text: String| {
        documents.push(Document {
            kind: kind.into(),
            origin: origin.into(),
            text,
            tokens: 0,
        });
    };
    let mut taken = std::collections::BTreeMap::<&str, usize>::new();
    let mut words = Vec::new();
    for (name, path) in &files {
        let Some(kind) = kind(name) else { continue };
        let so_far = taken.entry(kind).or_default();
        *so_far += 1;
        if *so_far > FILES && kind != "session" {
            continue;
        }
        let Ok(text) = fs::read_to_string(path) else {
            continue;
        };
        if kind == "session" {
            for text in session(&text) {
                add(kind, text);
            }
            continue;
        }
        // Texts in other languages than English are few: more of each.
        let parts = if language(&text).is_some() { 8 } else { 1 };
        for n in 1..parts {
            let more = part(&text, &format!("{name}#{n}"));
            if more.len() < text.len() {
                add(language(more).unwrap_or(kind), more.to_owned());
            }
        }
        let text = part(&text, name);
        let language = language(text);
        add(language.unwrap_or(kind), text.to_owned());
        if language.is_none() && words.len() < 4000 {
            let long = |w: &&str| w.len() > 2 && w.len() < 15;
            words.extend(
                text.split(|c: char| !c.is_ascii_alphanumeric())
                    .filter(long)
                    .map(str::to_owned),
            );
        }
        shown(name, text, &mut add);
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    made(origin, &names, &words, &mut add);
}

fn kind(name: &str) -> Option<&'static str> {
    let file = name.rsplit('/').next().unwrap_or(name);
    if file.contains(".min.") {
        return None;
    }
    Some(match file.rsplit('.').next().unwrap_or(file) {
        "py" | "pyi" => "python",
        "js" | "mjs" | "cjs" | "ts" | "mts" | "tsx" | "vue" => "javascript",
        "rs" => "rust",
        "c" | "h" | "cc" | "cpp" | "go" | "java" => "c",
        "md" | "rst" | "txt" | "METADATA" | "html" => "prose",
        "json" => "json",
        "css" | "scss" => "css",
        "toml" | "yml" | "yaml" | "cfg" | "sh" => "config",
        "po" => "catalogue",
        "RECORD" => "hashes",
        "jsonl" | "traj" => "session",
        last if last.len() == 1 && file.len() > 2 && last.as_bytes()[0].is_ascii_digit() => "prose",
        _ => return None,
    })
}

/// The language of a text where at least a tenth of it is written in letters of that language.
fn language(text: &str) -> Option<&'static str> {
    let tenth = text.chars().count() / 10;
    let many =
        |from: char, to: char| text.chars().filter(|c| (from..=to).contains(c)).count() > tenth;
    [
        ("japanese", '\u{3040}', '\u{30ff}'),
        ("korean", '\u{ac00}', '\u{d7a3}'),
        ("chinese", '\u{4e00}', '\u{9fff}'),
        ("cyrillic", '\u{400}', '\u{4ff}'),
        ("other scripts", '\u{370}', '\u{3ff}'),
        ("other scripts", '\u{590}', '\u{10ff}'),
        ("emoji", '\u{1f000}', '\u{1faff}'),
    ]
    .into_iter()
    .find_map(|(name, from, to)| many(from, to).then_some(name))
}

/// Some lines of a text: 800 to 12 000 bytes, from anywhere in it.
fn part<'t>(text: &'t str, name: &str) -> &'t str {
    let length = [800, 2_000, 5_000, 12_000][(hash(name) % 4) as usize];
    if text.len() <= length {
        return text;
    }
    let at = |byte: usize| {
        let byte = floor(text, byte);
        text[..byte]
            .rfind('\n')
            .filter(|n| byte - n < 2_000)
            .map_or(byte, |n| n + 1)
    };
    let start = at(hash(name) as usize / 4 % (text.len() - length));
    &text[start..at(start + length).max(start)]
}

/// The last boundary of a character at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    (0..=byte.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// The long strings of a transcript.
fn session(text: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let whole: Result<Value, _> = serde_json::from_str(text);
    match whole {
        Ok(value) => gather(value, &mut strings),
        Err(_) => text
            .lines()
            .filter_map(|l| serde_json::from_str(l).ok())
            .for_each(|v| gather(v, &mut strings)),
    }
    strings.sort();
    strings.dedup();
    strings
}

fn gather(value: Value, strings: &mut Vec<String>) {
    match value {
        Value::String(s) if s.len() >= SHORTEST => strings.push(s[..floor(&s, 60_000)].to_owned()),
        Value::Array(values) => values.into_iter().for_each(|v| gather(v, strings)),
        Value::Object(fields) => {
            // Pictures, signatures and what the model does not see.
            let unseen = [
                "data",
                "signature",
                "encrypted_content",
                "toolUseResult",
                "source",
                "url",
            ];
            fields
                .into_iter()
                .filter(|(k, _)| !unseen.contains(&k.as_str()))
                .for_each(|(_, v)| gather(v, strings));
        }
        _ => {}
    }
}

/// What tools show of a file: with line numbers, found by a search, as a change, as JSON.
fn shown(name: &str, text: &str, add: &mut impl FnMut(&str, String)) {
    let first = hash(name) % 900 + 1;
    let numbered = |between: &str| -> String {
        text.lines()
            .zip(first..)
            .map(|(line, n)| format!("{n:6}{between}{line}\n"))
            .collect()
    };
    match hash(name) / 1024 % 12 {
        0 => add("numbered", numbered("→")),
        1 => add("numbered", numbered("\t")),
        2 => {
            let found = text
                .lines()
                .zip(first..)
                .filter(|(line, _)| hash(line).is_multiple_of(4));
            add(
                "search",
                found
                    .map(|(line, n)| format!("{name}:{n}:{line}\n"))
                    .collect(),
            );
        }
        3 => {
            let mut new = String::new();
            for line in text.lines() {
                match hash(line) % 23 {
                    0 => continue,
                    1 => new += &line.replacen('e', "ee", 1),
                    _ => new += line,
                }
                new.push('\n');
            }
            let diff = TextDiff::from_lines(text, &new);
            add(
                "diff",
                diff.unified_diff()
                    .header(&format!("a/{name}"), &format!("b/{name}"))
                    .to_string(),
            );
        }
        4 => add(
            "json",
            serde_json::json!({"file_path": format!("/home/user/{name}"), "content": text})
                .to_string(),
        ),
        5 => {
            let lines: Vec<Value> = text
                .lines()
                .zip(first..)
                .map(|(line, n)| serde_json::json!({"path": name, "line": n, "text": line}))
                .collect();
            add("json", format!("{:#}", Value::Array(lines)));
        }
        _ => {}
    }
}

/// A generator of numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<'l>(&mut self, list: &'l [impl AsRef<str>]) -> &'l str {
        list[self.below(list.len())].as_ref()
    }

    fn text(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length)
            .map(|_| alphabet[self.below(alphabet.len())] as char)
            .collect()
    }
}

/// Listings, logs, hashes and runs, made of an origin's names and words.
fn made(origin: &str, names: &[&str], words: &[String], add: &mut impl FnMut(&str, String)) {
    if names.len() < 20 || words.len() < 100 {
        return;
    }
    const HEX: &[u8] = b"0123456789abcdef";
    const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut r = Random(hash(origin) | 1);
    let mut lines = |count: usize, line: &mut dyn FnMut(&mut Random) -> String| -> String {
        (0..count).map(|_| line(&mut r) + "\n").collect()
    };
    let date = |r: &mut Random| format!("2025-{:02}-{:02}", r.below(12) + 1, r.below(28) + 1);
    let time = |r: &mut Random| format!("{:02}:{:02}:{:02}", r.below(24), r.below(60), r.below(60));
    let said = |r: &mut Random| {
        let n = r.below(7) + 3;
        (0..n).map(|_| r.of(words)).collect::<Vec<_>>().join(" ")
    };
    add("paths", lines(60, &mut |r| format!("./{}", r.of(names))));
    add(
        "paths",
        lines(30, &mut |r| {
            format!("/home/user/project/{origin}/{}", r.of(names))
        }),
    );
    add(
        "paths",
        lines(50, &mut |r| {
            let name = r.of(names).rsplit('/').next().unwrap_or("-");
            format!(
                "-rw-r--r-- 1 user staff {:7} Nov {:2} {} {name}",
                r.below(200_000),
                r.below(28) + 1,
                &time(r)[..5]
            )
        }),
    );
    add(
        "logs",
        lines(50, &mut |r| {
            let level = r.of(&["INFO", "INFO", "DEBUG", "WARN", "ERROR"]);
            format!(
                "{}T{}.{:03}Z {level} [{}] {}",
                date(r),
                time(r),
                r.below(1000),
                r.of(words),
                said(r)
            )
        }),
    );
    add(
        "logs",
        lines(40, &mut |r| {
            format!(
                "10.{}.{}.{} - - [12/Nov/2025:{} +0000] \"GET /{}/{} HTTP/1.1\" {} {}",
                r.below(256),
                r.below(256),
                r.below(256),
                time(r),
                r.of(words),
                r.below(9999),
                r.of(&["200", "304", "404", "500"]),
                r.below(100_000),
            )
        }),
    );
    add(
        "logs",
        lines(50, &mut |r| {
            format!(
                "test {}::{} ... {}",
                r.of(words).to_lowercase(),
                said(r).to_lowercase().replace(' ', "_"),
                r.of(&["ok", "FAILED"])
            )
        }),
    );
    add(
        "logs",
        lines(50, &mut |r| {
            format!(
                "   Compiling {} v{}.{}.{}",
                r.of(words).to_lowercase(),
                r.below(9),
                r.below(30),
                r.below(30)
            )
        }),
    );
    add(
        "logs",
        lines(40, &mut |r| {
            format!(
                "[{:>5}.{:06}] {}: took {}.{:03} ms",
                r.below(100),
                r.below(1_000_000),
                said(r),
                r.below(900),
                r.below(1000)
            )
        }),
    );
    add("hashes", lines(1, &mut |r| r.text(BASE64, 3000)));
    add("hashes", lines(40, &mut |r| r.text(BASE64, 76)));
    add(
        "hashes",
        lines(40, &mut |r| format!("{}  {}", r.text(HEX, 64), r.of(names))),
    );
    add(
        "hashes",
        lines(40, &mut |r| {
            let uuid = [8, 4, 4, 4, 12].map(|n| r.text(HEX, n)).join("-");
            format!("{{\"uuid\":\"{uuid}\",\"n\":{}}}", r.below(1000))
        }),
    );
    add(
        "numbers",
        lines(60, &mut |r| {
            format!(
                "{:>12}.{:02} {:>9} {:>6}%",
                r.below(9_000_000),
                r.below(100),
                r.below(99_999),
                r.below(100)
            )
        }),
    );
    add(
        "runs",
        lines(40, &mut |r| {
            let mark = r.of(&["-", "=", "#", "*", "_", ".", " ", "─", "\n", "+-"]);
            let count = r.below(90) + 2;
            format!(
                "{}{}{}",
                " ".repeat(r.below(40)),
                mark.repeat(count),
                r.of(words)
            )
        }),
    );
}
