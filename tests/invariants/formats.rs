//! The only list of the formats of lines that are compacted: every matrix of properties is built from it.

use ctxpack::format::Format;

/// `tests CONFIG, CHECK, CASES`: a test of each format's name that checks the cases of that format. `all`: the formats.
macro_rules! each_format {
    (@of $($name:ident: $format:ident,)*; tests $config:expr, $check:expr, $cases:expr) => {
        proptest! {
            #![proptest_config($config)]

            $(
                #[test]
                fn $name(case in ($cases)(Format::$format)) {
                    ($check)(case)?;
                }
            )*
        }
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

/// A module for each property, with a test for each format: of `Case::KIND_OF_CASES`.
macro_rules! every_format {
    ($config:expr, $cases:ident; $($property:ident: $kind:ident)*) => {$(
        mod $property {
            use super::*;

            each_format! {
                tests $config, |case: Case| super::$property(&case), |format| Case::$cases(format, Kind::$kind)
            }
        }
    )*};
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
