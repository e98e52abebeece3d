//! Reads counts back from their JSON.
//!
//! Declares all keys side by side, as they are written: serde reads a flattened structure through a list of all its keys and
//! values, which costs more than the rest of the reading.

use serde::Deserialize;
use serde::de::Deserializer;

use super::{
    By, Consumer, ConversationStats, Counts, Dead, Estimates, FileStats, Live, Mirrors, PathCount,
    PresetCounts, Share, ToolCount,
};
use crate::outcome::{Coverage, Examined, FileRecord, OutcomeError, ReadBack, Timings, Warning};

/// An input's entry as it is stored: see there.
#[derive(Deserialize)]
struct Stored {
    // As in [`FileRecord`].
    #[serde(rename = "input or path", alias = "input", alias = "path")]
    path: String,
    format: Option<String>,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    last_message: Option<String>,
    error: Option<OutcomeError>,
    #[serde(default)]
    timings: Option<Timings>,
    status: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    warnings: Vec<Warning>,
    bytes: u64,
    live: Live,
    dead: Dead,
    mirrors: Mirrors,
    #[serde(default)]
    coverage: Coverage,
    roles: By<Share>,
    blocks: By<Share>,
    tools: By<ToolCount>,
    paths: By<PathCount>,
    largest: Vec<Consumer>,
    estimates: Estimates,
    presets: PresetCounts,
    conversations: Vec<ConversationStats>,
}

impl Stored {
    fn entry(self) -> Result<Examined<FileStats>, String> {
        let file = FileRecord {
            path: self.path,
            format: self.format,
            project: self.project,
            last_message: self.last_message,
            error: self.error,
            timings: self.timings,
        };
        let found = FileStats {
            counts: Counts {
                bytes: self.bytes,
                live: self.live,
                dead: self.dead,
                mirrors: self.mirrors,
                coverage: self.coverage,
                roles: self.roles,
                blocks: self.blocks,
                tools: self.tools,
                paths: self.paths,
                largest: self.largest,
                estimates: self.estimates,
                presets: self.presets,
            },
            conversations: self.conversations,
        };
        let entry = Examined::of_status(file, &self.status, self.reason, found)?;
        Ok(Examined {
            warnings: self.warnings,
            ..entry
        })
    }
}

impl ReadBack for Examined<FileStats> {
    fn read_back(json: &[u8]) -> serde_json::Result<Self> {
        let stored = serde_json::from_slice::<Stored>(json);
        match stored.map(Stored::entry) {
            Ok(Ok(entry)) => Ok(entry),
            // Reports errors as for the entry of any other command.
            Ok(Err(_)) | Err(_) => serde_json::from_slice(json),
        }
    }
}

/// Counts with their names in one row.
macro_rules! rows {
    ($($count:ident { $($field:ident),* })*) => {$(
        impl<'de> Deserialize<'de> for By<$count> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Deserialize)]
                struct Row {
                    name: String,
                    $($field: u64,)*
                }
                let rows = Vec::<Row>::deserialize(deserializer)?.into_iter();
                let count = |row: Row| (row.name, $count { $($field: row.$field),* });
                Ok(By(rows.map(count).collect()))
            }
        }
    )*};
}

rows! {
    Share { blocks, tokens }
    ToolCount { calls, call_tokens, results, result_tokens, failed }
    PathCount { reads, edits, call_tokens, result_tokens }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Find;

    /// Both ways of reading accept everything that is written, and nothing else.
    #[test]
    fn an_entry_is_read_as_any_other_command_reads_its_own() {
        let mut entry = Examined::<FileStats>::new(std::path::Path::new("a"), "pi", 7);
        entry.found.counts.tools.entry("Read").calls = 3;
        entry.found.counts.roles.entry("user").tokens = 5;
        entry.found.counts.paths.entry("/a").edits = 1;
        assert_eq!(entry.found.parts(), 3);
        let json = serde_json::to_string(&entry).unwrap();
        assert_eq!(
            Examined::<FileStats>::read_back(json.as_bytes()).unwrap(),
            entry
        );
        assert_eq!(
            serde_json::from_str::<Examined<FileStats>>(&json).unwrap(),
            entry
        );
        for (from, to) in [
            ("\"counted\"", "\"done\""),
            ("\"calls\":3", "\"cells\":3"),
            ("\"bytes\":7", "\"bytes\":-7"),
            ("\"path\":", "\"pfad\":"),
        ] {
            let broken = json.replacen(from, to, 1);
            assert_ne!(broken, json);
            let quick = Examined::<FileStats>::read_back(broken.as_bytes()).unwrap_err();
            let plain = serde_json::from_str::<Examined<FileStats>>(&broken).unwrap_err();
            assert_eq!(quick.to_string(), plain.to_string());
        }
    }
}
