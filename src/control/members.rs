//! The member names of the objects that are open, to see that none comes twice (ACP-CTL-5).

use std::{borrow::Cow, collections::BTreeSet};

/// The names of one object beyond which a set takes over from comparing each with each.
const FEW: usize = 24;

/// Names of all open objects, innermost last: one list for all, so that small objects cost nothing.
#[derive(Debug, Default)]
pub(super) struct Members<'t> {
    names: Vec<Cow<'t, str>>,
}

/// The names of one open object.
#[derive(Debug)]
pub(super) struct Object<'t> {
    /// Where they start in the list.
    start: usize,
    /// All of them, once they are many. A tree, so that no choice of names makes it slow.
    many: BTreeSet<Cow<'t, str>>,
}

impl<'t> Members<'t> {
    pub(super) fn open(&self) -> Object<'t> {
        Object { start: self.names.len(), many: BTreeSet::new() }
    }

    /// Adds a name, and says whether the object did not have it.
    pub(super) fn insert(&mut self, object: &mut Object<'t>, name: Cow<'t, str>) -> bool {
        if !object.many.is_empty() {
            return object.many.insert(name);
        }
        let names = self.names.get(object.start..).unwrap_or_default();
        if names.contains(&name) {
            return false;
        }
        if names.len() == FEW {
            object.many.extend(self.names.drain(object.start..));
            return object.many.insert(name);
        }
        self.names.push(name);
        true
    }

    pub(super) fn close(&mut self, object: &Object<'t>) {
        self.names.truncate(object.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_found_among_few_and_many_acp_ctl_5() {
        let mut members = Members::default();
        let mut outer = members.open();
        for n in 0..100 {
            assert!(members.insert(&mut outer, format!("m{n}").into()));
            let mut inner = members.open();
            assert!(members.insert(&mut inner, "m0".into()));
            assert!(!members.insert(&mut inner, "m0".into()));
            members.close(&inner);
            assert!(!members.insert(&mut outer, format!("m{}", n / 2).into()));
        }
    }
}
