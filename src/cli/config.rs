//! Determines the policy of a command: from flags, then the environment, then a file, then a preset.
//!
//! The only place where the environment is read for policies and where a `ctxpack.toml` is looked for. Looks at neither of them
//! under `--isolated`.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use clap::Args;

use super::Context;
use super::useless_flags::given;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::path_text;
use crate::policy::{self, Effective, Override, POLICY_NAME, Policy, Prompt, Setting};
use crate::store::read_regular;

/// The policy file of a folder and all folders below it.
pub(super) const FILE: &str = "ctxpack.toml";
/// The size limit, in bytes, of a policy file that the user did not name.
const MOST_FOUND: u64 = 1 << 20;

/// The maximum length of a chain of policy files that extend each other.
const MOST_EXTENDED: usize = 16;

/// The heading of flags that determine the policy.
pub(super) const POLICY: &str = "Policy";

/// Flags that choose a policy.
#[derive(Debug, Args)]
pub(super) struct PolicyArgs {
    /// A preset or a policy file [default: CTXPACK_POLICY, else the nearest ctxpack.toml in this folder or above, else auto]
    #[arg(long, value_name = "NAME|FILE", help_heading = POLICY)]
    pub(super) policy: Option<String>,
    #[command(flatten)]
    pub(super) keys: KeyArgs,
}

/// Flags that set single keys, or determine what else may set them.
#[derive(Debug, Clone, Args)]
pub(super) struct KeyArgs {
    /// Set one key of the policy, such as clear.keep=3; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = POLICY)]
    settings: Vec<String>,
    /// Ignore the environment and any ctxpack.toml
    #[arg(long, help_heading = POLICY)]
    isolated: bool,
}

/// The settings made by flags other than `--set`.
#[derive(Debug, Default)]
pub(super) struct FlagSettings {
    /// The settings that they are short for.
    pub(super) asked: Vec<Setting>,
    /// Settings that they imply, so that they have an effect. `--set` may override these.
    pub(super) implied: Vec<Setting>,
}

/// The policy in effect, and where it comes from.
pub(super) struct ResolvedPolicy {
    pub(super) effective: Effective,
    /// The preset that it is or extends.
    pub(super) preset: String,
    /// Its file, as given, or relative to the current folder if it was found.
    pub(super) file: Option<PathBuf>,
    /// What named it.
    pub(super) named_by: NamedBy,
}

/// Where the name of a policy comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// `--policy`.
    Flag,
    /// `CTXPACK_POLICY`.
    Environment,
    /// A file in the current folder or above.
    Found,
    /// Nothing: it is the default policy.
    Nobody,
}

impl KeyArgs {
    /// Whether a key is set by a flag.
    pub(super) fn are_given(&self) -> bool {
        !self.settings.is_empty()
    }
}

impl PolicyArgs {
    /// Those of these flags that were given and determine the policy.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static str> {
        given([
            ("--policy", self.policy.as_ref().map(drop)),
            ("--set", self.keys.are_given().then_some(())),
        ])
    }

    /// The policy in effect. Reports ignored environment variables.
    pub(super) fn resolve(&self, context: &Context) -> Result<ResolvedPolicy> {
        self.resolve_with(context, FlagSettings::default())
    }

    /// The policy in effect, with what other flags set.
    pub(super) fn resolve_with(
        &self,
        context: &Context,
        flags: FlagSettings,
    ) -> Result<ResolvedPolicy> {
        let (name, named_by) = self.name()?;
        let loaded = match named_by {
            NamedBy::Found => Loaded::found(Path::new(&name))?,
            NamedBy::Environment => Loaded::named(&name).map_err(|mut error| {
                if error.path.is_none() {
                    error
                        .message
                        .push_str(&format!(" (from env {POLICY_NAME})"));
                }
                error
            })?,
            NamedBy::Flag | NamedBy::Nobody => Loaded::named(&name)?,
        };
        let environment = if self.keys.isolated {
            policy::Environment::default()
        } else {
            policy::environment(std::env::vars_os(), &loaded.policy)?
        };
        for why in &environment.ignored {
            context.remark(
                "environment",
                why,
                Some("correct or unset it; --isolated ignores the environment"),
            );
        }
        let set = self.keys.settings.iter().map(|text| setting_of(text));
        let set = set.collect::<Result<Vec<Setting>>>()?;
        check_agreed(&set, &flags.asked)?;
        let settings = [
            environment.settings,
            flags.implied,
            set,
            flags.asked,
            environment.firm,
        ];
        let settings = settings.into_iter().flatten();
        let settings = settings.map(with_words);
        let settings = settings.collect::<Result<Vec<Setting>>>()?;
        let mut effective = policy::resolve(loaded.policy, &settings)?;
        effective.overrides.splice(0..0, loaded.overrides);
        Ok(ResolvedPolicy {
            effective,
            preset: loaded.preset,
            file: loaded.file,
            named_by,
        })
    }

    /// What to load: a preset's name or a path.
    fn name(&self) -> Result<(String, NamedBy)> {
        if let Some(name) = &self.policy {
            return Ok((name.clone(), NamedBy::Flag));
        }
        if !self.keys.isolated {
            if let Some(name) = std::env::var_os(POLICY_NAME).filter(|name| !name.is_empty()) {
                let name = name.into_string().map_err(|_| {
                    let message = format!("{POLICY_NAME} in the environment is not Unicode text");
                    Error::new(ErrorKind::Config, message).hint("name the policy with --policy")
                })?;
                return Ok((name, NamedBy::Environment));
            }
            if let Some(path) = find() {
                return Ok((path_text(&path), NamedBy::Found));
            }
        }
        Ok((String::new(), NamedBy::Nobody))
    }
}

