//! Reads the statements of a cell, one after the other.
//!
//! PURE. Code that may not run, or may run more than once, is counted but not read.

use serde_json::Value;

use super::ahead::{alone, changes, is_all_of_calls, is_awaited_call};
use super::each::{Code, Each};
use super::literal::{Constants, value};
use super::prints::{How, Print, Source};
use super::token::{Token, Tokens};
use super::{Cell, CellCall};

/// Reads a cell's code.
pub(super) fn read(code: &str) -> Cell {
    let mut reader = Reader {
        tokens: Tokens::of(code),
        known: Constants::of_code(code.len()),
        hidden: Vec::new(),
        cell: Cell::default(),
        prints: Prints::All,
        sure: Sure::Yes,
        awaits: Awaits::No,
        ending: Ending::No,
        repeats: Repeats::No,
    };
    while reader.tokens.peek().is_some() {
        reader.statement(DEEPEST);
    }
    // If the code cannot be read to its end, earlier code may have been mistaken for a string.
    if !reader.tokens.unread().is_empty() {
        reader.cell.unread += 1;
        reader.prints = Prints::First;
    }
    reader.cell.all_prints = reader.prints == Prints::All;
    reader.cell
}

/// The maximum nesting depth of statements and brackets; deeper code is not read.
const DEEPEST: u32 = 64;

/// Whether code runs exactly once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sure {
    Yes,
    /// It may not run, or may run more than once.
    No,
    /// As `No`, but inside a function, where a `return` ends only the function.
    Function,
}

/// Whether everything printed is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prints {
    All,
    /// Only what comes before something that may not be printed.
    First,
}

/// Whether the statement awaits what comes next in it: only then does its failure fail the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    Yes,
    No,
}

/// Whether the cell may have ended before what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    MayHaveEnded,
}

/// Whether the current code runs once for each value of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeats {
    No,
    /// One value after the other.
    InTurn,
    /// For all values at the same time.
    AtOnce,
}

struct Reader<'c> {
    tokens: Tokens<'c>,
    known: Constants,
    /// Names set in the current round, with their previous values.
    hidden: Vec<(String, Option<Option<Value>>)>,
    cell: Cell,
    prints: Prints,
    /// Whether what comes next certainly runs.
    sure: Sure,
    awaits: Awaits,
    ending: Ending,
    repeats: Repeats,
}

impl<'c> Reader<'c> {
    /// Reads `inside` as code that may not run, or may run more than once.
    fn unsure(&mut self, inside: impl FnOnce(&mut Self)) {
        let before = self.sure;
        self.doubt();
        inside(self);
        self.go_on(before);
    }

    /// Marks what comes next as code that may not run.
    fn doubt(&mut self) {
        if self.sure == Sure::Yes {
            self.sure = Sure::No;
        }
    }

    /// Restores `before` for the next statement, unless the cell may have ended in between.
    fn go_on(&mut self, before: Sure) {
        self.sure = match (before, self.ending) {
            (Sure::Yes, Ending::MayHaveEnded) => Sure::No,
            (before, _) => before,
        };
    }

    /// Handles a `return` or the like: outside of functions, what follows may never run.
    fn end(&mut self) {
        if self.sure != Sure::Function {
            self.ending = Ending::MayHaveEnded;
            self.doubt();
        }
    }

    fn is_next(&self, mark: u8) -> bool {
        self.tokens.peek() == Some(Token::Punct(mark))
    }

