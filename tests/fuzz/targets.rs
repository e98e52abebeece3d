//! Properties that hold for any bytes: one function for each reader of untrusted bytes.
//!
//! Run by `tests/fuzz` over mutated seeds, and by `scripts/fuzz` under libFuzzer. Uses only what the library shows.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use ctxpack::apply::apply;
use ctxpack::batch::compact_bytes;
use ctxpack::emit::{Messages, emit};
use ctxpack::format::{Detected, Detector, Format, Layout, Warnings, may_be_document};
use ctxpack::outcome::{Outcome, Status};
use ctxpack::pipeline::Pipeline;
use ctxpack::plan::Keeping;
use ctxpack::policy::{Effective, Policy, Setting, parse, preset, presets, resolve};
use ctxpack::redact::Redactor;
use ctxpack::scan::{Cursor, Kind, Parse, Span, lines, unescape};
use ctxpack::store::Store;
use ctxpack::store::folder::Durability;
use ctxpack::store::gc::Sweep;
use ctxpack::store::undo::{Appended, Dest, Undo};
use ctxpack::transcript::{Replace, Transcript};
use ctxpack::verify::{Finding, new_findings};
use serde_json::value::RawValue;

/// A target, by its name.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All of them.
#[cfg_attr(not(test), allow(dead_code))]
pub(crate) const ALL: [Target; 8] = [
    ("scan", scan),
    ("read", read),
    ("splice", splice),
    ("compact", compact),
    ("policy", policy),
    ("records", records),
    ("archive", archive),
    ("redact", redact),
];

/// Lines give back every byte; a line is JSON if and only if `serde_json` says so; strings say the same to both.
pub(crate) fn scan(data: &[u8]) {
    let mark: &[u8] = b"\xef\xbb\xbf";
    let mut joined = data
        .strip_prefix(mark)
        .map_or(Vec::new(), |_| mark.to_vec());
    for raw in lines(data) {
        let line = &data[raw.start..raw.end];
        joined.extend_from_slice(line);
        joined.extend_from_slice(raw.eol.bytes());
        let mut cursor = Cursor::new(line);
        let skipped = cursor.skip().and_then(|span| cursor.end().map(|()| span));
        let mut walk = Walk { strings: 0 };
        let mut walker = Cursor::new(line);
        let walked = walk.value(&mut walker, 0).and_then(|()| walker.end());
        assert_eq!(
            skipped.is_ok(),
            walked.is_ok(),
            "skipping and walking differ"
        );
        if let Ok(text) = std::str::from_utf8(line) {
            let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
            assert_eq!(skipped.is_ok(), is_json, "{text:?}: {skipped:?}");
            if let Ok(span) = skipped {
                assert_eq!(span.of(line), text.trim_ascii().as_bytes());
            }
        }
    }
    assert_eq!(joined, data, "lines do not give back every byte");
}

/// Goes through a value as a format does, container by container.
struct Walk {
    strings: usize,
}

impl Walk {
    /// Deeper than this it is skipped, as formats do.
    const DEEPEST: usize = 60;

    fn value(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Parse<()> {
        let line = cursor.line();
        match cursor.kind()? {
            Kind::Object if depth < Self::DEEPEST => {
                let span = cursor.object(|_, cursor| self.value(cursor, depth + 1))?;
                assert!(span.of(line).starts_with(b"{") && span.of(line).ends_with(b"}"));
            }
            Kind::Array if depth < Self::DEEPEST => {
                let span = cursor.array(|cursor| self.value(cursor, depth + 1))?;
                assert!(span.of(line).starts_with(b"[") && span.of(line).ends_with(b"]"));
            }
            Kind::String => {
                let text = cursor.string()?;
                self.strings += 1;
                let raw = text.span.of(line);
                // `serde_json` holds neither lone surrogates nor bytes that are no UTF-8.
                let mut quoted = vec![b'"'];
                quoted.extend_from_slice(raw);
                quoted.push(b'"');
                if let Ok(said) = serde_json::from_slice::<String>(&quoted) {
                    assert_eq!(unescape(raw), said.as_bytes());
                    assert_eq!(text.utf16(), said.encode_utf16().count() as u64);
                }
            }
            Kind::Object | Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
                cursor.skip()?;
            }
        }
        Ok(())
    }
}