/// Rejects a key that `--set` and a flag that is short for it set to different values: neither takes precedence.
fn check_agreed(set: &[Setting], asked: &[Setting]) -> Result<()> {
    for Setting { key, value, .. } in asked {
        let other = set.iter().rfind(|set| set.key == *key);
        if let Some(other) = other.filter(|other| other.value != *value) {
            let message = format!(
                "{key} is set to {:?} by --set, and to {value:?} by a flag that is short for it",
                other.value
            );
            return Err(Error::new(ErrorKind::Usage, message).hint("leave one of them out"));
        }
    }
    Ok(())
}

/// A policy before the environment and flags.
struct Loaded {
    policy: Policy,
    preset: String,
    file: Option<PathBuf>,
    /// What the file sets.
    overrides: Vec<Override>,
}

impl Loaded {
    fn named(name: &str) -> Result<Self> {
        if is_path(name) {
            return Loaded::file(Path::new(name), &read(Path::new(name))?);
        }
        let policy = policy::preset(name)?;
        Ok(Loaded {
            preset: policy.name.clone(),
            policy,
            file: None,
            overrides: Vec::new(),
        })
    }

    fn file(path: &Path, text: &str) -> Result<Self> {
        let File { policy, overrides } = File::read(path, text, Trust::Named, &[])?;
        Loaded::of(path, policy, overrides)
    }

    /// A file that the user did not name, and that may therefore set less.
    fn found(path: &Path) -> Result<Self> {
        let text = read_found(path).map_err(|error| match path.is_file() {
            true => error,
            false => {
                error.hint("put a policy file in its place, or remove it; --isolated ignores it")
            }
        })?;
        let File { policy, overrides } = File::read(path, &text, Trust::Found, &[])?;
        Loaded::of(path, policy, overrides)
    }

    fn of(path: &Path, policy: Policy, overrides: Vec<Override>) -> Result<Self> {
        Ok(Loaded {
            preset: policy::preset(&policy.extends)?.name,
            overrides,
            file: Some(path.to_owned()),
            policy,
        })
    }
}

/// How a policy file came to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// The user named it, or a file that extends it.
    Named,
    /// It was found in a folder: it may set less, and so may the files that it extends.
    Found,
}

/// A policy file, with the files that it extends.
struct File {
    policy: Policy,
    /// The settings in the files; those of extended files come first.
    overrides: Vec<Override>,
}

