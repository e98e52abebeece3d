//! Flags for the maximum size of inputs, and for the treatment of lines that cannot be read.

use clap::Args;

use crate::batch::{BadLines, Limits};

/// The heading of flags on inputs.
pub(super) const INPUT: &str = "Input";

/// Limits on inputs.
#[derive(Debug, Args)]
pub(super) struct LimitArgs {
    /// The largest input, unpacked, such as 500M; larger files fail; the run continues [default: what fits into memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = INPUT)]
    max_file_bytes: Option<u64>,
    /// The longest line; a file with a longer one fails, the others do not
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64M", help_heading = INPUT)]
    max_line_bytes: u64,
    /// Fail a file if one of its lines cannot be read
    #[arg(long, help_heading = INPUT)]
    strict: bool,
}

impl LimitArgs {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            file_bytes: self.max_file_bytes,
            line_bytes: self.max_line_bytes,
        }
    }

    pub(super) fn bad_lines(&self) -> BadLines {
        if self.strict {
            BadLines::Fail
        } else {
            BadLines::Pass
        }
    }
}

/// `64M`, `64MiB`, `1.5G`, `4096`; a unit is a power of 1 024.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || "a number of bytes above 0, like 4096, 64M or 1.5G".to_owned();
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let exponent = match unit.strip_suffix('i').unwrap_or(unit) {
        "" if unit.is_empty() => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(wrong()),
    };
    let number: f64 = number.replace('_', "").parse().map_err(|_| wrong())?;
    let bytes = (number * 1024_f64.powi(exponent)).round();
    // Above that a number is no longer exact.
    if (1.0..9e15).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(wrong())
    }
}

/// More threads than this only get in each other's way.
const MOST_THREADS: usize = 256;

/// A number of threads, as accepted by `--jobs`.
pub(super) fn jobs(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number <= MOST_THREADS);
    number.ok_or_else(|| format!("a number of threads is needed, from 0 to {MOST_THREADS}"))
}

/// `--jobs`; 0 = one for each processor.
pub(super) fn threads(jobs: usize) -> usize {
    if jobs > 0 {
        return jobs;
    }
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_a_limit() {
        assert_eq!([jobs("0"), jobs("256")], [Ok(0), Ok(256)]);
        for wrong in ["257", "99999999999999999999", "-1", "two", ""] {
            assert!(jobs(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_size_has_a_number_and_perhaps_a_unit() {
        let sizes = [
            ("4096", 4096),
            ("1_000", 1000),
            ("7b", 7),
            ("64M", 64 << 20),
            ("64 MiB", 64 << 20),
            ("2mb", 2 << 20),
            ("1.5G", 3 << 29),
            ("1T", 1 << 40),
            ("0.5k", 512),
        ];
        for (text, bytes) in sizes {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in [
            "", "0", "M", "-1", "1e3", "1X", "1.2.3", "1i", "1MM", "9999999T", "nan",
        ] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