/// Every format reads and judges anything; what it does not edit it gives back. Detection does not depend on pieces, except of
/// what may be one document: that is always looked at as a whole.
pub(crate) fn read(data: &[u8]) {
    let whole = detected(data);
    let mut in_pieces = Detector::default();
    // What may be a document is looked at as a whole.
    match may_be_document(data) {
        true => in_pieces.look(data),
        false => data
            .split_inclusive(|byte| *byte == b'\n')
            .for_each(|line| in_pieces.look(line)),
    }
    if !may_be_document(data) {
        assert_eq!(format!("{whole:?}"), format!("{:?}", in_pieces.decide()));
    }
    for format in Format::ALL {
        let transcript = format.read(data, 1, &mut Warnings::default());
        let given: Vec<u8> = transcript.pieces().flatten().copied().collect();
        assert_eq!(
            given,
            data,
            "{}: not every byte is given back",
            format.name()
        );
        format.verify(&transcript);
        format.dead(&transcript);
        format.full_history(&transcript);
        for messages in [Messages::Chat, Messages::Anthropic] {
            for emitted in emit(format, data, Layout::File, messages) {
                let line = emitted.line.trim_ascii();
                let is_read = serde_json::from_slice::<&RawValue>(line).is_ok();
                assert!(
                    line.is_empty() || is_read,
                    "{}: emitted no JSON",
                    format.name()
                );
            }
        }
    }
}

fn detected(data: &[u8]) -> Detected {
    let mut detector = Detector::default();
    detector.look(data);
    detector.decide()
}

/// Any disjoint edits: every byte outside of them is where it was, and lines without edits are not touched.
pub(crate) fn splice(data: &[u8]) {
    let Some((&[chosen, seed], bytes)) = data.split_first_chunk::<2>() else {
        return;
    };
    let format = Format::ALL[usize::from(chosen) % Format::ALL.len()];
    let mut transcript = format.read(bytes, 1, &mut Warnings::default());
    let edits = edits_of(&transcript, u64::from(seed) + 1);
    apply(format, &mut transcript, edits.iter().cloned().collect());
    for (number, line) in transcript.edited() {
        let before = transcript.original_line(number);
        let (mut old, mut new) = (0, 0);
        for edit in edits.iter().filter(|edit| edit.line == number) {
            let kept = edit.span.start as usize - old;
            assert_eq!(line[new..new + kept], before[old..old + kept]);
            assert!(line[new + kept..].starts_with(&edit.with));
            old += kept + edit.span.len as usize;
            new += kept + edit.with.len();
        }
        assert_eq!(line[new..], before[old..]);
        if is_json(before) {
            let text = String::from_utf8_lossy(line);
            assert!(is_json(line), "an edit broke a line: {text:?}");
        }
    }
    for number in 0..transcript.lines().len() as u32 {
        let is_edited = edits.iter().any(|edit| edit.line == number);
        assert_eq!(is_edited, transcript.is_edited(number));
    }
}

fn is_json(line: &[u8]) -> bool {
    let mut cursor = Cursor::new(line);
    cursor.skip().and_then(|_| cursor.end()).is_ok()
}

