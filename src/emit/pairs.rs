//! Pairs results with their calls, wherever they are, and leaves out what the providers reject: calls without a result, and results
//! without a call.
//!
//! Never invents a call or a result.

use std::collections::VecDeque;

use super::loss::{Loss, Losses};
use super::said::{Answer, Call, Item, Piece, Say, call_of};
use crate::ids::{IdMap, IdSet};
use crate::transcript::Role;

/// The position of a call: the index of its message, and of its piece in that.
#[derive(Debug, Clone, Copy)]
struct Place {
    say: usize,
    piece: usize,
}

/// The calls that have no result yet.
#[derive(Debug, Default)]
struct Open<'t> {
    /// Keyed by id, newest last: ids may be reused.
    by_id: IdMap<&'t [u8], Vec<Place>>,
    /// Calls without ids, keyed by tool name, oldest first: results come in the same order.
    by_tool: IdMap<&'t [u8], VecDeque<Place>>,
    /// All open calls without ids, and some that already have a result.
    without_id: VecDeque<Place>,
}

impl<'t> Open<'t> {
    fn add(&mut self, call: &Call<'t>, place: Place) {
        match call.id {
            b"" => {
                self.by_tool.entry(call.tool).or_default().push_back(place);
                self.without_id.push_back(place);
            }
            id => self.by_id.entry(id).or_default().push(place),
        }
    }

    /// Takes the call that a result answers.
    fn take(&mut self, id: &[u8], tool: &[u8], said: &[Say<'_>]) -> Option<Place> {
        let is_open =
            |place: &Place| call_at(said, *place).is_some_and(|call| call.answer.is_none());
        match (id, tool) {
            (b"", b"") => first(&mut self.without_id, is_open),
            (b"", tool) => first(self.by_tool.get_mut(tool)?, is_open),
            (id, _) => self.by_id.get_mut(id)?.pop(),
        }
    }
}

/// Takes the first open call, dropping those before it.
fn first(places: &mut VecDeque<Place>, is_open: impl Fn(&Place) -> bool) -> Option<Place> {
    while let Some(place) = places.pop_front() {
        if is_open(&place) {
            return Some(place);
        }
    }
    None
}

/// The messages with each call paired with its result; calls without a result are dropped.
pub(super) fn paired<'t>(items: Vec<Item<'t>>, losses: &mut Losses) -> Vec<Say<'t>> {
    let mut said: Vec<Say<'t>> = Vec::with_capacity(items.len());
    let mut open = Open::default();
    // The ids of all calls so far.
    let mut known: IdSet<&'t [u8]> = IdSet::default();
    for item in items {
        match item {
            Item::Say(mut say) => {
                // Calls made together may be separate answers; their results follow all of them.
                let before = said.pop_if(|last| is_waiting(last) && is_more_of(&say, last));
                let done = before.as_ref().map_or(0, |before| before.pieces.len());
                if let Some(before) = before {
                    let more = std::mem::replace(&mut say, before).pieces;
                    say.pieces.extend(more);
                }
                for (piece, place) in say.pieces.iter().zip(0..).skip(done) {
                    if let Piece::Call(call) = piece {
                        let (say, piece) = (said.len(), place);
                        open.add(call, Place { say, piece });
                        known.insert(call.id);
                    }
                }
                said.push(say);
            }
            Item::Result(id, tool, answer) => match open.take(id, tool, &said) {
                Some(place) => {
                    let mut after = said[place.say + 1..].iter();
                    let is_moved = after.any(|say| !say.pieces.is_empty());
                    losses.add(Loss::ResultMoved, u64::from(is_moved));
                    give(&mut said, place, answer);
                }
                None if !id.is_empty() && known.contains(id) => {
                    losses.add(Loss::RepeatedResult, 1);
                }
                None => losses.add(Loss::OrphanResult, 1),
            },
        }
    }
    for say in &mut said {
        let before = say.pieces.len();
        say.pieces
            .retain(|piece| call_of(piece).is_none_or(|call| call.answer.is_some()));
        losses.add(Loss::UnansweredCall, (before - say.pieces.len()) as u64);
    }
    said
}

/// Whether a message has calls, none of which has a result yet.
fn is_waiting(say: &Say<'_>) -> bool {
    let mut calls = say.pieces.iter().filter_map(call_of).peekable();
    calls.peek().is_some() && calls.all(|call| call.answer.is_none())
}

/// Whether a message continues the previous one.
fn is_more_of(say: &Say<'_>, before: &Say<'_>) -> bool {
    say.role == Role::Assistant && before.role == Role::Assistant && say.name == before.name
}

fn give<'t>(said: &mut [Say<'t>], place: Place, answer: Answer<'t>) {
    if let Some(Piece::Call(call)) = said[place.say].pieces.get_mut(place.piece) {
        call.answer = Some(answer);
    }
}

fn call_at<'s, 't>(said: &'s [Say<'t>], place: Place) -> Option<&'s Call<'t>> {
    call_of(said.get(place.say)?.pieces.get(place.piece)?)
}
