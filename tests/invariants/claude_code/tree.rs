//! Which lines of a written session are live, derived from what its writer recorded about each line.
//!
//! The writer recorded the true parent of each line, so nothing here reads ids, types or dates.

use std::collections::{BTreeMap, BTreeSet};

use super::super::known::{Chain, Fate, Known, Window};
use super::{Aside, Line, What};

/// A session in the order of its file.
pub(super) struct Tree<'w> {
    pub(super) lines: &'w [Line],
    /// The place of each line in the file.
    pub(super) places: &'w [usize],
    /// Places of lines that are written again later, with the same uuid.
    pub(super) overridden: &'w [usize],
    pub(super) main: Aside,
    pub(super) chain: Chain,
}

impl Tree<'_> {
    /// The live lines, by their places in the file.
    pub(super) fn known(&self) -> Known {
        let mut branches: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        branches.insert(None, Vec::new());
        for line in self.chained() {
            let root = self.root(line).map(|root| self.places[root]);
            branches.entry(root).or_default().push(line);
        }
        let mut windows: Vec<Window> = branches
            .iter()
            .map(|(root, branch)| self.window(branch, root.is_none()))
            .collect();
        let beside = self.beside(&branches[&None]);
        let fates = if self.breaks_off(&windows[0]) {
            vec![Fate::Stays; windows.len()]
        } else {
            self.fates(&windows, &beside)
        };
        for (window, fate) in windows.iter_mut().zip(fates) {
            window.fate = fate;
        }
        let dead = self.dead(&windows, &beside);
        let known = Known {
            windows,
            dead: BTreeSet::new(),
            chain: self.chain,
        };
        let mut known = known.moved(|line| self.places[line]);
        known.dead = dead;
        known
    }

    /// Lines in the chain, in the order of the file.
    fn chained(&self) -> Vec<usize> {
        let all = 0..self.lines.len();
        let mut chained: Vec<usize> = all.filter(|l| self.lines[*l].chained.is_some()).collect();
        chained.sort_by_key(|line| self.places[*line]);
        chained
    }

    fn above(&self, line: usize) -> Option<usize> {
        self.lines[line].chained.as_ref()?.above
    }

    fn asked(&self, line: usize) -> Option<usize> {
        self.lines[line].chained.as_ref()?.asked
    }

    fn message(&self, line: usize) -> Option<&String> {
        match &self.lines[line].what {
            What::Answer { message, .. } => Some(message),
            _ => None,
        }
    }

    /// The first line of the sidechain that a line is on; `None` for the main conversation.
    fn root(&self, line: usize) -> Option<usize> {
        let aside = |line: &usize| {
            let chained = self.lines[*line].chained.as_ref();
            chained.is_some_and(|c| c.aside != self.main)
        };
        let up = std::iter::successors(Some(line), |line| self.above(*line));
        up.take_while(aside).last()
    }

    /// From a line up to the top, compactions included.
    fn ancestry(&self, line: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(line), |line| self.above(*line))
    }

    /// The path to a leaf since the last compaction.
    fn path(&self, leaf: usize) -> Vec<usize> {
        let mut path = Vec::new();
        for line in self.ancestry(leaf) {
            path.push(line);
            if matches!(self.lines[line].what, What::Boundary { .. }) {
                break;
            }
        }
        path.reverse();
        path
    }

    fn is_node(&self, line: usize) -> bool {
        !matches!(self.lines[line].what, What::Passed)
    }

    fn speaks(&self, line: usize) -> bool {
        matches!(
            self.lines[line].what,
            What::Words { .. } | What::Answer { .. } | What::Results { .. }
        )
    }

    /// The line at which the main conversation continues in versions that do not follow pointers.
    fn last(&self, branch: &[usize]) -> usize {
        let nodes = || branch.iter().rev().copied().filter(|l| self.is_node(*l));
        let mut last = nodes().next().unwrap();
        if !self.path(last).iter().any(|line| self.speaks(*line)) {
            last = nodes().find(|line| self.speaks(*line)).unwrap();
        }
        let (mut at, mut leaf) = (last, last);
        while let Some(child) = branch.iter().rfind(|l| self.above(**l) == Some(at)) {
            at = *child;
            if self.is_node(at) {
                leaf = at;
            }
        }
        leaf
    }

    /// The line at which the main conversation continues because a pointer leads there.
    fn pointed(&self, branch: &[usize]) -> Option<usize> {
        // A compaction cancels the pointers before it.
        let mut boundary = None;
        let mut rules: Vec<(usize, Option<usize>)> = Vec::new();
        for (line, written) in self.lines.iter().enumerate() {
            match &written.what {
                What::Pointer { to } => rules.push((self.places[line], *to)),
                What::Boundary { kept } => {
                    rules.push((self.places[line], None));
                    boundary = boundary.max(Some((self.places[line], kept)));
                }
                _ => {}
            }
        }
        let to = rules.into_iter().max()?.1?;
        let is_spoken = || self.path(to).iter().any(|line| self.speaks(*line));
        let goes = branch.contains(&to) && self.is_node(to) && is_spoken();
        let newest = self.window_to(branch, self.main_path(self.last(branch)));
        if !goes || newest.lines.contains(&to) {
            return None;
        }
        let Some((place, kept)) = boundary.filter(|(_, kept)| !kept.is_empty()) else {
            return Some(to);
        };
        // Of the lines before a compaction, only those that it kept remain.
        let is_there = self.places[to] > place || kept.contains(&to);
        let goes_on = |l: &usize| self.above(*l) == Some(to) && self.speaks(*l);
        (is_there && self.speaks(to) && !branch.iter().any(goes_on)).then_some(to)
    }

    /// The lines that versions without pointers send, if a pointer leads elsewhere.
    fn beside(&self, branch: &[usize]) -> Vec<usize> {
        match self.pointed(branch) {
            Some(_) => {
                self.window_to(branch, self.main_path(self.last(branch)))
                    .lines
            }
            None => Vec::new(),
        }
    }

    fn main_path(&self, leaf: usize) -> Vec<usize> {
        let mut path = self.path(leaf);
        if let What::Boundary { kept } = &self.lines[path[0]].what {
            // The summary comes after the boundary, and the kept lines after the summary.
            path.splice(2..2, kept.iter().copied());
        }
        path
    }

    fn window(&self, branch: &[usize], is_main: bool) -> Window {
        if is_main {
            let leaf = self.pointed(branch);
            return self.window_to(
                branch,
                self.main_path(leaf.unwrap_or_else(|| self.last(branch))),
            );
        }
        let leaf = branch.iter().rev().find(|line| self.is_node(**line));
        let mut path = self.path(*leaf.unwrap());
        path.retain(|line| branch.contains(line));
        self.window_to(branch, path)
    }

    /// The lines of a branch with this path that are sent.
    fn window_to(&self, branch: &[usize], path: Vec<usize>) -> Window {
        let mut lines = Vec::new();
        let off_path = || branch.iter().copied().filter(|line| !path.contains(line));
        for (at, line) in path.iter().copied().enumerate() {
            lines.push(line);
            let Some(message) = self.message(line) else {
                continue;
            };
            let is_part = |line: &usize| self.message(*line) == Some(message);
            if path[at + 1..].iter().any(is_part) {
                continue;
            }
            let others: Vec<usize> = off_path().filter(is_part).collect();
            let on_path = path.iter().copied().filter(is_part);
            let members: Vec<usize> = on_path.chain(others.iter().copied()).collect();
            lines.extend(others);
            for member in members {
                let is_below = |line: &usize| {
                    matches!(self.lines[*line].what, What::Results { .. })
                        && self.asked(*line) == Some(member)
                };
                lines.extend(off_path().filter(is_below));
            }
        }
        let mut sent = BTreeSet::new();
        let mut copies = BTreeSet::new();
        let (on, off): (Vec<usize>, Vec<usize>) = lines.iter().partition(|l| path.contains(l));
        for line in on.into_iter().chain(off) {
            if let What::Results { ids } = &self.lines[line].what
                && !sent.insert(ids)
            {
                copies.insert(line);
            }
        }
        let is_counted = |line: &&usize| match self.lines[**line].what {
            What::Answer { counted, .. } => counted,
            _ => false,
        };
        let counted = path.iter().rev().find(is_counted).map(|last| {
            let same = |line: &usize| self.message(*line) == self.message(*last);
            lines.iter().copied().filter(same).collect()
        });
        Window {
            counted: counted.unwrap_or_default(),
            lines,
            copies,
            fate: Fate::Stays,
        }
    }

    /// Which conversations are kept: the sidechain of a task is removed unless a kept line called it.
    fn fates(&self, windows: &[Window], beside: &[usize]) -> Vec<Fate> {
        let prompts: Vec<Option<&String>> = windows.iter().map(|w| self.prompt(w)).collect();
        // The calls that each sidechain may belong to: none where it is kept in any case.
        let callers: Vec<Vec<usize>> = (0..windows.len())
            .map(|number| {
                let Some(prompt) = prompts[number].filter(|_| number > 0) else {
                    return Vec::new();
                };
                let calls = self.calls(prompt);
                let same = |n: &usize| prompts[*n] == Some(prompt);
                let rivals: Vec<usize> = (1..windows.len()).filter(same).collect();
                match rivals.iter().position(|n| *n == number) {
                    Some(place) if rivals.len() == calls.len() => calls[place].clone(),
                    _ => calls.concat(),
                }
            })
            .collect();
        let mut fates: Vec<Fate> = callers
            .iter()
            .map(|callers| {
                if callers.is_empty() {
                    Fate::Stays
                } else {
                    Fate::Leaves
                }
            })
            .collect();
        for _ in 0..windows.len() {
            for number in 0..windows.len() {
                let stays = |line: &usize| {
                    let window = windows.iter().position(|w| w.lines.contains(line));
                    beside.contains(line) || window.is_some_and(|w| fates[w] == Fate::Stays)
                };
                if callers[number].iter().any(stays) {
                    fates[number] = Fate::Stays;
                }
            }
        }
        fates
    }

    /// The prompt with which a window begins.
    fn prompt(&self, window: &Window) -> Option<&String> {
        let first = window.lines.iter().find(|l| self.speaks(**l))?;
        match &self.lines[*first].what {
            What::Words { said } => said.as_ref(),
            _ => None,
        }
    }

    /// The calls with a prompt, in the order of the file: the lines of each.
    fn calls(&self, prompt: &String) -> Vec<Vec<usize>> {
        let mut calls: Vec<(&String, Vec<usize>)> = Vec::new();
        for line in self.chained() {
            let What::Answer { message, tasks, .. } = &self.lines[line].what else {
                continue;
            };
            if !tasks.contains(prompt) {
                continue;
            }
            match calls.iter_mut().find(|(known, _)| *known == message) {
                Some((_, lines)) => lines.push(line),
                None => calls.push((message, vec![line])),
            }
        }
        calls.into_iter().map(|(_, lines)| lines).collect()
    }

    /// Whether the main conversation begins below a missing line, and there are messages before it.
    fn breaks_off(&self, main: &Window) -> bool {
        let Some((first, chained)) = main.lines.first().and_then(|first| {
            let chained = self.lines[*first].chained.as_ref()?;
            Some((*first, chained))
        }) else {
            return false;
        };
        let is_top = chained.parent.is_some() && chained.above.is_none();
        let is_boundary = matches!(self.lines[first].what, What::Boundary { .. });
        let spoke = |line: &usize| {
            let other = self.lines[*line].chained.as_ref();
            self.places[*line] < self.places[first]
                && self.speaks(*line)
                && other.is_some_and(|other| other.aside == chained.aside)
        };
        is_top && !is_boundary && self.chained().iter().any(spoke)
    }

    /// The places of the lines that are dropped with dead history.
    fn dead(&self, windows: &[Window], beside: &[usize]) -> BTreeSet<usize> {
        let follows = |line: &usize| self.above(*line).is_some();
        if !(0..self.lines.len()).any(|line| follows(&line)) || self.breaks_off(&windows[0]) {
            return BTreeSet::new();
        }
        let mut live: BTreeSet<usize> = windows
            .iter()
            .filter(|window| window.fate == Fate::Stays)
            .flat_map(|window| window.lines.iter().copied())
            .chain(beside.iter().copied())
            .collect();
        live.extend(self.model_lines(&windows[0], &live));
        let is_dead = |line: &usize| {
            let what = &self.lines[*line].what;
            !live.contains(line) && (self.speaks(*line) || matches!(what, What::Boundary { .. }))
        };
        // The ancestor that decides about a line without content: a live or dead line, or a root of its own.
        let stop = |line: usize| {
            let mut above = self.ancestry(line).skip(1);
            above.find(|line| live.contains(line) || is_dead(line))
        };
        let top = |line: usize| {
            let silent = |line: &usize| !live.contains(line) && !is_dead(line);
            let above = self.ancestry(line).skip(1).take_while(silent);
            above.last().unwrap_or(line)
        };
        let (dead, silent): (Vec<usize>, Vec<usize>) = self
            .chained()
            .into_iter()
            .filter(|line| !live.contains(line))
            .partition(is_dead);
        let tops: BTreeSet<usize> = dead
            .iter()
            .filter(|line| stop(**line).is_none())
            .map(|line| top(*line))
            .collect();
        let goes = |line: &usize| match stop(*line) {
            Some(stop) => is_dead(&stop),
            None => tops.contains(&top(*line)),
        };
        let mut leave: BTreeSet<usize> = dead
            .iter()
            .copied()
            .chain(silent.into_iter().filter(goes))
            .map(|line| self.places[line])
            .collect();
        leave.extend(self.overridden);
        if !leave.is_empty() {
            let requests = (0..self.lines.len())
                .filter(|line| matches!(self.lines[*line].what, What::Request));
            leave.extend(requests.map(|line| self.places[line]));
        }
        leave
    }

    /// The answers that are parents of live compactions, where no live answer records the session's model.
    fn model_lines(&self, main: &Window, live: &BTreeSet<usize>) -> Vec<usize> {
        let is_given = |line: &usize| {
            let is_sidechain =
                self.lines[*line].chained.as_ref().map(|c| c.aside) != Some(Aside::No);
            matches!(self.lines[*line].what, What::Answer { counted: true, .. }) && !is_sidechain
        };
        if main.lines.iter().any(is_given) {
            return Vec::new();
        }
        let is_boundary = |line: &&usize| matches!(self.lines[**line].what, What::Boundary { .. });
        let boundaries = live.iter().filter(is_boundary);
        let above = boundaries.filter_map(|line| self.above(*line));
        above.filter(is_given).collect()
    }
}
