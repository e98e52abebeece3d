//! The only list of the formats of lines that are compacted: every matrix of properties is built from it.

use std::fmt::Debug;

use ctxpack::format::Format;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestCaseResult, TestRunner};

use super::case::Case;

/// `tests CONFIG, CHECK, CASES`: a test of each format's name that checks the cases of that format. `all`: the formats.
macro_rules! each_format {
    (@of $($name:ident: $format:ident,)*; tests $config:expr, $check:expr, $cases:expr) => {
        $(
            #[test]
            fn $name() {
                crate::invariants::formats::holds($config, &($cases)(Format::$format), &$check);
            }
        )*
    };
    (@of $($name:ident: $format:ident,)*; all) => {
        [$(Format::$format),*]
    };
    ($($what:tt)*) => {
        each_format! {
            @of
            anthropic: Anthropic,
            openai: OpenAi,
            claude_code: ClaudeCode,
            codex: Codex,
            pi: Pi,
            ai_sdk: AiSdk,
            copilot: Copilot,
            gemini: Gemini,
            qwen: Qwen,
            droid: Droid,
            kimi: Kimi,
            ; $($what)*
        }
    };
}

/// A module for each property or group of properties, with a test for each format: of `Case::KIND_OF_CASES`. Properties of a
/// group are checked with the same cases: each case is drawn once, and compacted once for all of them.
macro_rules! every_format {
    ($config:expr, $cases:ident; $($group:ident: $kind:ident [$($property:ident)*])*) => {$(
        mod $group {
            use super::*;

            each_format! {
                tests $config,
                |case: Case| crate::invariants::formats::all_hold(
                    &case,
                    &[$((stringify!($property), super::$property)),*],
                ),
                |format| Case::$cases(format, Kind::$kind)
            }
        }
    )*};
    ($config:expr, $cases:ident; $($property:ident: $kind:ident)*) => {$(
        mod $property {
            use super::*;

            each_format! {
                tests $config, |case: Case| super::$property(&case), |format| Case::$cases(format, Kind::$kind)
            }
        }
    )*};
}

/// Draws cases and checks each. Not generic over the check: `proptest!` gives each test a runner of its own, and to compile
/// hundreds of them took minutes.
pub(super) fn holds<S: Strategy>(
    config: Config,
    cases: &S,
    check: &dyn Fn(S::Value) -> TestCaseResult,
) where
    S::Value: Debug,
{
    let mut runner = TestRunner::new(config);
    if let Err(error) = runner.run(cases, check) {
        panic!("{error}\n{runner}");
    }
}

/// The name of a property, and what checks it.
pub(super) type Property<'p> = (&'p str, fn(&Case) -> TestCaseResult);

/// Checks all of these properties; a failure begins with the name of the property.
pub(super) fn all_hold(case: &Case, properties: &[Property<'_>]) -> TestCaseResult {
    properties.iter().try_for_each(|(name, holds)| {
        holds(case).map_err(|error| TestCaseError::fail(format!("{name}: {error}")))
    })
}

/// The formats of this list.
pub(super) fn of_lines() -> Vec<Format> {
    each_format!(all).to_vec()
}

#[test]
fn the_list_has_every_format_that_is_compacted() {
    let documents = super::documents::only_documents();
    assert_eq!([of_lines(), documents].concat(), Format::compacted());
}
