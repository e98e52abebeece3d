//! Reads the entries of a `.json` report by parsing the whole: slower than splitting its text, but precise about errors.
//!
//! Holds one entry at a time.

use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use crate::error::{self, Error};

/// The function that handles each entry.
pub(super) type Keep<'k, F> = &'k mut dyn FnMut(F) -> error::Result<()>;

/// The list of entries of an object; each is passed on as it is parsed.
pub(super) struct Files<'k, F> {
    /// Its key.
    pub(super) key: &'static str,
    pub(super) keep: Keep<'k, F>,
    /// Why an entry was not kept.
    pub(super) failed: &'k mut Option<Error>,
}

impl<'de, F: Deserialize<'de>> DeserializeSeed<'de> for Files<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: Deserialize<'de>> Visitor<'de> for Files<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct Entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        let entries = self.key;
        let mut list = Some(List(self));
        while let Some(key) = map.next_key::<String>()? {
            match (key == entries, list.take()) {
                (true, Some(files)) => map.next_value_seed(files)?,
                (true, None) => return Err(A::Error::duplicate_field(entries)),
                (false, files) => {
                    list = files;
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match list {
            None => Ok(()),
            Some(_) => Err(A::Error::missing_field(entries)),
        }
    }
}

struct List<'k, F>(Files<'k, F>);

impl<'de, F: Deserialize<'de>> DeserializeSeed<'de> for List<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: Deserialize<'de>> Visitor<'de> for List<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> std::result::Result<(), A::Error> {
        let List(Files { keep, failed, .. }) = self;
        while let Some(entry) = entries.next_element::<F>()? {
            if let Err(error) = keep(entry) {
                *failed = Some(error);
                return Err(A::Error::custom(Stop));
            }
        }
        Ok(())
    }
}

/// Something failed; the reason is reported elsewhere.
#[derive(Debug)]
pub(super) struct Stop;

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry cannot be read")
    }
}

impl std::error::Error for Stop {}