    /// Reads a statement.
    fn statement(&mut self, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else {
            return self.skip();
        };
        match self.tokens.peek() {
            None => {}
            Some(Token::Punct(b'{')) => self.block(depth),
            Some(Token::Punct(b';' | b'}' | b']' | b')')) => {
                self.tokens.next();
            }
            Some(Token::Name(word @ ("if" | "for" | "while" | "switch" | "with"))) => {
                self.tokens.next();
                if word == "for"
                    && self.may_repeat()
                    && let Some(each) = Each::of_loop(&self.tokens, &mut self.known)
                {
                    return self.each(each, depth);
                }
                if self.tokens.peek() == Some(Token::Name("await")) {
                    self.tokens.next();
                    self.cell.waits += 1;
                }
                self.unsure(|reader| {
                    if reader.is_next(b'(') {
                        reader.bracket(depth);
                    }
                    reader.statement(depth);
                });
            }
            // A failure in a `try` is not visible from outside.
            Some(Token::Name("else" | "do" | "try" | "catch" | "finally")) => {
                self.tokens.next();
                self.unsure(|reader| {
                    if reader.is_next(b'(') {
                        reader.bracket(depth);
                    }
                    reader.statement(depth);
                });
            }
            Some(Token::Name("return" | "throw")) => {
                self.tokens.next();
                self.expression(depth);
                self.end();
            }
            Some(Token::Name("const")) => {
                self.tokens.next();
                self.constant(depth);
            }
            Some(_) => self.expression(depth),
        }
    }

    /// Whether a loop can be read once per round: not within another loop, where the number of rounds could explode.
    fn may_repeat(&self) -> bool {
        self.sure == Sure::Yes && self.repeats == Repeats::No
    }

    /// Reads code once for each round.
    fn each(&mut self, each: Each<'c>, depth: u32) {
        let before = self.sure;
        self.repeats = match each.code {
            Code::Statement => Repeats::InTurn,
            Code::Expression | Code::Block => Repeats::AtOnce,
        };
        for round in each.rounds {
            for (name, value) in round {
                self.forget(&name);
                self.define(&name, value);
            }
            self.tokens = each.begin.clone();
            match each.code {
                Code::Statement => self.statement(depth),
                Code::Expression => {
                    // The function's result is awaited as well.
                    self.awaits = Awaits::Yes;
                    while let Some(token) = self.tokens.peek()
                        && self.tokens.position() < each.end
                    {
                        self.step(token, before, depth);
                    }
                }
                Code::Block => self.body(depth),
            }
            self.go_on(before);
            while let Some((name, value)) = self.hidden.pop() {
                self.known.restore(&name, value);
            }
        }
        self.tokens = each.after;
        self.repeats = Repeats::No;
    }

    /// Reads the block of a function that runs once, up to its `return`.
    fn body(&mut self, depth: u32) {
        self.tokens.next();
        while !self.is_next(b'}') && self.tokens.peek().is_some() {
            if self.tokens.peek() == Some(Token::Name("return")) {
                self.tokens.next();
                self.awaits = Awaits::Yes;
                self.rest_of_expression(depth);
                // Nothing after it runs.
                self.doubt();
            } else {
                self.statement(depth);
            }
        }
    }

    fn define(&mut self, name: &str, value: Option<Value>) {
        let before = self.known.insert(name, value);
        if self.repeats != Repeats::No {
            self.hidden.push((name.to_owned(), before));
        }
    }

    fn block(&mut self, depth: u32) {
        self.tokens.next();
        while !self.is_next(b'}') && self.tokens.peek().is_some() {
            self.statement(depth);
        }
        self.tokens.next();
    }

    /// Reads what follows `const`.
    fn constant(&mut self, depth: u32) {
        let Some(Token::Name(name)) = self.tokens.peek() else {
            return self.destructured(depth);
        };
        self.tokens.next();
        self.forget(name);
        if name == "tools" || name == "text" {
            // The code cannot be trusted.
            self.end();
        }
        if !self.is_next(b'=') {
            return self.expression(depth);
        }
        self.tokens.next();
        let first_call = self.cell.calls.len();
        let is_call = is_awaited_call(self.tokens.clone(), Token::Punct(b';'));
        let before = self.tokens.clone();
        if let Some(other) = alone(self.tokens.clone())
            && self.known.is_made_of_others(other)
        {
            // Both names share the value, so a change of one changes both.
            self.known.insert(other, None);
        }
        // The same name in another block is another constant.
        let value = match self.known.has(name) {
            true => None,
            false => value(&mut self.tokens, &mut self.known).filter(|_| self.sure == Sure::Yes),
        };
        self.define(name, value);
        self.tokens = before;
        self.expression(depth);
        if let [call] = &mut self.cell.calls[first_call..]
            && is_call
        {
            call.variable = Some(name.to_owned());
        }
    }

