//! `ctxpack policy`: the presets, a whole policy as text, a file to begin with. `ctxpack config`: the policy in effect here, and
//! the origin of each of its keys.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::config::{FILE, KeyArgs, NamedBy, PolicyArgs, ResolvedPolicy};
use super::shape::{Shape, ShapeArgs};
use super::{Context, Voice, flush, json_line, put};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::path_text;
use crate::policy::{self, Policy};
use crate::store::atomic::{Existing, Mode, write};
use crate::store::folder::{Durability, names_folder};
use crate::store::{Missing, OpenPath};
use crate::text::printable;

/// List, show and create policies.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack policy list                        the presets
  ctxpack policy show layered                a preset with every key
  ctxpack policy init                        ctxpack.toml for this folder")]
pub(super) struct PolicyCommand {
    #[command(subcommand)]
    command: PolicyVerb,
}

#[derive(Debug, Subcommand)]
enum PolicyVerb {
    /// List the presets, with their aliases
    #[command(after_long_help = "\
Examples:
  ctxpack policy list --json | jq -r '.presets[].name'
                                             their names")]
    List {
        #[command(flatten)]
        shape: ShapeArgs,
    },
    /// Print the policy in effect as TOML, with every key; --policy accepts it
    ///
    /// Comments at its top name what was set outside of the preset, and where.
    #[command(after_long_help = "\
Examples:
  ctxpack policy show                        the policy in effect here
  ctxpack policy show reset > mine.toml      a copy to change, for --policy mine.toml")]
    Show {
        /// A preset's name, or a policy file, instead of the one in effect here
        #[arg(value_name = "NAME|FILE")]
        policy: Option<String>,
        #[command(flatten)]
        keys: KeyArgs,
    },
    /// Write a policy file for this folder and the folders below it
    #[command(after_long_help = "\
Examples:
  ctxpack policy init                        ctxpack.toml, from the preset auto
  ctxpack policy init --policy layered -     the text of another one")]
    Init {
        /// The file; an existing one is not replaced; - is standard output
        #[arg(default_value = FILE)]
        file: PathBuf,
        /// The preset to begin with
        #[arg(long, value_name = "NAME", default_value = "auto")]
        policy: String,
    },
}

/// Show the policy in effect here, and where each key comes from.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack config show                        each key, its value and its source")]
pub(super) struct ConfigCommand {
    #[command(subcommand)]
    command: ConfigVerb,
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Print every key that changes outputs, with its value and where that comes from
    #[command(after_long_help = "\
Examples:
  ctxpack config show --policy layered --set target.tokens=8000
                                             what a run with these flags would use
  ctxpack config show --json                 the same for programs")]
    Show {
        #[command(flatten)]
        policy: PolicyArgs,
        #[command(flatten)]
        shape: ShapeArgs,
    },
}

impl PolicyCommand {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        match self.command {
            PolicyVerb::List { shape } => match shape.shape() {
                Shape::Text => list()?,
                Shape::Json => list_json()?,
            },
            PolicyVerb::Show { policy, keys } => {
                whole(PolicyArgs { policy, keys }.resolve(context)?)?
            }
            PolicyVerb::Init { file, policy } => init(context, &file, &policy)?,
        }
        Ok(0)
    }
}

impl ConfigCommand {
    pub(super) fn run(self, context: &Context) -> Result<u8> {
        let ConfigVerb::Show { policy, shape } = self.command;
        let chosen = policy.resolve(context)?;
        let keys = keys(&chosen)?;
        let text = match shape.shape() {
            Shape::Text => table(&chosen, &keys)?,
            Shape::Json => object(&chosen, &keys),
        };
        print(&text)?;
        Ok(0)
    }
}

fn list() -> Result<()> {
    let names = |preset: &Policy| match preset.aliases.as_slice() {
        [] => preset.name.clone(),
        aliases => format!("{} ({})", preset.name, aliases.join(", ")),
    };
    let names: Vec<String> = policy::presets()?.iter().map(names).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    let line = |(name, what)| format!("{name:width$}  {what}\n");
    let lines = names.iter().zip(policy::descriptions()).map(line);
    print(&lines.collect::<String>())
}

/// The same for programs.
fn list_json() -> Result<()> {
    let presets = policy::presets()?;
    let presets = presets.iter().zip(policy::descriptions());
    let presets: Vec<Value> = presets
        .map(|(preset, what)| {
            json!({"name": preset.name, "aliases": preset.aliases, "description": what})
        })
        .collect();
    print(&format!("{}\n", json_line(&json!({ "presets": presets }))))
}

