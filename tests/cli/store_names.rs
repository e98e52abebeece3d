//! Names of what is in the store: a text's reader can open them, and every later run knows them however they are spelled.

use serde_json::json;

use super::harness::{Place, anthropic_of, gunzip, gzip, output};

const DEMOTE: &str = "--set layers=demote --set demote.min_tokens=1000";
const RESET: &str = "--policy reset --summarize always";

fn large() -> String {
    output(1).repeat(5)
}

fn session() -> String {
    anthropic_of([large(), output(2)])
}

/// What a text names after `mark`, up to the end of its line or to `]`.
fn named(text: &str, mark: &str) -> String {
    let (_, rest) = text.split_once(mark).unwrap_or_else(|| panic!("{text}"));
    rest.split(['"', '\\', ']']).next().unwrap().to_owned()
}

fn demoted(text: &str) -> String {
    named(text, "Saved to: ")
}

fn archived(text: &str) -> String {
    named(text, "Transcript: ")
}

/// The whole path of a file of `place`.
fn whole(place: &Place, name: &str) -> String {
    let root = place.path("").canonicalize().unwrap();
    root.join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_name_is_a_path_from_the_folder_of_the_output() {
    for (args, output, folder) in [
        ("in/a.jsonl", "in/a.compact.jsonl", ".ctxpack"),
        (
            "in/a.jsonl -o out/deep/b.jsonl",
            "out/deep/b.jsonl",
            ".ctxpack",
        ),
        ("in --out-dir small", "small/sub/c.jsonl", "../.ctxpack"),
        ("in", "in/sub/c.compact.jsonl", "../.ctxpack"),
        ("in/a.jsonl --store x/y", "in/a.compact.jsonl", "../x/y"),
        ("in/a.jsonl -o z.jsonl --store x/y", "z.jsonl", "x/y"),
    ] {
        let place = Place::with(&[("in/a.jsonl", session()), ("in/sub/c.jsonl", session())]);
        place.write("out/deep/x", "");
        place.run(&format!("compact {args} {DEMOTE}")).exits(0);
        let name = demoted(&place.text(output));
        let (before, file) = name.split_at(folder.len());
        assert_eq!(before, folder, "{args}: {name}");
        assert!(file.starts_with("/offloaded/"), "{args}: {name}");
        let base = output.rsplit_once('/').map_or(".", |(base, _)| base);
        assert_eq!(place.text(&format!("{base}/{name}")), large(), "{args}");
    }
}

#[test]
fn in_place_and_where_the_policy_says_so_a_name_is_a_whole_path() {
    for (args, output) in [
        ("in/a.jsonl --in-place", "in/a.jsonl"),
        ("in --in-place", "in/a.jsonl"),
        (
            "in/a.jsonl --set store.names=absolute",
            "in/a.compact.jsonl",
        ),
    ] {
        let place = Place::with(&[("in/a.jsonl", session())]);
        place.run(&format!("compact {args} {DEMOTE}")).exits(0);
        let name = demoted(&place.text(output));
        assert!(
            name.starts_with(&whole(&place, "in/.ctxpack/offloaded/")),
            "{args}: {name}"
        );
        assert_eq!(std::fs::read_to_string(&name).unwrap(), large(), "{args}");
        // Nothing changes again, and the input comes back.
        let once = place.text(output);
        place
            .run(&format!("compact {output} --in-place {DEMOTE}"))
            .exits(0);
        assert_eq!(place.text(output), once, "{args}");
        place.run(&format!("undo {output}")).exits(0);
        assert_eq!(place.text(output), session(), "{args}");
    }
}

#[test]
fn a_stream_names_the_store_as_the_command_line_does() {
    let place = Place::new();
    let args = format!("compact - --store some/store {DEMOTE}");
    let ran = place.pipe(&args, session()).exits(0);
    let name = demoted(&ran.text());
    assert!(name.starts_with("some/store/offloaded/"), "{name}");
    assert_eq!(place.text(&name), large());
    let args = format!("{args} --set store.names=absolute");
    let name = demoted(&place.pipe(&args, session()).exits(0).text());
    assert!(name.starts_with(&whole(&place, "some/store/")), "{name}");
}

/// Older builds wrote the first; a file may have come from another folder or another machine, and other programs escape
/// slashes.
#[test]
fn every_spelling_of_a_name_is_known_again() {
    let long = "all is well here\n".repeat(60);
    let offload =
        "compact in.jsonl -o out.jsonl --overwrite --policy offload-first --set offload.tokens=1";
    let place = Place::with(&[("in.jsonl", anthropic_of([long, output(2), output(3)]))]);
    place.run(&format!("{offload} --summarize never")).exits(0);
    let text = place.text("out.jsonl");
    let name = named(&text, "Tool result is at: ");
    assert!(name.starts_with(".ctxpack/offloaded/"), "{name}");
    let digits = &name[".ctxpack/offloaded/".len()..];
    for spelled in [
        format!("offloaded/{digits}"),
        format!("/home/mira/tide watch/.ctxpack/offloaded/{digits}"),
        format!("../../x/offloaded/{digits}"),
        format!("..\\/.ctxpack\\/offloaded\\/{digits}"),
    ] {
        let respelled = text.replace(&name, &spelled);
        place.write("in.jsonl", &respelled);
        // Again: it stays as it is.
        place.run(&format!("{offload} --summarize never")).exits(0);
        assert_eq!(place.text("out.jsonl"), respelled, "{spelled}");
        // A kept name is no reason to delete what it names, wherever the record is.
        place.run("compact in.jsonl --in-place --policy offload-first --set offload.tokens=1 --set summary.keep_messages=1 --summarize always").exits(0);
        assert!(
            place.text("in.jsonl").contains("[Compressed History]"),
            "{spelled}"
        );
        assert!(!place.text("in.jsonl").contains("unavailable"), "{spelled}");
        place.run("undo in.jsonl").exits(0);
        assert_eq!(place.text("in.jsonl"), respelled, "{spelled}");
        assert!(place.path(&name).exists(), "{spelled}");
    }
    // What a record no longer names, an output that exists may.
    place.run("gc --store .ctxpack").exits(0);
    assert!(place.path(&name).exists());
}

#[test]
fn the_archive_that_a_summary_names_is_the_plain_transcript() {
    let lines = json!({"messages": [
        {"role": "user", "content": "is well ".repeat(60)}, {"role": "assistant", "content": "so it goes ".repeat(60)},
    ]});
    let lines = format!("{lines}\n");
    for (name, bytes, plain) in [
        ("in.jsonl", session().into_bytes(), session()),
        ("in.jsonl.gz", gzip(session()), session()),
        ("in.jsonl", lines.clone().into_bytes(), lines),
    ] {
        let place = Place::with(&[(name, &bytes)]);
        place
            .run(&format!("compact {name} --in-place {RESET}"))
            .exits(0);
        let text = || match name.ends_with(".gz") {
            true => String::from_utf8(gunzip(&place.read(name))).unwrap(),
            false => place.text(name),
        };
        let once = text();
        let path = archived(&once);
        assert!(
            path.starts_with(&whole(&place, ".ctxpack/archive/")),
            "{path}"
        );
        assert!(path.ends_with(".jsonl"), "{path}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), plain);
        // A second run changes nothing, gc knows the copy, and undo needs none.
        place
            .run(&format!("compact {name} --in-place {RESET}"))
            .exits(0);
        assert_eq!(text(), once);
        place.run("gc --store .ctxpack").exits(0);
        assert!(std::fs::exists(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        place.run(&format!("undo {name}")).exits(0);
        assert_eq!(place.read(name), bytes);
    }
}

#[test]
fn a_summary_that_names_its_archive_keeps_no_second_copy_unless_the_policy_wants_one() {
    let place = Place::with(&[("in.jsonl", session())]);
    place
        .run(&format!("compact in.jsonl {RESET} --set archive=auto"))
        .exits(0);
    let stored: Vec<String> = place.all_files().into_keys().collect();
    let stored: Vec<&String> = stored
        .iter()
        .filter(|name| name.contains("archive/"))
        .collect();
    assert_eq!(stored.len(), 1, "{stored:?}");
    assert!(stored[0].ends_with(".jsonl"), "{stored:?}");
    place.run("undo in.compact.jsonl").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), session());
}

#[test]
fn a_copy_has_no_secrets_where_outputs_have_none() {
    let token = format!("gh{}_{}", "p", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = session()
        + &format!(
            "{}\n{}\n",
            json!({"role": "user", "content": format!("The token is {token}.")}),
            json!({"role": "assistant", "content": "Noted."}),
        );
    let place = Place::with(&[("in.jsonl", &text)]);
    place
        .run(&format!("compact in.jsonl {RESET} --redact outputs"))
        .exits(0);
    let copy = place.text(&archived(&place.text("in.compact.jsonl")));
    assert_eq!(copy, text.replace(&token, "[REDACTED:github-token]"));
    // The original, for undo, is whole.
    place.run("undo in.compact.jsonl -o back.jsonl").exits(0);
    assert_eq!(place.text("back.jsonl"), text);
}

#[cfg(target_os = "linux")]
#[test]
fn what_no_text_can_name_is_an_error_and_nothing_is_changed() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let odd = place.path("").join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("in.jsonl"), session()).unwrap();
    let run = |args: &str| {
        let mut command = place.command(args);
        command.current_dir(&odd);
        command.output().unwrap()
    };
    let ran = run(&format!("compact in.jsonl --in-place {DEMOTE}"));
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(3), "{said}");
    assert!(
        said.contains("not Unicode") && said.contains("--store"),
        "{said}"
    );
    assert_eq!(
        std::fs::read_to_string(odd.join("in.jsonl")).unwrap(),
        session()
    );
    // From beside it, a path exists.
    assert_eq!(
        run(&format!("compact in.jsonl {DEMOTE}")).status.code(),
        Some(0)
    );
}