impl File {
    /// `above` contains the real paths of the files that led here.
    fn read(path: &Path, text: &str, trust: Trust, above: &[PathBuf]) -> Result<Self> {
        if trust == Trust::Found {
            policy::check_found(text, &path_text(path)).map_err(|error| error.at(path))?;
        }
        let mut overrides = Vec::new();
        let mut extends = None;
        let words = |name: &str| read_prompt(&path.with_file_name(""), Path::new(name));
        let base = |name: &str| {
            if !is_path(name) {
                return policy::preset(name);
            }
            if above.len() == MOST_EXTENDED {
                let message =
                    format!("a chain of more than {MOST_EXTENDED} files that extend each other");
                return Err(Error::new(ErrorKind::Config, message));
            }
            let base = path.with_file_name("").join(name);
            // A message about a file may quote it, so a file that came with a user's transcripts may open only policies.
            let is_policy = base.extension().is_some_and(|ending| ending == "toml");
            if trust == Trust::Found && !is_policy {
                let message = format!("{name:?} does not end in .toml");
                return Err(Error::new(ErrorKind::Config, message)
                    .hint("to allow any file name, name the extending file with --policy FILE"));
            }
            let text = read_found(&base)?;
            // A path that cannot be resolved cannot be read either.
            let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let chain = [above, &[real(path)]].concat();
            if chain.contains(&real(&base)) {
                let message = format!("{name:?} and the files that it extends form a cycle");
                return Err(Error::new(ErrorKind::Config, message));
            }
            let base = File::read(&base, &text, trust, &chain)?;
            overrides = base.overrides;
            extends = Some(base.policy.extends.clone());
            Ok(base.policy)
        };
        let mut policy = parse(path, text, base, words)?;
        let origin = format!("file {}", path_text(path));
        let given = policy::given(text).map_err(|error| error.at(path))?;
        if given.contains(&policy::ROOT) {
            policy.restore.root = policy.restore.root.named_in(path);
        }
        let mut values = policy.keys()?;
        values.retain(|(key, _)| given.contains(key));
        overrides.extend(values.into_iter().map(|(key, value)| Override {
            key: key.to_owned(),
            value,
            origin: origin.clone(),
        }));
        let policy = Policy {
            extends: extends.unwrap_or_else(|| policy.extends.clone()),
            ..policy
        };
        Ok(File { policy, overrides })
    }
}

/// The nearest `ctxpack.toml` from the current folder upwards, relative to that folder.
fn find() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let mut way = PathBuf::new();
    for folder in here.ancestors() {
        // Anything with that name is found, and rejected if it is not a readable file: a broken link, a folder, a pipe. Someone
        // intends it to apply.
        if folder.join(FILE).symlink_metadata().is_ok() {
            return Some(way.join(FILE));
        }
        way.push("..");
    }
    None
}

/// Whether a policy's name is a path.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml")
}

/// A policy file that was found, not named.
pub(super) fn load_found_file(path: &Path) -> Result<Policy> {
    Ok(File::read(path, &read_found(path)?, Trust::Named, &[])?.policy)
}

/// The text of a file that the user did not name. It may be anything, so that a pipe or an endless file must not block the run.
fn read_found(path: &Path) -> Result<String> {
    let bytes = read_regular(path, MOST_FOUND)?;
    let text = String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e));
    text.map_err(|e| Error::io(path, "read the policy", e))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Error::io(path, "read the policy", e))
}

/// The words of a prompt in the folder of a policy file or below it.
fn read_prompt(folder: &Path, name: &Path) -> Result<String> {
    let outside = || {
        let message = format!(
            "summary.prompt names a file that is not below the policy file's folder: {}",
            path_text(name)
        );
        Error::new(ErrorKind::Config, message).hint("put it beside the policy file, or below it")
    };
    let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !name.components().all(is_below) {
        return Err(outside());
    }
    let path = folder.join(name);
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let real =
        |path: &Path| fs::canonicalize(path).map_err(|e| Error::io(path, "read the prompt", e));
    if !real(&path)?.starts_with(real(folder)?) {
        return Err(outside());
    }
    let bytes = read_regular(&path, MOST_FOUND)?;
    let text = String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e));
    text.map_err(|e| Error::io(&path, "read the prompt", e))
}

/// A setting with the words of the file that it names, if it names a prompt's. Flags and variables are the user's own: they may
/// name any path, relative to the current folder.
fn with_words(setting: Setting) -> Result<Setting> {
    let named = Prompt::path_in(&setting.value).filter(|_| setting.key == policy::PROMPT);
    let Some(path) = named.map(Path::new) else {
        return Ok(setting);
    };
    let bytes = fs::read(path).map_err(|e| Error::io(path, "read the prompt", e))?;
    let words = String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e));
    let words = words.map_err(|e| Error::io(path, "read the prompt", e))?;
    let value = policy::prompt_of(&words).map_err(|error| error.at(path))?;
    Ok(Setting { value, ..setting })
}

/// A policy is called after its file unless it has a name.
fn parse(
    path: &Path,
    text: &str,
    base: impl FnOnce(&str) -> Result<Policy>,
    words: impl FnOnce(&str) -> Result<String>,
) -> Result<Policy> {
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    policy::parse_over(&name, text, base, words).map_err(|error| match error.path {
        Some(_) => error,
        None => error.at(path),
    })
}

pub(super) fn setting_of(text: &str) -> Result<Setting> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(Error::new(
            ErrorKind::Config,
            format!("--set takes KEY=VALUE, not {text:?}"),
        )
        .hint("for example --set clear.keep=3"));
    };
    Ok(Setting {
        key: key.trim().to_owned(),
        value: value.to_owned(),
        origin: "flag".to_owned(),
    })
}
