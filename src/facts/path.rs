//! File paths as transcripts write them.
//!
//! Purely lexical, never reads the disk: `..` stays (a link may precede it), and so does a path relative to an unknown folder.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};

use super::input::Input;
use crate::scan::{Value, decoded};
use crate::transcript::{Line, LineKind, LinkKind, Transcript};

/// The keys for the path in the inputs of tools.
const KEYS: [&str; 7] = [
    "file_path",
    "path",
    "filePath",
    "target_file",
    "absolute_path",
    "filename",
    "notebook_path",
];

/// The path in a call's input, and its key.
pub(super) fn of<'i>(input: &'i Input<'_>) -> Option<(&'static str, Cow<'i, str>)> {
    let path = |key: &&'static str| Some((*key, input.text(&[key])?));
    KEYS.iter()
        .find_map(path)
        .filter(|(_, path)| !path.is_empty())
}

/// A path below the folder that a call names.
pub(super) fn below_folder(input: &Input<'_>, path: &str) -> String {
    match input.text(&["workdir", "cwd", "working_directory"]) {
        Some(folder) if is_relative(path) => joined(&folder, path),
        Some(_) | None => path.to_owned(),
    }
}

/// A path below a folder, which may be the root.
fn joined(folder: &str, path: &str) -> String {
    format!("{}/{path}", folder.trim_end_matches('/'))
}

/// The working folders of an agent, for many lookups in the order of lines.
pub(super) struct Folders<'t, 'a> {
    transcript: &'t Transcript<'a>,
    /// The lines that set the folder for those after them.
    saying: OnceCell<Vec<u32>>,
    /// The last line looked up, and its folder.
    last: RefCell<Option<(u32, Option<String>)>>,
}

impl<'t, 'a> Folders<'t, 'a> {
    pub(super) fn new(transcript: &'t Transcript<'a>) -> Self {
        Folders {
            transcript,
            saying: OnceCell::new(),
            last: RefCell::new(None),
        }
    }

    /// The normalised form of a path on a line.
    pub(super) fn in_one_spelling(&self, line: u32, path: &str) -> String {
        if !is_relative(path) {
            return spelled(path, None);
        }
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|(asked, _)| *asked != line) {
            *last = Some((line, self.of(line)));
        }
        let folder = last.as_ref().and_then(|(_, folder)| folder.as_deref());
        spelled(path, folder)
    }

    /// The folder that the agent worked in when it wrote a line, where its format records that.
    fn of(&self, line: u32) -> Option<String> {
        if self.transcript.links().is_empty() {
            return None;
        }
        self.recorded(line).or_else(|| {
            // A session may record it once, in its header, perhaps after unreadable lines.
            let is_read = |line: &Line| match line.kind {
                LineKind::Bad | LineKind::Unknown => false,
                LineKind::Message | LineKind::Mirror | LineKind::Control | LineKind::Session => {
                    true
                }
            };
            let lines = self.transcript.lines();
            let first = lines.iter().position(is_read)? as u32;
            let is_header = lines[first as usize].kind == LineKind::Session && line != first;
            is_header.then(|| self.recorded(first)).flatten()
        })
    }

    /// The folder recorded on a line, or set by the nearest line before it.
    fn recorded(&self, line: u32) -> Option<String> {
        let own = Value::of(self.transcript.line(line)).field("cwd").string();
        let own = own.filter(|folder| !folder.is_empty());
        let folder = decoded(own.or_else(|| self.said_before(line))?);
        (!folder.is_empty()).then(|| folder.into_owned())
    }

    /// The folder that the nearest preceding line sets, in formats that have such lines.
    fn said_before(&self, line: u32) -> Option<&'t [u8]> {
        let transcript = self.transcript;
        let links = transcript.links();
        let saying = self.saying.get_or_init(|| {
            let links = (0..).zip(links);
            let saying = links.filter(|(_, link)| link.kind == LinkKind::Folder);
            saying.map(|(line, _)| line).collect()
        });
        let before = saying.partition_point(|saying| *saying < line);
        let at = *saying.get(before.checked_sub(1)?)?;
        Some(transcript.bytes(at, links[at as usize].content))
    }
}

