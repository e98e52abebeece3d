//! `--shard`: which part of the inputs a run takes, as stated by the user or by a scheduler.
//!
//! The only place where the variables of schedulers are read, and only if the flag names one. Never guesses a part.

use clap::Args;

use super::limits::INPUT;
use crate::batch::Shard;
use crate::error::{Error, ErrorKind, Result};

/// The forms that `--shard` accepts.
const FORMS: &str =
    "use I/N with I from 1 to N, like 3/8; slurm in a job array; or kubernetes/N in an indexed job";

/// Which part of the inputs is taken.
#[derive(Debug, Args)]
pub(super) struct ShardArgs {
    /// Take only the Ith of N parts of the inputs: 3/8, slurm (a job array), kubernetes/8 (an indexed job)
    ///
    /// The part that a file belongs to follows from its path relative to the given folder, so N runs together take each file once.
    /// `ctxpack report merge` adds up their reports.
    #[arg(long, value_name = "I/N", help_heading = INPUT)]
    shard: Option<String>,
}

impl ShardArgs {
    /// The part, if one was named.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it cannot be understood, or a variable of the scheduler is missing.
    pub(super) fn shard(&self) -> Result<Option<Shard>> {
        let text = self.shard.as_deref();
        text.map(|text| shard(text, &|name| std::env::var(name).ok()))
            .transpose()
    }
}

fn shard(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard> {
    let wrong = |why: String| Error::new(ErrorKind::Usage, why).hint(FORMS);
    let number = |name: &str| -> Result<u64> {
        let value = variable(name).ok_or_else(|| {
            wrong(format!(
                "--shard {text}: {name} is not set in the environment"
            ))
        })?;
        value.parse().map_err(|_| {
            wrong(format!(
                "--shard {text}: {name} is {value:?}, not a whole number"
            ))
        })
    };
    let or_else = |name: &str, default: u64| match variable(name) {
        Some(_) => number(name),
        None => Ok(default),
    };
    let count = |of: &str| -> Result<u64> {
        of.parse()
            .map_err(|_| wrong(format!("--shard {text}: {of:?} is not a whole number")))
    };
    let (index, count) = match text.split_once('/') {
        None if text == "slurm" => {
            let (id, least) = (
                number("SLURM_ARRAY_TASK_ID")?,
                number("SLURM_ARRAY_TASK_MIN")?,
            );
            let step = or_else("SLURM_ARRAY_TASK_STEP", 1)?.max(1);
            let most = number("SLURM_ARRAY_TASK_MAX")?;
            let tasks = number("SLURM_ARRAY_TASK_COUNT")?;
            // For `--array=0,3,7`, these numbers determine neither a step nor the position of an id.
            if id < least
                || !(id - least).is_multiple_of(step)
                || most < least
                || (most - least) / step + 1 != tasks
            {
                return Err(wrong(format!(
                    "--shard slurm: the ids of the job array ({least} to {most}, {tasks} tasks) have gaps, so they do not say which part this is"
                )));
            }
            ((id - least) / step + 1, tasks)
        }
        Some(("kubernetes", of)) => {
            let index = number("JOB_COMPLETION_INDEX")?;
            (index.saturating_add(1), count(of)?)
        }
        Some((index, of)) => (count(index)?, count(of)?),
        None => return Err(wrong(format!("--shard {text}: no part is given"))),
    };
    Shard::new(index, count).ok_or_else(|| {
        wrong(format!(
            "--shard {text}: there is no part {index} of {count}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        shard(text, &variable).ok().map(Shard::name)
    }

    #[test]
    fn a_part_is_named_by_the_user_or_by_a_scheduler() {
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(with("1/1", &[]), named("shard-1-of-1"));
        assert_eq!(with("3/8", &[]), named("shard-3-of-8"));
        let array = |id, min, max, count, step| {
            [
                ("SLURM_ARRAY_TASK_ID", id),
                ("SLURM_ARRAY_TASK_MIN", min),
                ("SLURM_ARRAY_TASK_MAX", max),
                ("SLURM_ARRAY_TASK_COUNT", count),
                ("SLURM_ARRAY_TASK_STEP", step),
            ]
        };
        assert_eq!(
            with("slurm", &array("0", "0", "3", "4", "1")),
            named("shard-1-of-4")
        );
        assert_eq!(
            with("slurm", &array("4", "1", "4", "4", "1")),
            named("shard-4-of-4")
        );
        assert_eq!(
            with("slurm", &array("5", "1", "9", "3", "4")),
            named("shard-2-of-3")
        );
        assert_eq!(
            with("slurm", &array("4", "1", "4", "4", "1")[..4]),
            named("shard-4-of-4")
        );
        let index = [("JOB_COMPLETION_INDEX", "7")];
        assert_eq!(with("kubernetes/8", &index), named("shard-8-of-8"));
        // Gaps in an array, an index beyond the count, missing variables.
        for (text, variables) in [
            ("slurm", &array("3", "0", "7", "3", "1")[..]),
            ("slurm", &array("x", "0", "3", "4", "1")),
            ("slurm", &array("9", "5", "4", "1", "1")),
            ("slurm", &[]),
            ("kubernetes/7", &index),
            ("kubernetes", &index),
            ("kubernetes/8", &[]),
            ("0/4", &[]),
            ("5/4", &[]),
            ("1", &[]),
            ("1/", &[]),
            ("/4", &[]),
            ("-1/4", &[]),
            ("1/4/4", &[]),
            ("", &[]),
        ] {
            assert_eq!(with(text, variables), None, "{text}");
        }
    }
}