/// Some of a transcript's strings, replaced.
fn edits_of(transcript: &Transcript<'_>, seed: u64) -> Vec<Replace> {
    let mut edits = Vec::new();
    for number in 0..transcript.lines().len() as u32 {
        let line = transcript.line(number);
        for (at, span) in values_of(line).into_iter().enumerate() {
            let hash = (u64::from(number) << 20 ^ at as u64)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_mul(seed | 1)
                >> 40;
            let line = number;
            let bytes = |with: &[u8]| Replace {
                line,
                span,
                with: with.to_vec(),
            };
            edits.push(match hash % 12 {
                0 => Replace::text(line, span, "short \"\\\u{1}世🎉"),
                1 => bytes(br#"[{"type":"text","text":""}]"#),
                2 => Replace::text(line, span, &"x".repeat((hash >> 8) as usize % 200)),
                3 => bytes(b"[]"),
                4 => bytes(br#"{"a":[1,2]}"#),
                5 => Replace::number(line, span, hash),
                _ => continue,
            });
        }
    }
    edits
}

/// The values of a line's object, by their places.
fn values_of(line: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut cursor = Cursor::new(line);
    let read = cursor.object(|_, cursor| {
        spans.push(cursor.skip()?);
        Ok(())
    });
    if read.is_ok() { spans } else { Vec::new() }
}

/// Every preset, and what a user may add: nothing but the identity under `none`; never more tokens; no rule broken that
/// was kept; unchanged where it says so; the output compacted again is the same.
pub(crate) fn compact(data: &[u8]) {
    let Some((&chosen, bytes)) = data.split_first() else {
        return;
    };
    let all = pipelines();
    let (name, pipeline) = &all[usize::from(chosen) % all.len()];
    let place = Path::new("in.jsonl");
    let (outcome, output) = compact_bytes(place, bytes, pipeline, None);
    let is_same = output == bytes;
    if *name == "none" {
        assert!(is_same, "none changes bytes");
    }
    if outcome.status != Status::Compacted {
        assert!(
            is_same,
            "{name}: {:?}, and the bytes differ",
            outcome.status
        );
    }
    for conversation in &outcome.conversations {
        let (before, after) = (conversation.tokens_before, conversation.tokens_after);
        assert!(after <= before, "{name}: {after} tokens, not {before}");
    }
    let (before, after) = (detected(bytes), detected(&output));
    let &Detected::Known(format, layout) = &before else {
        return;
    };
    assert!(
        matches!(after, Detected::Known(..)),
        "{name}: {format:?} becomes {after:?}"
    );
    let (was, is) = (
        findings(format, layout, bytes),
        findings(format, layout, &output),
    );
    assert_eq!(
        new_findings(&was, &is),
        Vec::<&Finding>::new(),
        "{name}: new findings"
    );
    // A file of plain words alone could be of several formats, and what left can decide it.
    if format!("{before:?}") == format!("{after:?}") && !is_close(&outcome) {
        let (again, twice) = compact_bytes(place, &output, pipeline, None);
        assert!(
            twice == output,
            "{name}: a second run changes bytes: {:?} after {:?}",
            again.conversations,
            outcome.conversations
        );
    }
}

/// A summary names lines, whose numbers can have fewer digits the second time: then it can be smaller by a hair.
fn is_close(outcome: &Outcome) -> bool {
    let mut conversations = outcome.conversations.iter();
    conversations.any(|conversation| conversation.reason.contains("would not be smaller"))
}

fn findings(format: Format, layout: Layout, bytes: &[u8]) -> Vec<Finding> {
    match layout {
        Layout::File => format.verify(&format.read(bytes, 1, &mut Warnings::default())),
        Layout::Line => {
            let of = |line: &[u8]| format.verify(&format.read(line, 1, &mut Warnings::default()));
            let each = lines(bytes).map(|raw| &bytes[raw.start..raw.end]);
            each.flat_map(of).collect()
        }
    }
}

/// Each preset, and some more, by name; made once.
fn pipelines() -> &'static [(String, Pipeline<'static>)] {
    static ALL: OnceLock<Vec<(String, Pipeline<'static>)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = Vec::new();
        for name in presets()
            .unwrap_or_default()
            .into_iter()
            .map(|preset| preset.name)
        {
            all.push((name.clone(), &[][..]));
            // So low that small transcripts are summarised, and in the published systems' words.
            all.push((name, &[("summary.when", "always")][..]));
        }
        for settings in [
            &[("clear.keep", "0"), ("clear.min_tokens", "0")][..],
            &[("demote.min_tokens", "1"), ("demote.preview_chars", "5")],
            &[("history", "keep"), ("summary.when", "always")],
            &[("summary.when", "always"), ("target.tokens", "60")],
            &[("redact", "outputs")],
        ] {
            all.push(("auto".to_owned(), settings));
        }
        all.push(("offload-first".to_owned(), &[("offload.tokens", "1")]));
        let make = |(name, settings): (String, &[(&str, &str)])| {
            let policy: &'static Policy = Box::leak(Box::new(of_settings(&name, settings).policy));
            let pipeline = Pipeline::new(policy, Keeping::Store);
            (
                name,
                pipeline.unwrap_or_else(|e| panic!("{settings:?}: {e:?}")),
            )
        };
        all.into_iter().map(make).collect()
    })
}