fn whole(chosen: ResolvedPolicy) -> Result<()> {
    let ResolvedPolicy {
        effective, preset, ..
    } = chosen;
    let mut text = String::new();
    for set in &effective.overrides {
        text.push_str(&format!("# {}: {}\n", set.key, printable(&set.origin)));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let mut policy = Policy {
        extends: preset,
        ..effective.policy
    };
    // The printed policy may be saved in any folder, and a policy file names folders relative to its own.
    if let Some(path) = policy.restore.root.path()
        && let Ok(path) = std::path::absolute(path)
    {
        policy.restore.root = path_text(&path).into();
    }
    text.push_str(&policy.to_toml()?);
    print(&text)
}

fn init(context: &Context, file: &Path, preset: &str) -> Result<()> {
    let text = policy::preset(preset)?.starter()?;
    if file == Path::new("-") {
        return print(&text);
    }
    if names_folder(file) {
        let message = "a policy needs a file, and this is a folder";
        return Err(Error::new(ErrorKind::Usage, message)
            .at(file)
            .hint(format!("name a file in it, such as {FILE}")));
    }
    write(
        OpenPath::named(file, Missing::Refuse)?,
        text.as_bytes(),
        Existing::Refuse,
        Mode::Default,
        Durability::Lazy,
    )
    .map_err(|error| match error.kind {
        ErrorKind::Exists => error.hint("move it away, or give another name"),
        _ => error.elsewhere("name a file in a folder in which you may write"),
    })?;
    if context.voice > Voice::Quiet {
        let file = file.to_string_lossy();
        // A message that cannot be printed is no reason to fail.
        let _ = writeln!(io::stderr().lock(), "{}: written", printable(&file));
    }
    Ok(())
}

/// A key, its value, and where that was set.
struct Row {
    key: &'static str,
    value: Value,
    origin: String,
}

/// Every key except those that name the policy.
fn keys(chosen: &ResolvedPolicy) -> Result<Vec<Row>> {
    let ResolvedPolicy {
        effective, preset, ..
    } = chosen;
    let of_preset = policy::preset(preset)?;
    let origin = |key: &str| {
        let mut sets = effective.overrides.iter().rev();
        match (sets.find(|set| set.key == key), &chosen.file) {
            (Some(set), _) => set.origin.clone(),
            (None, Some(file)) if key == "env" && effective.policy.env != of_preset.env => {
                format!("file {}", path_text(file))
            }
            (None, _) => format!("preset {preset}"),
        }
    };
    let keys = effective.policy.keys()?.into_iter();
    Ok(keys
        .filter(|(key, _)| !["schema", "name", "aliases", "extends"].contains(key))
        .map(|(key, value)| Row {
            key,
            value,
            origin: origin(key),
        })
        .collect())
}

fn table(chosen: &ResolvedPolicy, rows: &[Row]) -> Result<String> {
    /// The width of the value column; on a terminal, longer values are cut.
    const WIDEST: usize = 56;
    let most = match io::stdout().is_terminal() {
        true => WIDEST,
        false => usize::MAX,
    };
    let ResolvedPolicy {
        effective, preset, ..
    } = chosen;
    let file = match &chosen.file {
        Some(file) => format!("{} ({})", path_text(file), named_by(chosen.named_by)),
        None => format!("none ({})", named_by(chosen.named_by)),
    };
    let mut text = format!(
        "policy  {}, of preset {preset}\nfile    {}\nhash    {}\n\n",
        printable(&effective.policy.name),
        printable(&file),
        effective.hash
    );
    let width = rows.iter().map(|row| row.key.len()).max().unwrap_or(0);
    for Row { key, value, origin } in rows {
        let value = policy::literal(value)?;
        let mut shown: String = printable(&value).chars().take(most).collect();
        if shown.chars().count() < printable(&value).chars().count() {
            shown.pop();
            shown.push('…');
        }
        let origin = printable(origin);
        text.push_str(&format!("{key:width$}  {shown:WIDEST$}  {origin}\n"));
    }
    Ok(text)
}

fn object(chosen: &ResolvedPolicy, rows: &[Row]) -> String {
    let row =
        |Row { key, value, origin }: &Row| json!({"key": key, "value": value, "origin": origin});
    let object = json!({
        "name": chosen.effective.policy.name,
        "hash": chosen.effective.hash,
        "preset": chosen.preset,
        "file": chosen.file.as_deref().map(path_text),
        "named_by": named_by(chosen.named_by),
        "keys": rows.iter().map(row).collect::<Vec<_>>(),
    });
    format!("{}\n", json_line(&object))
}

fn named_by(who: NamedBy) -> &'static str {
    match who {
        NamedBy::Flag => "flag",
        NamedBy::Environment => "env CTXPACK_POLICY",
        NamedBy::Found => "found",
        NamedBy::Nobody => "default",
    }
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    put(&mut out, text.as_bytes())?;
    flush(&mut out)
}