/// `path` without `.` and doubled slashes, joined to `folder` if it is relative; a Windows path uses only `/`.
pub fn spelled(path: &str, folder: Option<&str>) -> String {
    let joined = match folder {
        Some(folder) if is_relative(path) => joined(folder, path),
        Some(_) | None => path.to_owned(),
    };
    let (root, joined) = match is_of_windows(&joined) {
        true => ("", with_slashes(&joined)),
        false if is_of_share(&joined) => ("", joined),
        false if joined.starts_with('/') => ("/", joined),
        false => ("", joined),
    };
    // A network share.
    let root = match joined.starts_with("//") && root.is_empty() {
        true => "//",
        false => root,
    };
    let parts: Vec<&str> = joined
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    match (root, parts.join("/")) {
        ("", parts) if parts.is_empty() => ".".to_owned(),
        (root, parts) => format!("{root}{parts}"),
    }
}

/// Whether a path is a network share's and already normalised.
fn is_of_share(path: &str) -> bool {
    let name = path.strip_prefix("//").and_then(|rest| rest.chars().next());
    name.is_some_and(|c| !matches!(c, '/' | '.'))
}

/// The Windows form of a path from a shell with folders for drives: `/c/w` or `/mnt/c/w`.
pub(super) fn on_its_drive(path: &str) -> Option<String> {
    let rest = path
        .strip_prefix("/mnt/")
        .or_else(|| path.strip_prefix('/'))?;
    let (drive, rest) = rest.split_once('/')?;
    let is_drive = drive.len() == 1 && drive.bytes().all(|b| b.is_ascii_alphabetic());
    is_drive.then(|| format!("{}:/{rest}", drive.to_ascii_uppercase()))
}

/// Whether a path does not begin at a root, a home folder or a drive.
pub fn is_relative(path: &str) -> bool {
    let has_drive = path.as_bytes().get(1) == Some(&b':');
    !path.starts_with(['/', '~', '\\']) && !has_drive
}

/// Whether a path begins at a drive or names another computer, as only Windows paths do.
pub(super) fn is_of_windows(path: &str) -> bool {
    path.starts_with("\\\\")
        || matches!(path.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
}

/// A Windows path with `/` as the separator and a normalised drive letter.
pub(super) fn with_slashes(path: &str) -> String {
    let mut path = path.replace('\\', "/");
    if path.as_bytes().get(1) == Some(&b':')
        && let Some(drive) = path.get_mut(..1)
    {
        drive.make_ascii_uppercase();
    }
    path
}

/// The folder that the agent worked in when it wrote a line, where its format records that.
pub fn folder(transcript: &Transcript<'_>, line: u32) -> Option<String> {
    Folders::new(transcript).of(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path_become_one() {
        let same = [
            "/w/src/a.rs",
            "src/a.rs",
            "./src/a.rs",
            "src//./a.rs",
            "/w/./src/a.rs/",
        ];
        for path in same {
            assert_eq!(spelled(path, Some("/w")), "/w/src/a.rs", "{path}");
        }
        assert_eq!(spelled("./a", None), "a");
        assert_eq!(spelled("/", Some("/w")), "/");
        assert_eq!(spelled(".", None), ".");
    }

    #[test]
    fn spellings_of_one_path_of_windows_become_one() {
        for path in [
            "C:\\w\\a.rs",
            "c:/w/a.rs",
            "a.rs",
            ".\\a.rs",
            "C:\\w\\.\\a.rs",
        ] {
            assert_eq!(spelled(path, Some("C:\\w")), "C:/w/a.rs", "{path}");
        }
        assert_eq!(spelled("\\\\srv\\w\\a.rs", None), "//srv/w/a.rs");
        assert_eq!(spelled("//srv/w/./a.rs", None), "//srv/w/a.rs");
        assert_eq!(spelled("a.rs", Some("//srv/w")), "//srv/w/a.rs");
        assert_eq!(spelled("/srv/w/a.rs", None), "/srv/w/a.rs");
        assert_eq!(spelled("srv/a.rs", Some("/")), "/srv/a.rs");
        assert_eq!(spelled("///srv//a.rs", None), "/srv/a.rs");
        // In a folder that is not a Windows path, `\` is an ordinary character.
        assert_eq!(spelled("a\\b", Some("/w")), "/w/a\\b");
    }

    #[test]
    fn other_paths_stay_apart() {
        assert_eq!(spelled("../a", Some("/w")), "/w/../a");
        assert_eq!(spelled("~/a", Some("/w")), "~/a");
        assert_eq!(spelled("a b/ü.rs", None), "a b/ü.rs");
    }
}
