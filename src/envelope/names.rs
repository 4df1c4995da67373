//! The names of the parts so far (ACP-NAME-2), and which of the references they meet (ACP-REF-5).

use std::collections::BTreeSet;

use crate::{control::References, name::PartName};

/// Names that are referred to are known by their numbers in the table of references; only the others
/// are kept.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// A tree, so that no choice of names makes it slow.
    others: BTreeSet<PartName>,
    /// For each name in the table of references: whether a part has it.
    met: Vec<bool>,
    /// The number after that of the last name: senders keep to an order.
    guess: usize,
}

/// What a part's name is among those so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Referenced,
    Unreferenced,
    /// An earlier part has it.
    Taken,
}

impl Names {
    /// Adds the name of the control part, which no reference has.
    pub(super) fn insert_control(&mut self, name: PartName) {
        self.others.insert(name);
    }

    /// Adds the name of a content part.
    pub(super) fn insert(&mut self, name: &PartName, references: &References) -> Name {
        let Some(number) = references.find(name.as_str(), self.guess) else {
            let is_new = self.others.insert(name.clone());
            return if is_new { Name::Unreferenced } else { Name::Taken };
        };
        self.guess = number + 1;
        self.met.resize(references.name_count(), false);
        match self.met.get_mut(number) {
            Some(met) if !*met => {
                *met = true;
                Name::Referenced
            }
            _ => Name::Taken,
        }
    }

    /// Whether a part has the name with that number in the table of references.
    pub(super) fn has(&self, number: usize) -> bool {
        self.met.get(number).is_some_and(|&met| met)
    }
}
