//! Bytes that stay the same: everything that is not compacted, and the results of repeated runs.

use super::harness::{
    KEPT, Place, anthropic, anthropic_of, conversations, gunzip, gzip, sample, samples, zstd,
};

#[test]
fn compressed_inputs_give_compressed_outputs_and_come_back_exactly() {
    let (before, after) = sample();
    let place = Place::with(&[
        ("a.jsonl.gz", gzip(&before)),
        ("b.jsonl.zst", zstd(&before)),
    ]);
    place.run("compact a.jsonl.gz b.jsonl.zst").exits(0);
    assert_eq!(gunzip(&place.read("a.compact.jsonl.gz")), after.as_bytes());
    let unpacked = ::zstd::decode_all(place.read("b.compact.jsonl.zst").as_slice()).unwrap();
    assert_eq!(unpacked, after.as_bytes());

    place
        .run("undo a.compact.jsonl.gz b.compact.jsonl.zst")
        .exits(0);
    assert_eq!(place.read("a.compact.jsonl.gz"), gzip(&before));
    assert_eq!(place.read("b.compact.jsonl.zst"), zstd(&before));
}

#[test]
fn compressed_inputs_that_stay_as_they_are_stay_so_to_the_byte() {
    let lines = conversations(KEPT + 3, 0);
    let place = Place::with(&[
        ("file.jsonl.gz", gzip(anthropic(2, 0))),
        ("lines.jsonl.zst", zstd(&lines)),
    ]);
    place.run("compact . --policy none --out-dir out").exits(0);
    for name in ["file.jsonl.gz", "lines.jsonl.zst"] {
        assert_eq!(
            place.read(&format!("out/{name}")),
            place.read(name),
            "{name}"
        );
    }
    place.run("compact lines.jsonl.zst").exits(0);
    let unpacked = ::zstd::decode_all(place.read("lines.compact.jsonl.zst").as_slice()).unwrap();
    assert_eq!(unpacked, conversations(KEPT + 3, 3).as_bytes());
}

/// Bytes that a parser trips over: alone, and as the last lines of a transcript.
fn nasty() -> Vec<Vec<u8>> {
    let deep = [
        b"{\"role\":\"user\",\"content\":".as_slice(),
        &b"[".repeat(100_000),
    ]
    .concat();
    let lines: [&[u8]; 23] = [
        b"",
        b"\n",
        b"\n\n \t\r\n",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf{\"role\":\"user\",\"content\":\"bom\"}\n",
        b"{\"role\":\"user\",\"content\":\"crlf\"}\r\n",
        b"{\"role\":\"user\",\"content\":\"cr\"}\r{\"role\":\"user\",\"content\":\"cr\"}\r",
        b"{\"role\":\"user\",\"content\":\"no end\"}",
        b"{\"role\":\"user\",\"content\":\"cut sho",
        b"{\"role\":\"user\",\"content\":\"\xff\xfe\xed\xa0\x80\"}\n",
        b"{\"role\":\"user\",\"content\":\"\\ud800 \\/ \\u00e9 \\udc00\"}\n",
        b"{\"role\":\"user\",\"content\":\"nul \0 tab \t\"}\n",
        b"{\"role\":\"user\",\"role\":\"user\",\"content\":\"a\",\"content\":\"b\"}\n",
        b"{\"role\":\"user\",\"content\":\"x\",\"n\":123456789012345678901234567890,\"e\":1e400,\"z\":-0.10E+05}\n",
        "{\"role\":\"user\",\"content\":\"\u{2028}\u{2029}\u{85}\u{1f600}\"}\n".as_bytes(),
        b"{}{}\n[1]\n\"s\"\nnull\nNaN\n// note\n# note\n",
        b"{\"$serde_json::private::Number\":\"1\"}\n",
        b"\xff\xfe{\0\"\0r\0o\0l\0e\0\"\0:\0",
        b"\x1b[31m\x00\x01\x02\x7f\x80\x90\n\x0b\x0c",
        b"{\"messages\":[]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n \n{\"messages\":",
        b"{\"type\":\"user\",\"uuid\":\"a\",\"parentUuid\":\"gone\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
        b"{ \"content\" : [ ] , \"role\" : \"user\" }  \n",
        &deep,
    ];
    let mut all: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).into();
    for (_, before, _) in samples() {
        all.extend(lines.map(|line| [before.as_bytes(), line].concat()));
    }
    all
}

