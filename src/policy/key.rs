//! Declares keys: each is one field of a table, with its type, default, unit, range and documentation. From that one declaration,
//! the macros here generate the documented struct, its defaults and the rows of the list of keys.
//!
//! ```text
//! table! {
//!     /// What the table is about.
//!     "clear" Clear {
//!         /// What the key means.
//!         min_tokens: u64 = 250, unit("tokens"), common();
//!     }
//! }
//! ```
//!
//! Methods of [`Key`] follow the default. One that does not fit the key's type is a compile error.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::choice::Choice;
use super::domain::{Domain, MAX};
use super::layer::Layer;
use super::template::{Slot, Template};

/// Everything known about a key except its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    /// The dotted key.
    pub(super) name: &'static str,
    /// The documentation of its field. The first paragraph is for users; further ones give reasons.
    doc: &'static str,
    /// The values that it accepts.
    pub(super) domain: Domain,
    /// The unit of its number; "" = none.
    pub(super) unit: &'static str,
    /// What it is for.
    pub(super) purpose: Purpose,
    /// What a file that the user did not name may set.
    pub(super) found: Found,
    /// How prominent it is.
    pub(super) audience: Audience,
    /// The layer that needs a text here.
    pub(super) needed_by: Option<Layer>,
    /// The key and value that a value above 0 sets too, unless that key is also set.
    pub(super) implies: Option<(&'static str, &'static str)>,
    /// The commands that read it.
    pub(super) read_by: ReadBy,
}

/// The commands that read a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadBy {
    /// All that compact.
    AllCommands,
    /// `replay` alone, since it depends on the order of turns.
    ReplayOnly,
}

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It changes outputs, and belongs to the policy's hash.
    Setting,
    /// It names the policy, and changes no output.
    Label,
    /// It states where a file's policy comes from, changes no output itself, and cannot be set outside of a file.
    Origin,
}

/// Who a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Most users: the starter file shows it.
    Most,
    /// Few users.
    Few,
}