fn of_settings(name: &str, settings: &[(&str, &str)]) -> Effective {
    let settings: Vec<Setting> = settings
        .iter()
        .map(|(key, value)| setting(key, value))
        .collect();
    let policy = preset(name).unwrap_or_else(|e| panic!("{name}: {e:?}"));
    resolve(policy, &settings).unwrap_or_else(|e| panic!("{name}: {settings:?}: {e:?}"))
}

fn setting(key: &str, value: &str) -> Setting {
    Setting {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: "flag".to_owned(),
    }
}

/// A policy's file is refused with a reason, or is a policy that says of itself what it is; so is a line `KEY=VALUE`.
pub(crate) fn policy(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match parse("fuzzed", text) {
        Err(error) => assert!(!error.message.is_empty()),
        Ok(policy) => check_policy(policy),
    }
    let settings: Vec<Setting> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| setting(key.trim(), value.trim()))
        .collect();
    if settings.is_empty() {
        return;
    }
    static AUTO: OnceLock<Policy> = OnceLock::new();
    let auto = AUTO.get_or_init(|| of_settings("auto", &[]).policy);
    if let Ok(effective) = resolve(auto.clone(), &settings) {
        // One key may bring another: `target.tokens` is a cap.
        for setting in &settings {
            let mut overrides = effective.overrides.iter();
            assert!(overrides.any(|told| told.key == setting.key), "{setting:?}");
        }
        check_policy(effective.policy);
    }
}

fn check_policy(policy: Policy) {
    // What contradicts itself is refused here.
    let Ok(effective) = resolve(policy, &[]) else {
        return;
    };
    let shown = effective.policy.to_toml().expect("a policy can be shown");
    let read = parse(&effective.policy.name, &shown)
        .unwrap_or_else(|e| panic!("{e:?} in what is shown:\n{shown}"));
    let again = resolve(read, &[]).expect("what is shown is a policy");
    assert_eq!(
        effective.hash, again.hash,
        "what is shown is another policy:\n{shown}"
    );
    // It is refused here, or works on anything.
    if let Ok(pipeline) = Pipeline::new(&effective.policy, Keeping::Store) {
        let bytes = br#"{"role":"user","content":"hello"}"#;
        compact_bytes(Path::new("in.jsonl"), bytes, &pipeline, None);
    }
}

/// The file that the records of [`records`] and [`archive`] are about.
pub(crate) const OUTPUT: &[u8] = b"{\"role\":\"user\",\"content\":\"compacted\"}\n";
/// What it was made from.
pub(crate) const ORIGINAL: &[u8] =
    b"{\"role\":\"user\",\"content\":\"as it was before it was compacted\"}\n";