    /// Reads `[a, b] = await Promise.all([…])`: each call gets the name at its position.
    fn destructured(&mut self, depth: u32) {
        let mut names = Vec::new();
        let is_list = self.is_next(b'[');
        if is_list {
            self.tokens.next();
            while let Some(Token::Name(name)) = self.tokens.peek() {
                names.push(name);
                self.tokens.next();
                if self.is_next(b',') {
                    self.tokens.next();
                }
            }
        }
        let first_call = self.cell.calls.len();
        let unread = self.cell.unread;
        let is_all = is_list && is_all_of_calls(self.tokens.clone(), names.len());
        if self.is_next(b']') {
            self.tokens.next();
        }
        self.expression(depth);
        let calls = &mut self.cell.calls[first_call..];
        if is_all && unread == self.cell.unread && calls.len() == names.len() {
            for (call, name) in calls.iter_mut().zip(names) {
                call.variable = Some(name.to_owned());
            }
        }
    }

    /// Reads an expression, up to the end of its statement or of the enclosing bracket.
    fn expression(&mut self, depth: u32) {
        self.awaits = Awaits::No;
        self.rest_of_expression(depth);
    }

    fn rest_of_expression(&mut self, depth: u32) {
        let before = self.sure;
        let mut is_first = true;
        while let Some(token) = self.tokens.peek() {
            match token {
                Token::Punct(b';') => {
                    self.tokens.next();
                    break;
                }
                Token::Punct(b')' | b']' | b'}') => break,
                _ if !is_first && self.tokens.is_on_new_line() && token.begins_a_statement() => {
                    break;
                }
                _ => {}
            }
            is_first = false;
            self.step(token, before, depth);
        }
        self.go_on(before);
    }

    /// Reads everything between two brackets.
    fn bracket(&mut self, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else {
            return self.skip();
        };
        let before = self.sure;
        self.tokens.next();
        while let Some(token) = self.tokens.peek() {
            if matches!(token, Token::Punct(b')' | b']' | b'}')) {
                self.tokens.next();
                break;
            }
            self.step(token, before, depth);
        }
        self.go_on(before);
    }

    /// Reads one token of an expression, or what it opens. `outside` states whether the expression certainly runs.
    fn step(&mut self, token: Token<'c>, outside: Sure, depth: u32) {
        match token {
            Token::Name("Promise")
                if self.awaits == Awaits::Yes
                    && self.may_repeat()
                    && let Some(each) = Each::of_map(&self.tokens, &mut self.known) =>
            {
                return self.each(each, depth);
            }
            Token::Punct(b'(' | b'[' | b'{') => return self.bracket(depth),
            Token::Name("tools") => return self.call(depth),
            Token::Name("text" | "image" | "notify") => return self.print(depth),
            Token::Name(name) => self.forget_if_changed(name),
            _ => {}
        }
        self.tokens.next();
        match token {
            Token::Name("await") => {
                self.awaits = Awaits::Yes;
                self.cell.waits += 1;
            }
            Token::Punct(b'.') => self.property(),
            // In a list, or between statements.
            Token::Punct(b',' | b';') => self.go_on(outside),
            // What follows is a branch, or the rest of an operator.
            Token::Punct(b'?' | b'&' | b'|') => self.doubt(),
            Token::Name("function" | "class") => self.sure = Sure::Function,
            Token::Punct(b'=') if self.is_next(b'>') => self.sure = Sure::Function,
            Token::Name("if" | "for" | "while") => self.doubt(),
            Token::Name("return" | "throw" | "exit") => self.end(),
            Token::Name(_)
            | Token::Punct(_)
            | Token::Number(_)
            | Token::Text(_)
            | Token::Template(_)
            | Token::Pattern => {}
        }
    }

    /// Reads a property name, which is not `tools` or `text` themselves; after `...` there is no property.
    fn property(&mut self) {
        if self.is_next(b'.') {
            while self.is_next(b'.') {
                self.tokens.next();
            }
            return;
        }
        match self.tokens.peek() {
            // Catching an error hides it.
            Some(Token::Name("allSettled" | "any" | "race" | "catch" | "then")) => self.doubt(),
            Some(Token::Name(_)) => {}
            _ => return,
        }
        self.tokens.next();
    }