/// What a policy file that was found, not named by the user, may set: it may have come with another person's repository.
#[derive(Debug, Clone, Copy)]
pub(super) enum Found {
    /// Anything: the key only affects how a transcript is compacted.
    Any,
    /// Only ""; any other value would have this effect.
    Empty(&'static str),
    /// Anything but these words, which would have this effect.
    Except(&'static [&'static str], &'static str),
    /// Only the words that the key lists; any other text would have this effect.
    OneOfItsWords(&'static str),
    /// At most this number, so that no user waits or pays because of a file that they have not seen.
    AtMost(u64),
}

impl Key {
    /// A key that is fully described by its table and type.
    pub(super) const fn new(name: &'static str, doc: &'static str, domain: Domain) -> Self {
        Key {
            name,
            doc,
            domain,
            unit: "",
            purpose: Purpose::Setting,
            found: Found::Any,
            audience: Audience::Few,
            needed_by: None,
            implies: None,
            read_by: ReadBy::AllCommands,
        }
    }

    /// [`ReadBy::ReplayOnly`].
    pub(super) const fn in_replay(mut self) -> Self {
        self.read_by = ReadBy::ReplayOnly;
        self
    }

    /// Sets the unit of a number.
    pub(super) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Restricts the key to whole numbers of at least `min`.
    pub(super) const fn at_least(mut self, min: i64) -> Self {
        let Domain::Integer { max, .. } = self.domain else {
            panic!("only a whole number has a least value");
        };
        self.domain = Domain::Integer { min, max };
        self
    }

    /// Restricts the key to this whole number.
    pub(super) const fn only(mut self, value: i64) -> Self {
        self.domain = Domain::Integer {
            min: value,
            max: value,
        };
        self
    }

    /// Restricts the key to numbers from 0 to 1.
    pub(super) const fn share(self) -> Self {
        self.within(1.0)
    }

    /// Restricts the key to numbers from 0 to 100.
    pub(super) const fn percent(self) -> Self {
        self.within(100.0).unit("percent")
    }

    const fn within(mut self, max: f64) -> Self {
        let Domain::Positive = self.domain else {
            panic!("only a floating-point number can be a share");
        };
        self.domain = Domain::UpTo { max };
        self
    }

    /// Declares the substitutions that a template must contain and those that it may contain.
    pub(super) const fn slots(
        mut self,
        required: &'static [Slot],
        optional: &'static [Slot],
    ) -> Self {
        let Domain::Template { .. } = self.domain else {
            panic!("only a template has substitutions");
        };
        self.domain = Domain::Template { required, optional };
        self
    }

    /// [`Purpose::Label`].
    pub(super) const fn label(mut self) -> Self {
        self.purpose = Purpose::Label;
        self
    }

    /// [`Purpose::Origin`].
    pub(super) const fn origin(mut self) -> Self {
        self.purpose = Purpose::Origin;
        self
    }

    /// [`Audience::Most`].
    pub(super) const fn common(mut self) -> Self {
        self.audience = Audience::Most;
        self
    }

    /// What a file that the user did not name may set.
    pub(super) const fn found(mut self, found: Found) -> Self {
        self.found = found;
        self
    }

    /// The key must not be empty while this layer is on.
    pub(super) const fn needed_by(mut self, layer: Layer) -> Self {
        self.needed_by = Some(layer);
        self
    }

    /// Makes a value above 0 also set this other key, unless that key is itself set.
    pub(super) const fn implies(mut self, key: &'static str, value: &'static str) -> Self {
        self.implies = Some((key, value));
        self
    }

    /// The table of the key, "" for none, and its name in that table.
    pub(super) fn place(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').unwrap_or(("", self.name))
    }

    /// Its documentation for users, line by line.
    pub(super) fn doc(&self) -> impl Iterator<Item = &'static str> {
        first_paragraph(self.doc)
    }

    /// Its value in a policy written as JSON.
    pub(super) fn get<'v>(&self, policy: &'v Value) -> &'v Value {
        match self.place() {
            ("", field) => &policy[field],
            (table, field) => &policy[table][field],
        }
    }

    /// Sets it in a policy written as JSON. Names of environment variables are added to the existing ones.
    pub(super) fn set(&self, policy: &mut Value, value: Value) {
        let place = match self.place() {
            ("", field) => &mut policy[field],
            (table, field) => &mut policy[table][field],
        };
        match (place, value) {
            (Value::Object(known), Value::Object(names)) => known.extend(names),
            (place, value) => *place = value,
        }
    }
}

fn first_paragraph(doc: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = doc.lines().map(str::trim);
    lines.take_while(|line| !line.is_empty())
}

/// Keys that a policy's file writes under one header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    /// The header; "" for the top of the file.
    pub(super) name: &'static str,
    /// The documentation of its struct.
    doc: &'static str,
    /// Its keys, in their order.
    pub(super) keys: &'static [Key],
}

impl Table {
    /// A table with its documentation.
    pub(super) const fn new(name: &'static str, doc: &'static str, keys: &'static [Key]) -> Self {
        Table { name, doc, keys }
    }

    /// The documentation of the table, line by line.
    pub(super) fn doc(&self) -> impl Iterator<Item = &'static str> {
        first_paragraph(self.doc)
    }
}

/// A type of values that a key may have.
pub(super) trait Type {
    /// How a declaration writes the default.
    type Written;
    /// The values that a key of this type accepts unless its declaration says otherwise.
    const DOMAIN: Domain;
    /// Converts the default to the form that the policy holds.
    fn from_written(written: Self::Written) -> Self;
}

/// Types whose defaults are written as the policy holds them.
macro_rules! plain {
    ($($type:ty: $domain:expr;)+) => {$(
        impl Type for $type {
            type Written = Self;
            const DOMAIN: Domain = $domain;
            fn from_written(written: Self) -> Self {
                written
            }
        }
    )+};
}

plain! {
    u64: Domain::Integer { min: 0, max: MAX };
    i64: Domain::Integer { min: -MAX, max: MAX };
    f64: Domain::Positive;
    bool: Domain::Boolean;
}

impl<C: Choice> Type for C {
    type Written = Self;
    const DOMAIN: Domain = Domain::OneOf(C::WORDS);
    fn from_written(written: Self) -> Self {
        written
    }
}

impl<C: Choice + 'static> Type for Vec<C> {
    type Written = &'static [C];
    const DOMAIN: Domain = Domain::AnyOf(C::WORDS);
    fn from_written(written: &'static [C]) -> Self {
        written.to_vec()
    }
}

