//! A boundary that occurs in no content (ACP-ENC-2).

use super::{EncodeError, EncodeErrorKind, builder::Prepared, naming::random, part::Content};
use crate::{
    error::{Location, PartId},
    syntax::{Boundary, BoundarySearch, ContentTypeErrorKind},
};

/// How often a boundary is drawn before it is clear that the generator is broken.
const DRAWS: usize = 4;

/// 128 random bits from the operating system's generator, as 32 hexadecimal digits.
pub(super) fn draw() -> Result<Boundary, EncodeError> {
    let digits = format!("{:032x}", u128::from_be_bytes(random()?));
    Boundary::new(digits.as_bytes()).map_err(|invalid| {
        let at = Location::Value(invalid.position() as u64);
        EncodeError::new(ContentTypeErrorKind::BoundaryInvalid, Some(at), None)
    })
}

/// The boundary that is given, or else one of those drawn, once it occurs in no part's head and no
/// content in memory. `heads` are the header blocks of all parts.
pub(super) fn choose(
    given: Option<Boundary>,
    mut draw: impl FnMut() -> Result<Boundary, EncodeError>,
    heads: &[u8],
    parts: &[Prepared],
) -> Result<(Boundary, BoundarySearch), EncodeError> {
    let mut draws = 0;
    loop {
        let boundary = given.clone().map_or_else(&mut draw, Ok)?;
        let search = BoundarySearch::new(&boundary);
        draws += 1;
        match occurrence(&search, heads, parts) {
            None => return Ok((boundary, search)),
            Some(error) if given.is_some() || draws == DRAWS => return Err(error),
            Some(_) => {}
        }
    }
}

/// The first part in which the boundary occurs where a receiver may take it for a delimiter.
fn occurrence(search: &BoundarySearch, heads: &[u8], parts: &[Prepared]) -> Option<EncodeError> {
    let in_heads = search.find(heads);
    parts.iter().enumerate().find_map(|(index, part)| {
        let in_head = in_heads.filter(|at| part.head.contains(at)).map(|at| at - part.head.start);
        let at = match &part.content {
            Content::InMemory(content) => in_head.or_else(|| search.find(content)),
            Content::Streamed { .. } => in_head,
        }?;
        Some(boundary_occurs(at as u64, PartId::new(index, Some(part.name.clone()))))
    })
}

/// The boundary occurs in a part's head or content, up to this byte.
pub(super) fn boundary_occurs(at: u64, part: PartId) -> EncodeError {
    let at = Some(Location::Value(at));
    EncodeError::new(EncodeErrorKind::BoundaryOccurs, at, Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundary(text: &str) -> Boundary {
        Boundary::new(text.as_bytes()).unwrap()
    }

    /// Chooses one of `drawn` for a part with that content; gives the draws that were left, too.
    fn choose_of(drawn: &[&str], content: &'static str) -> (Result<Boundary, EncodeError>, usize) {
        let mut left = drawn.iter();
        let name = "p".parse().unwrap();
        let content = Content::InMemory(content.into());
        let parts = [Prepared { name, head: 0..5, content }];
        let draw = || Ok(boundary(left.next().unwrap()));
        let chosen = choose(None, draw, b"X: y\r\n", &parts);
        (chosen.map(|(boundary, _)| boundary), left.len())
    }

    #[test]
    fn a_boundary_that_occurs_is_drawn_again_acp_enc_2() {
        let drawn = ["a", "b", "c", "a", "d"];
        assert_eq!(choose_of(&drawn, "x\r\n--c"), (Ok(boundary("a")), 4));
        assert_eq!(choose_of(&drawn, "--a\r\n--b"), (Ok(boundary("c")), 2));
        let (error, left) = choose_of(&drawn, "--a\r\n--b\r\n--c");
        assert_eq!((error.unwrap_err().code(), left), ("boundary_occurs", 1));
    }
}
