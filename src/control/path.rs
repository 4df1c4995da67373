//! Where the reader stands in the document, and how places are kept.
//!
//! A JSON Pointer spelled out for every reference could take far more memory than the document: one
//! long member name above many references is enough. So places are nodes that know their parent,
//! made for references only, and a pointer is spelled out when somebody asks for it.

use std::borrow::Cow;

use super::refs::FEW;

/// A node: its index and one, or 0 for the root, which is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NodeId(u32);

/// A step from a container into a member or element, in eight bytes: nested arrays have one for
/// every two bytes of text.
#[derive(Debug, Clone, Copy)]
struct Node {
    parent: NodeId,
    /// The element's index, or, with this bit set, the index of the member name in `Tree`.
    step: u32,
}

const MEMBER: u32 = 1 << 31;

/// The places of references.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Member names on the way to references, one after the other, and where each ends.
    names: String,
    name_ends: Vec<u32>,
}

impl Tree {
    /// The JSON Pointer (RFC 6901) of a node.
    pub(super) fn pointer(&self, mut node: NodeId) -> String {
        let mut steps = Vec::new();
        while let Some(Node { parent, step }) = self.node(node) {
            steps.push(match step & MEMBER {
                0 => Cow::Owned(step.to_string()),
                _ => Cow::Borrowed(self.name((step - MEMBER) as usize)),
            });
            node = *parent;
        }
        pointer(steps.iter().rev().map(AsRef::as_ref))
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get((id.0 as usize).checked_sub(1)?)
    }

    fn name(&self, at: usize) -> &str {
        let end = |at: usize| self.name_ends.get(at).map_or(0, |&end| end as usize);
        let start = at.checked_sub(1).map_or(0, end);
        self.names.get(start..end(at)).unwrap_or_default()
    }

    fn add_member(&mut self, parent: NodeId, name: &str) -> NodeId {
        self.names.push_str(name);
        self.name_ends.push(index(self.names.len()));
        self.add(parent, MEMBER | index(self.name_ends.len() - 1))
    }

    fn add(&mut self, parent: NodeId, step: u32) -> NodeId {
        self.nodes.push(Node { parent, step });
        NodeId(index(self.nodes.len()))
    }

    /// Makes room for so many places at least.
    pub(super) fn reserve(&mut self, places: usize) {
        self.nodes.reserve(2 * places);
        self.names.reserve(8 * places);
        self.name_ends.reserve(places);
    }

    pub(super) fn shrink(&mut self) {
        self.nodes.shrink_to(FEW);
        self.names.shrink_to(8 * FEW);
        self.name_ends.shrink_to(FEW);
    }
}

/// The text of a document has at most three times `Control::MAX_BYTES`, so places in it fit; elements
/// and members, which take two bytes and more each, fit in 31 bits.
pub(super) fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[derive(Debug, Clone, Copy)]
enum Token<'t> {
    Element(u32),
    Member(&'t str),
    /// A member name that does not stand in the text as it is: an index of `Path::unescaped`.
    Unescaped(usize),
}

/// The way from the root to where the reader stands.
#[derive(Debug, Default)]
pub(super) struct Path<'t> {
    /// Each step with its node, once it was needed.
    steps: Vec<(Token<'t>, Option<NodeId>)>,
    /// The names of steps that are not in the text, outermost first.
    unescaped: Vec<String>,
}

impl<'t> Path<'t> {
    pub(super) fn depth(&self) -> usize {
        self.steps.len()
    }

    /// Enters a container: a step that no element or member has taken yet.
    pub(super) fn enter(&mut self) {
        self.steps.push((Token::Element(0), None));
    }

    pub(super) fn leave(&mut self) {
        self.forget_name();
        self.steps.pop();
    }

    pub(super) fn element(&mut self, index: u32) {
        self.step(Token::Element(index));
    }

    pub(super) fn member(&mut self, name: Cow<'t, str>) {
        self.forget_name();
        match name {
            Cow::Borrowed(name) => self.step(Token::Member(name)),
            Cow::Owned(name) => self.unescaped_member(name),
        }
    }

    #[cold]
    fn unescaped_member(&mut self, name: String) {
        self.unescaped.push(name);
        self.step(Token::Unescaped(self.unescaped.len() - 1));
    }

    fn step(&mut self, token: Token<'t>) {
        if let Some(last) = self.steps.last_mut() {
            *last = (token, None);
        }
    }

    fn forget_name(&mut self) {
        if !self.unescaped.is_empty() {
            self.forget_unescaped();
        }
    }

    #[cold]
    fn forget_unescaped(&mut self) {
        if let Some((Token::Unescaped(at), _)) = self.steps.last() {
            self.unescaped.truncate(*at);
        }
    }

    /// The node of the container the reader is in.
    pub(super) fn container(&mut self, tree: &mut Tree) -> NodeId {
        let containing = self.steps.len().saturating_sub(1);
        let steps = self.steps.get_mut(..containing).unwrap_or_default();
        let known = steps.iter().rposition(|(_, node)| node.is_some());
        let mut node = known.and_then(|at| steps.get(at)?.1).unwrap_or_default();
        let unknown = steps.get_mut(known.map_or(0, |at| at + 1)..).unwrap_or_default();
        for (token, place) in unknown {
            node = match *token {
                Token::Element(index) => tree.add(node, index),
                Token::Member(name) => tree.add_member(node, name),
                Token::Unescaped(at) => tree.add_member(node, name_at(&self.unescaped, at)),
            };
            *place = Some(node);
        }
        node
    }

    /// The JSON Pointer of the container the reader is in.
    pub(super) fn pointer(&self) -> String {
        let containing = self.steps.len().saturating_sub(1);
        let tokens: Vec<Cow<'_, str>> = self
            .steps
            .iter()
            .take(containing)
            .map(|(token, _)| match *token {
                Token::Element(index) => index.to_string().into(),
                Token::Member(name) => Cow::Borrowed(name),
                Token::Unescaped(at) => name_at(&self.unescaped, at).into(),
            })
            .collect();
        pointer(tokens.iter().map(AsRef::as_ref))
    }
}

fn name_at(names: &[String], at: usize) -> &str {
    names.get(at).map_or("", String::as_str)
}

fn pointer<'a>(tokens: impl Iterator<Item = &'a str>) -> String {
    let mut pointer = String::new();
    for token in tokens {
        pointer.push('/');
        pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_shared_and_pointers_escaped_acp_ref_1() {
        let (mut tree, mut path) = (Tree::default(), Path::default());
        path.enter();
        path.member("a/b~c".into());
        path.enter();
        for i in 0..3 {
            path.element(i);
            path.enter();
            let node = path.container(&mut tree);
            assert_eq!(tree.pointer(node), format!("/a~1b~0c/{i}"));
            assert_eq!(path.pointer(), format!("/a~1b~0c/{i}"));
            path.leave();
        }
        assert_eq!(tree.nodes.len(), 4);
        assert_eq!(tree.names, "a/b~c");
    }
}
