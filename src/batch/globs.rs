//! Bounds for globs that come from files and flags, since the engine recurses on braces.
//!
//! Does not compile any.

/// The most bytes of a glob: more than a path can have.
const MOST_BYTES: usize = 4 << 10;
/// The maximum nesting depth of `{`.
const MOST_BRACES: usize = 8;

/// Why a glob is rejected, if it is.
pub(super) fn refused(glob: &str) -> Option<String> {
    if glob.len() > MOST_BYTES {
        return Some(format!("longer than {MOST_BYTES} bytes"));
    }
    let mut depth = 0_usize;
    for c in glob.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MOST_BRACES {
            return Some(format!("braces nested more than {MOST_BRACES} deep"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_deep_globs_are_refused() {
        for glob in [
            "*.jsonl",
            "{a,{b,c}}/*",
            &"{a},".repeat(900),
            "}}}}}}}}}}}{",
        ] {
            assert_eq!(refused(glob), None, "{glob}");
        }
        assert_eq!(
            refused(&"a".repeat(4097)),
            Some("longer than 4096 bytes".to_owned())
        );
        let deep = "braces nested more than 8 deep";
        assert_eq!(refused(&"{".repeat(9)), Some(deep.to_owned()));
    }
}