impl Type for String {
    type Written = &'static str;
    const DOMAIN: Domain = Domain::Text;
    fn from_written(written: &'static str) -> Self {
        written.to_owned()
    }
}

impl Type for Template {
    type Written = &'static str;
    const DOMAIN: Domain = Domain::Template {
        required: &[],
        optional: &[],
    };
    fn from_written(written: &'static str) -> Self {
        Template::from(written.to_owned())
    }
}

impl Type for Vec<String> {
    type Written = [&'static str; 0];
    const DOMAIN: Domain = Domain::TextList;
    fn from_written([]: [&'static str; 0]) -> Self {
        Vec::new()
    }
}

impl Type for BTreeMap<String, String> {
    type Written = [(&'static str, &'static str); 0];
    const DOMAIN: Domain = Domain::TextTable;
    fn from_written([]: [(&'static str, &'static str); 0]) -> Self {
        BTreeMap::new()
    }
}

impl Type for Map<String, Value> {
    type Written = [(&'static str, &'static str); 0];
    const DOMAIN: Domain = Domain::Parameters;
    fn from_written([]: [(&'static str, &'static str); 0]) -> Self {
        Map::new()
    }
}

/// Generates the rows of the list of keys from declarations.
macro_rules! rows {
    ($table:expr; $(
        $(#[doc = $doc:literal])+
        $field:ident: $type:ty $(, $property:ident($($value:expr),*))*;
    )+) => {
        &[$(
            $crate::policy::key::Key::new(
                concat!($table, stringify!($field)),
                concat!($($doc, "\n"),+),
                <$type as $crate::policy::key::Type>::DOMAIN,
            )$(.$property($($value),*))*,
        )+]
    };
}

/// Declares one table: a struct with a public field for each key.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $table:literal $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $default:expr $(, $property:ident($($value:expr),*))*;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $doc])+ #[doc = concat!("\n\nDefault: `", stringify!($default), "`")] pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: <$type as $crate::policy::key::Type>::from_written($default),)+
                }
            }
        }

        impl $name {
            pub(super) const TABLE: $crate::policy::key::Table = $crate::policy::key::Table::new(
                $table,
                concat!($($about, "\n"),+),
                $crate::policy::key::rows! {
                    concat!($table, ".");
                    $($(#[doc = $doc])+ $field: $type $(, $property($($value),*))*;)+
                },
            );
        }
    };
}

/// Declares the whole policy: the keys at the top of a file, the tables, and the keys that follow these.
macro_rules! policy {
    (
        $(#[doc = $about:literal])+
        $name:ident {
            top {$(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $default:expr $(, $property:ident($($value:expr),*))*;
            )+}
            tables {$($table:ident: $struct:ident;)+}
            end {$(
                $(#[doc = $end_doc:literal])+
                $end:ident: $end_type:ty = $end_default:expr $(, $end_property:ident($($end_value:expr),*))*;
            )+}
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $doc])+ #[doc = concat!("\n\nDefault: `", stringify!($default), "`")] pub $field: $type,)+
            $(#[doc = concat!("The table `[", stringify!($table), "]`.")] pub $table: $struct,)+
            $($(#[doc = $end_doc])+ pub $end: $end_type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($field: <$type as $crate::policy::key::Type>::from_written($default),)+
                    $($table: $struct::default(),)+
                    $($end: <$end_type as $crate::policy::key::Type>::from_written($end_default),)+
                }
            }
        }

        impl $name {
            /// All keys, in the order of a policy's file.
            const TABLES: &'static [$crate::policy::key::Table] = &[
                $crate::policy::key::Table::new("", concat!($($about, "\n"),+), $crate::policy::key::rows! {
                    ""; $($(#[doc = $doc])+ $field: $type $(, $property($($value),*))*;)+
                }),
                $($struct::TABLE,)+
                $crate::policy::key::Table::new("", "", $crate::policy::key::rows! {
                    ""; $($(#[doc = $end_doc])+ $end: $end_type $(, $end_property($($end_value),*))*;)+
                }),
            ];
        }
    };
}

pub(super) use {policy, rows, table};
