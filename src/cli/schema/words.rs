//! Closed sets of words, taken from the program itself: its enums, and the tables of its topics, which tests compare with the code.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use crate::cli::topics::Topic;
use crate::error::Result;

/// The names of an enum's variants, as reports write them.
pub(super) fn words<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // It always fails: only the names are needed.
    let _ = T::deserialize(Asking(&mut names));
    names
}

/// A deserializer without a value, which only receives the names of an enum's variants.
struct Asking<'n>(&'n mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Asking<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("not an enum"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = variants;
        Err(Error::custom("nothing is there"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The result of a method for all variants of an enum; the compiler rejects a list that lacks one.
macro_rules! every {
    ($enum:ident.$name:ident: $($variant:ident)+) => {{
        #[allow(dead_code)]
        fn is_complete(one: $enum) {
            match one {
                $($enum::$variant => (),)+
            }
        }
        [$($enum::$variant.$name()),+]
    }};
}
pub(super) use every;

/// A table of a topic: the names in its first column, and their meanings.
pub(super) struct Table(Vec<(String, String)>);

impl Table {
    /// The tables below a heading.
    pub(super) fn of(topic: Topic, heading: &str) -> Result<Table> {
        let text = topic.text()?;
        let parts = text.split("\n## ").skip(1);
        let mut below = parts.filter_map(|part| part.split_once('\n'));
        let found = below.find(|(first, _)| *first == heading);
        let body = found.map_or("", |(_, body)| body);
        let mut rows = Vec::new();
        for row in body.lines().filter_map(|line| line.strip_prefix("| `")) {
            if let Some((names, meaning)) = row.split_once(" | ") {
                let meaning = meaning.trim_end_matches('|').trim();
                let names = names.split('`').step_by(2).filter(|name| !name.is_empty());
                rows.extend(names.map(|name| (name.to_owned(), meaning.to_owned())));
            }
        }
        Ok(Table(rows))
    }

    /// The names in the table.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The meaning of a name.
    pub(super) fn meaning(&self, name: &str) -> Option<&str> {
        let mut rows = self.0.iter();
        rows.find(|(known, _)| known == name)
            .map(|(_, meaning)| meaning.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{ActionKind, Status};

    #[test]
    fn the_names_of_an_enum_are_those_of_its_variants() {
        assert_eq!(
            words::<Status>(),
            [
                "compacted",
                "unchanged",
                "rejected",
                "failed",
                "unsupported",
                "skipped"
            ]
        );
        assert_eq!(words::<ActionKind>().len(), 8);
        assert!(words::<u64>().is_empty());
    }

    #[test]
    fn a_table_has_a_row_for_each_name() {
        let table = Table::of(Topic::Reports, "totals").unwrap();
        assert_eq!(table.meaning("tokens_saved"), Some("The difference."));
        assert_eq!(table.meaning("bytes_after"), table.meaning("bytes_before"));
        assert_eq!(
            Table::of(Topic::Reports, "none").unwrap().names().count(),
            0
        );
    }
}
