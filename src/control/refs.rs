//! References (ACP-REF-1…7): the value `{"$ref":"name"}`, and the table of those in a document.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::path::{NodeId, Tree, index};
use crate::name::PartName;

/// The member that makes an object a reference (ACP-REF-1).
pub(super) const REF: &str = "$ref";

/// A reference to a part, `{"$ref":"name"}`, for use in structs that a control document is read
/// into or written from (ACP-REF-1).
///
/// ```
/// use acp_envelope::Reference;
///
/// let reference: Reference = serde_json::from_str(r#"{"$ref":"img"}"#)?;
/// assert_eq!(reference.name(), &"img");
/// assert_eq!(serde_json::to_string(&reference)?, r#"{"$ref":"img"}"#);
/// assert!(serde_json::from_str::<Reference>(r#"{"$ref":"img","title":"t"}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    name: PartName,
}

impl Reference {
    /// A reference to the part of that name.
    #[must_use]
    pub const fn new(name: PartName) -> Self {
        Self { name }
    }

    /// The name it has.
    #[must_use]
    pub const fn name(&self) -> &PartName {
        &self.name
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<S> {
    #[serde(rename = "$ref")]
    name: S,
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire { name: self.name.as_str() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::<String>::deserialize(deserializer)?;
        wire.name.parse().map(Self::new).map_err(D::Error::custom)
    }
}

/// The references of a document, in document order, kept small: see [`super::path`].
#[derive(Debug, Default)]
pub(crate) struct References {
    tree: Tree,
    sites: Vec<Site>,
    /// The names of all sites, one after the other.
    names: String,
    /// The sites ordered by name, then by document order.
    by_name: Vec<u32>,
    /// Where the sites of each name start in `by_name`.
    groups: Vec<u32>,
}

/// One reference.
#[derive(Debug, Clone, Copy)]
struct Site {
    /// The object that is the reference.
    node: NodeId,
    /// Its name: a range of `References::names`.
    start: u32,
    end: u32,
}

/// What so many references have too much room for is left to them: it costs less than giving it back.
pub(super) const FEW: usize = 128;

impl References {
    /// Where the place of the next reference is to be added.
    pub(super) fn tree(&mut self) -> &mut Tree {
        if self.sites.is_empty() {
            self.tree.reserve(FEW / 4);
            self.sites.reserve(FEW / 4);
            self.names.reserve(2 * FEW);
        }
        &mut self.tree
    }

    /// Adds the next reference in document order.
    pub(super) fn push(&mut self, node: NodeId, name: &str) {
        let start = index(self.names.len());
        self.names.push_str(name);
        self.sites.push(Site { node, start, end: index(self.names.len()) });
    }

    /// All references are there.
    pub(super) fn close(&mut self) {
        let mut by_name: Vec<u32> = (0..index(self.sites.len())).collect();
        by_name.sort_by(|&a, &b| (self.name_of(a), a).cmp(&(self.name_of(b), b)));
        let mut start = 0;
        let mut groups = Vec::with_capacity(by_name.len());
        for group in by_name.chunk_by(|&a, &b| self.name_of(a) == self.name_of(b)) {
            groups.push(start);
            start += index(group.len());
        }
        (self.by_name, self.groups) = (by_name, groups);
        self.tree.shrink();
        self.sites.shrink_to(FEW);
        self.names.shrink_to(8 * FEW);
    }

    fn site_name(&self, site: &Site) -> &str {
        self.names.get(site.start as usize..site.end as usize).unwrap_or_default()
    }

    fn name_of(&self, site: u32) -> &str {
        self.sites.get(site as usize).map_or("", |site| self.site_name(site))
    }

    pub(crate) fn len(&self) -> usize {
        self.sites.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (String, &str)> {
        self.sites.iter().map(|site| (self.tree.pointer(site.node), self.site_name(site)))
    }

    /// The sites of a name, in document order.
    fn group(&self, group: usize) -> &[u32] {
        let start = |group: usize| self.groups.get(group).map(|&start| start as usize);
        let end = start(group + 1).unwrap_or(self.by_name.len());
        start(group).and_then(|start| self.by_name.get(start..end)).unwrap_or_default()
    }

    fn group_name(&self, group: usize) -> &str {
        self.group(group).first().map_or("", |&site| self.name_of(site))
    }

    /// How many names there are.
    pub(crate) fn name_count(&self) -> usize {
        self.groups.len()
    }

    /// The number of a name, among all that there are in their order. `guess` is looked at first.
    pub(crate) fn find(&self, name: &str, guess: usize) -> Option<usize> {
        if self.group_name(guess) == name {
            return Some(guess);
        }
        let name_at = |start: u32| self.by_name.get(start as usize).map(|&site| self.name_of(site));
        self.groups.binary_search_by(|&start| name_at(start).cmp(&Some(name))).ok()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.find(name, 0).is_some()
    }

    pub(crate) fn pointers(&self, name: &str) -> Pointers<'_> {
        let sites = self.find(name, 0).map(|group| self.group(group)).unwrap_or_default();
        Pointers { references: self, sites: sites.iter() }
    }

    /// The pointer of the first reference in document order whose name is not `known`, given the
    /// name's number and the name.
    pub(crate) fn first_unknown(&self, known: impl Fn(usize, &str) -> bool) -> Option<String> {
        let unknown = (0..self.name_count()).filter(|&group| !known(group, self.group_name(group)));
        let first = unknown.filter_map(|group| self.group(group).first()).min()?;
        Some(self.tree.pointer(self.sites.get(*first as usize)?.node))
    }
}

/// The JSON Pointers of the references to one part, in document order, each spelled out when asked
/// for.
#[derive(Debug, Clone)]
pub struct Pointers<'a> {
    references: &'a References,
    sites: std::slice::Iter<'a, u32>,
}

impl Iterator for Pointers<'_> {
    type Item = String;

    fn next(&mut self) -> Option<Self::Item> {
        let site = self.references.sites.get(*self.sites.next()? as usize)?;
        Some(self.references.tree.pointer(site.node))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.sites.size_hint()
    }
}

impl ExactSizeIterator for Pointers<'_> {}