#[test]
fn policy_none_gives_the_same_bytes_whatever_they_are() {
    let place = Place::new();
    let all = nasty();
    for (i, bytes) in all.iter().enumerate() {
        place.write(&format!("in/{i:03}.jsonl"), bytes);
    }
    place.run("compact in --policy none --out-dir out").exits(0);
    for (i, bytes) in all.iter().enumerate() {
        let copy = place.read(&format!("out/{i:03}.jsonl"));
        assert!(
            copy == *bytes,
            "{:?}",
            String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(200)..])
        );
        let streamed = if i % 8 == 0 {
            place.pipe("compact - --policy none", bytes).exits(0).out
        } else {
            continue;
        };
        assert!(streamed == *bytes, "{i} as a stream");
    }
}

#[test]
fn odd_lines_pass_through_where_others_change() {
    let (before, after) = sample();
    let odd = b"{\"role\":\"user\",\"content\":\"\xff \\ud800\",\"n\":1e400}\r\n\n{cut".as_slice();
    let place = Place::with(&[("in.jsonl", [before.as_bytes(), odd].concat())]);
    place.run("compact in.jsonl").exits(0);
    assert_eq!(
        place.read("in.compact.jsonl"),
        [after.as_bytes(), odd].concat()
    );
    let report = place.json("in.compact.stats.json");
    let kinds: Vec<&str> = report["files"][0]["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["kind"].as_str().unwrap())
        .collect();
    for kind in ["invalid_utf8", "lone_surrogate", "blank_line", "truncated"] {
        assert!(kinds.contains(&kind), "{kind} is not among {kinds:?}");
    }
}

#[test]
fn an_output_compacted_again_stays_as_it_is() {
    for (format, before, after) in samples() {
        let place = Place::with(&[("in.jsonl", &before)]);
        place.run("compact in.jsonl -o once.jsonl").exits(0);
        place
            .run("compact once.jsonl -o twice.jsonl")
            .exits(0)
            .says(&["1 unchanged"]);
        assert_eq!(place.text("twice.jsonl"), after, "{format}");
    }
}

#[test]
fn one_thread_and_eight_write_the_same() {
    let trees = ["1", "8"].map(|jobs| {
        let place = Place::new();
        for i in 0..40 {
            let (_, before, _) = &samples()[i % 3];
            place.write(&format!("in/{}/{i}.jsonl", i % 4), before.repeat(1 + i % 5));
            place.write(&format!("in/{i}.jsonl.gz"), gzip(before));
        }
        place.write("in/lines.jsonl", conversations(9, 0));
        place.write("in/torn.jsonl.gz", &gzip("x".repeat(99))[..20]);
        let args = "compact in --out-dir out --store store --set demote.min_tokens=300 --report r.json --report r.jsonl --report r.csv --report r.md --report r.html";
        place.run(&format!("{args} -j {jobs}")).exits(3);
        let mut files = place.all_files();
        // What a manifest is called is all that chance decides, and nothing names it.
        let manifest = files
            .keys()
            .find(|name| name.starts_with("store/manifests/"))
            .cloned();
        let bytes = files.remove(&manifest.unwrap()).unwrap();
        files.insert("store/manifests/".to_owned(), bytes);
        // When what was done is for the next run alone.
        files.retain(|name, _| !name.starts_with("store/finished/"));
        files
    });
    let names =
        |tree: &std::collections::BTreeMap<String, _>| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&trees[0]), names(&trees[1]));
    for (name, bytes) in &trees[0] {
        assert!(trees[1][name] == *bytes, "{name} differs");
    }
}

#[test]
fn a_result_that_would_be_named_longer_than_it_is_stays() {
    let short = anthropic_of((0..9).map(|i| format!("{i} files")));
    let place = Place::with(&[("in.jsonl", &short)]);
    place
        .run("compact in.jsonl --set clear.min_tokens=0 --set clear.keep=0")
        .exits(0);
    assert_eq!(place.text("in.compact.jsonl"), short);
}