    /// Forgets a changed constant: a result with a key set is no longer what the call returned, and a list that grows has another
    /// value.
    fn forget_if_changed(&mut self, name: &str) {
        if self.known.is_made_of_others(name) && changes(self.tokens.clone()) {
            // Permanently, even if the change is inside a round.
            self.known.insert(name, None);
        }
        let is_known = |call: &CellCall| call.variable.as_deref() == Some(name);
        if !self.cell.calls.iter().any(is_known) {
            return;
        }
        let mut tokens = self.tokens.clone();
        tokens.next();
        let is_key = tokens.next() == Some(Token::Punct(b'.'));
        tokens.next();
        if is_key && tokens.peek() == Some(Token::Punct(b'=')) {
            self.forget(name);
        }
    }

    /// Records that the constant of this name no longer holds the result of a call.
    fn forget(&mut self, name: &str) {
        for call in &mut self.cell.calls {
            if call.variable.as_deref() == Some(name) {
                call.variable = None;
            }
        }
    }

    /// Reads a call, if one follows `tools`.
    fn call(&mut self, depth: u32) {
        self.tokens.next();
        if self.is_next(b'[') {
            self.cell.unread += 1;
            return;
        }
        if !self.is_next(b'.') {
            return;
        }
        self.tokens.next();
        let Some(Token::Name(tool)) = self.tokens.peek() else {
            return;
        };
        self.tokens.next();
        let mut after = self.tokens.clone();
        after.skip_one();
        let is_caught = after.peek() == Some(Token::Punct(b'.'));
        let is_sure = self.sure == Sure::Yes && self.awaits == Awaits::Yes;
        if !self.is_next(b'(') || !is_sure || is_caught {
            self.cell.unread += 1;
            return;
        }
        let mut argument = self.tokens.clone();
        argument.next();
        let input = match argument.peek() {
            Some(Token::Punct(b')')) => Value::Object(serde_json::Map::new()),
            _ => value(&mut argument, &mut self.known).unwrap_or(Value::Null),
        };
        self.cell.calls.push(CellCall {
            tool: tool.to_owned(),
            input,
            variable: None,
        });
        self.bracket(depth);
    }

    fn print(&mut self, depth: u32) {
        self.tokens.next();
        if !self.is_next(b'(') {
            return;
        }
        let mut argument = self.tokens.clone();
        argument.next();
        let print = Print::read(&argument);
        let calls = self.cell.calls.len();
        let is_call = is_awaited_call(argument, Token::Punct(b')'));
        self.bracket(depth);
        let print = match is_call && self.cell.calls.len() == calls + 1 {
            true => Print::Of {
                what: Source::Call(calls),
                how: How::Whole,
            },
            false => self.resolved(print),
        };
        match (self.sure, self.repeats, self.prints) {
            // Their order is unknown.
            (Sure::Yes, Repeats::AtOnce, _) | (Sure::No | Sure::Function, _, _) => {
                self.prints = Prints::First;
            }
            (Sure::Yes, _, Prints::First) => {}
            (Sure::Yes, _, Prints::All) => self.cell.prints.push(print),
        }
    }

    /// Resolves a printed constant to the call whose result it currently holds.
    fn resolved(&self, print: Print) -> Print {
        let Print::Of {
            what: Source::Constant(name),
            how,
        } = print
        else {
            return print;
        };
        let is_its = |call: &CellCall| call.variable.as_ref() == Some(&name);
        match self.cell.calls.iter().rposition(is_its) {
            Some(call) => Print::Of {
                what: Source::Call(call),
                how,
            },
            None => Print::Other,
        }
    }

    /// Skips a token and what it opens.
    fn skip(&mut self) {
        let before = self.tokens.clone();
        self.tokens.skip_one();
        let mut skipped = before;
        while skipped.position() < self.tokens.position() {
            if skipped.next() == Some(Token::Name("tools")) {
                self.cell.unread += 1;
            }
        }
    }
}
