//! The member names of the objects that are open, to see that none comes twice (ACP-CTL-5).
//!
//! Names are told apart by hashes of 64 bits, which costs little and keeps nothing of the names. That
//! two have the same hash means, nearly always, that they are the same, but it proves nothing: then
//! the document is read again, and the names themselves are compared. So is one whose names were
//! chosen to crowd a place of the table. No choice of names makes that slow.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    hash::{BuildHasher, Hasher},
};

use foldhash::fast::FixedState;

/// The names of one object beyond which a table takes over from comparing each with each.
const FEW: usize = 16;

/// The most places of a table that are looked at for one name: more than a million names need that
/// were not chosen for it.
const MAX_PROBES: usize = 64;

/// What is known of the names of all open objects, innermost last: one list for all, so that small
/// objects cost nothing.
#[derive(Debug)]
pub(super) enum Members<'t> {
    Hashes {
        few: Vec<u64>,
        /// For each object with many names, all of them.
        many: Vec<Table>,
        /// The table of an object that was closed, to be used again.
        spare: Option<Table>,
    },
    Names {
        few: Vec<Cow<'t, str>>,
        /// Trees, so that no choice of names makes them slow.
        many: Vec<BTreeSet<Cow<'t, str>>>,
    },
}

/// An open object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    /// Where its names start in the list.
    start: usize,
    has_many: bool,
}

/// Whether an object has a name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    New,
    Again,
    /// The names themselves have to be compared.
    Unsure,
}

impl<'t> Members<'t> {
    /// Tells names apart by their hashes, and may be unsure.
    pub(super) fn hashed() -> Self {
        Self::Hashes { few: Vec::with_capacity(2 * FEW), many: Vec::new(), spare: None }
    }

    /// Compares the names, and is sure.
    pub(super) fn exact() -> Self {
        Self::Names { few: Vec::new(), many: Vec::new() }
    }

    pub(super) fn open(&self) -> Object {
        let start = match self {
            Self::Hashes { few, .. } => few.len(),
            Self::Names { few, .. } => few.len(),
        };
        Object { start, has_many: false }
    }

    /// Adds a name to the innermost object.
    #[expect(clippy::ptr_arg, reason = "names are kept where they are compared")]
    pub(super) fn insert(&mut self, object: &mut Object, name: &Cow<'t, str>) -> Seen {
        match self {
            Self::Hashes { few, many, spare } => {
                let hash = hash(name);
                if object.has_many {
                    return many.last_mut().map_or(Seen::Unsure, |table| table.insert(hash));
                }
                if few.get(object.start..).unwrap_or_default().contains(&hash) {
                    return Seen::Unsure;
                }
                few.push(hash);
                if few.len() - object.start <= FEW {
                    return Seen::New;
                }
                object.has_many = true;
                let table = spare.take().unwrap_or_else(Table::new);
                let (table, seen) = table.filled(few.drain(object.start..));
                many.push(table);
                seen
            }
            Self::Names { few, many } => insert_name(few, many, object, name),
        }
    }

    pub(super) fn close(&mut self, object: Object) {
        match self {
            Self::Hashes { many, spare, .. } if object.has_many => {
                *spare = many.pop().and_then(Table::emptied);
            }
            Self::Names { many, .. } if object.has_many => drop(many.pop()),
            Self::Hashes { few, .. } => few.truncate(object.start),
            Self::Names { few, .. } => few.truncate(object.start),
        }
    }
}

#[cold]
#[expect(clippy::ptr_arg, reason = "names are kept where they are compared")]
fn insert_name<'t>(
    few: &mut Vec<Cow<'t, str>>,
    many: &mut Vec<BTreeSet<Cow<'t, str>>>,
    object: &mut Object,
    name: &Cow<'t, str>,
) -> Seen {
    if object.has_many {
        return seen(many.last_mut().is_some_and(|all| all.insert(name.clone())));
    }
    if few.get(object.start..).unwrap_or_default().contains(name) {
        return Seen::Again;
    }
    few.push(name.clone());
    if few.len() - object.start > FEW {
        many.push(few.drain(object.start..).collect());
        object.has_many = true;
    }
    Seen::New
}

