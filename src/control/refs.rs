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

impl References {
    pub(super) fn tree(&mut self) -> &mut Tree {
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
        self.by_name = by_name;
        self.tree.shrink();
        self.sites.shrink_to_fit();
        self.names.shrink_to_fit();
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

    /// The references of that name, in document order.
    fn named(&self, name: &str) -> &[u32] {
        let start = self.by_name.partition_point(|&site| self.name_of(site) < name);
        let rest = self.by_name.get(start..).unwrap_or_default();
        let len = rest.partition_point(|&site| self.name_of(site) == name);
        rest.get(..len).unwrap_or_default()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        !self.named(name).is_empty()
    }

    pub(crate) fn pointers(&self, name: &str) -> Pointers<'_> {
        Pointers { references: self, sites: self.named(name).iter() }
    }

    /// The pointer of the first reference in document order whose name is not `known`.
    pub(crate) fn first_unknown(&self, known: impl Fn(&str) -> bool) -> Option<String> {
        // Names are asked for once each; the earliest site of the unknown ones counts.
        let mut first: Option<u32> = None;
        for sites in self.by_name.chunk_by(|&a, &b| self.name_of(a) == self.name_of(b)) {
            let Some(&site) = sites.first() else { continue };
            if first.is_none_or(|first| site < first) && !known(self.name_of(site)) {
                first = Some(site);
            }
        }
        let site = self.sites.get(first? as usize)?;
        Some(self.tree.pointer(site.node))
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