/// A record of [`OUTPUT`] as the program writes it.
pub(crate) fn record() -> String {
    format!(
        concat!(
            r#"{{"output":"out.jsonl","output_hash":"{}","output_bytes":{},"input":"in.jsonl","input_hash":"{}","#,
            r#""input_bytes":{},"original":"archive","archive":"{}","offloads":[],"policy_hash":""}}"#,
            "\n"
        ),
        ctxpack::store::hash(OUTPUT),
        OUTPUT.len(),
        ctxpack::store::hash(ORIGINAL),
        ORIGINAL.len(),
        ctxpack::store::archive_name(&ctxpack::store::hash(ORIGINAL)),
    )
}

/// Whatever a record says: undo gives the original or refuses, and nothing outside of the store changes.
pub(crate) fn records(data: &[u8]) {
    with_store(|store| {
        store
            .put_archive(ORIGINAL, &ctxpack::store::hash(ORIGINAL))
            .expect("the archive is written");
        let manifests = store.root().join("manifests");
        fs::create_dir_all(&manifests).expect("the folder is made");
        fs::write(
            manifests.join("0123456789abcdef0123456789abcdef.jsonl"),
            data,
        )
        .expect("the records are written");
    });
}

/// Whatever an archive holds: undo gives the original or refuses.
pub(crate) fn archive(data: &[u8]) {
    with_store(|store| {
        let root = store.root();
        let name = ctxpack::store::archive_name(&ctxpack::store::hash(ORIGINAL));
        for (name, bytes) in [
            (name.as_str(), data),
            (
                "manifests/0123456789abcdef0123456789abcdef.jsonl",
                record().as_bytes(),
            ),
        ] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder"))
                .expect("the folder is made");
            fs::write(path, bytes).expect("it is written");
        }
    });
}

fn with_store(fill: impl FnOnce(&Store)) {
    let folder = tempfile::tempdir_in(ram_disk()).expect("a folder is made");
    let outside = [
        ("out.jsonl", OUTPUT),
        ("precious.txt", b"precious"),
        ("in.jsonl", b"something else\n"),
    ];
    for (name, bytes) in outside {
        fs::write(folder.path().join(name), bytes).expect("the file is written");
    }
    let store = Store::new(folder.path().join(".ctxpack"), Durability::Lazy);
    fill(&store);
    drop(store);
    let store = Store::new(folder.path().join(".ctxpack"), Durability::Lazy);
    let _ = store.ledger();
    let mut undone = Vec::new();
    let found = Undo::new(None).find(&folder.path().join("out.jsonl"));
    let restored =
        found.and_then(|found| found.restore(Dest::Writer(&mut undone), Appended::Refuse));
    if restored.is_ok() {
        // What is the original already is given as it is.
        assert!(
            undone == ORIGINAL || undone == OUTPUT,
            "undo gives {:?}",
            String::from_utf8_lossy(&undone)
        );
    }
    let _ = store.gc(Sweep::Delete);
    for (name, bytes) in outside {
        assert_eq!(
            fs::read(folder.path().join(name)).ok().as_deref(),
            Some(bytes),
            "{name} changed"
        );
    }
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder is there")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".ctxpack", "in.jsonl", "out.jsonl", "precious.txt"]);
}

/// Where a file costs nothing, if there is such a place.
fn ram_disk() -> std::path::PathBuf {
    let ram = Path::new("/dev/shm");
    if ram.is_dir() {
        ram.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// What is masked once stays as it is, and what holds no secret is not touched.
pub(crate) fn redact(data: &[u8]) {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    let redactor = REDACTOR.get_or_init(|| Redactor::new().expect("the redactor is made"));
    let text = String::from_utf8_lossy(data);
    let once = redactor.redact(&text);
    if once.counts.is_empty() {
        assert_eq!(once.text, text);
    }
    assert_eq!(
        redactor.redact(&once.text).text,
        once.text,
        "masking again changes bytes"
    );
}