fn seen(is_new: bool) -> Seen {
    if is_new { Seen::New } else { Seen::Again }
}

/// The same for every process: who chooses names by their hashes gains nothing.
fn hash(name: &str) -> u64 {
    static SEED: FixedState = FixedState::with_seed(0);
    let mut hasher = SEED.build_hasher();
    hasher.write(name.as_bytes());
    hasher.finish().max(1)
}

/// A set of hashes: each stands at the first place that was free, from the one it belongs at.
#[derive(Debug)]
pub(super) struct Table {
    /// A power of two of places, of which three eighths are taken at most. 0 is free.
    places: Vec<u64>,
    len: usize,
}

impl Table {
    fn new() -> Self {
        Self { places: vec![0; 4 * FEW], len: 0 }
    }

    /// The table without its hashes, to be used again; `None` where that would cost more than the
    /// hashes did that were in it.
    fn emptied(mut self) -> Option<Self> {
        if self.len < self.places.len() / 16 {
            return None;
        }
        self.places.fill(0);
        self.len = 0;
        Some(self)
    }

    /// The table with these hashes in it, all different.
    #[cold]
    fn filled(mut self, hashes: impl Iterator<Item = u64>) -> (Self, Seen) {
        let seen = hashes.map(|hash| self.insert(hash));
        let unsure = seen.filter(|&seen| seen != Seen::New).last();
        (self, unsure.unwrap_or(Seen::New))
    }

    fn insert(&mut self, hash: u64) -> Seen {
        if self.len >= self.places.len() / 8 * 3 && self.grow() != Seen::New {
            return Seen::Unsure;
        }
        self.len += 1;
        self.put(hash)
    }

    #[cold]
    fn grow(&mut self) -> Seen {
        let larger = vec![0; 2 * self.places.len()];
        let hashes = std::mem::replace(&mut self.places, larger);
        let seen = hashes.into_iter().filter(|&hash| hash != 0).map(|hash| self.put(hash));
        seen.filter(|&seen| seen != Seen::New).last().unwrap_or(Seen::New)
    }

    fn put(&mut self, hash: u64) -> Seen {
        let mask = self.places.len() - 1;
        let first = usize::try_from(hash & mask as u64).unwrap_or_default();
        for place in first..first + MAX_PROBES {
            match self.places.get_mut(place & mask) {
                Some(free) if *free == 0 => {
                    *free = hash;
                    return Seen::New;
                }
                Some(taken) if *taken != hash => {}
                _ => break,
            }
        }
        Seen::Unsure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nested objects of many names each, and each name twice.
    fn insert_all(mut members: Members<'_>, twice: Seen) {
        let mut outer = members.open();
        for n in 0..10_000 {
            assert_eq!(members.insert(&mut outer, &format!("m{n}").into()), Seen::New);
            let mut inner = members.open();
            assert_eq!(members.insert(&mut inner, &"m0".into()), Seen::New);
            assert_eq!(members.insert(&mut inner, &"m0".into()), twice);
            members.close(inner);
            assert_eq!(members.insert(&mut outer, &format!("m{}", n / 2).into()), twice);
        }
    }

    #[test]
    fn repeats_are_found_among_few_and_many_acp_ctl_5() {
        insert_all(Members::exact(), Seen::Again);
        insert_all(Members::hashed(), Seen::Unsure);
    }

    #[test]
    fn hashes_that_crowd_a_place_cost_no_more_than_their_probes_acp_ctl_5() {
        let mut table = Table { places: vec![0; 1024], len: 0 };
        let crowd = (1..).map(|n: u64| n << 32).take(MAX_PROBES);
        assert!(crowd.clone().all(|hash| table.insert(hash) == Seen::New));
        assert_eq!(table.insert(1 << 60), Seen::Unsure);
    }
}
