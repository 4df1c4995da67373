//! A search that does not look at every byte: the one behind [`Delimiter`](super::Delimiter) and
//! [`BoundarySearch`](super::BoundarySearch).
//!
//! What is searched for, the needle, is long: 34 bytes and more for nearly every boundary that is
//! in use. Wherever it stands, it covers one of the places `STRIDE - 1`, `2 * STRIDE - 1`, … with the
//! three bytes after it. So four bytes are read at each of these places, and looked up in a table of
//! all strings of four bytes, *grams*, that the needle has (Wu and Manber's filter, for one needle).
//! Only where a gram is in the table is the text around it compared with the needle, by the caller.
//!
//! A search that compares two bytes of the needle with all of the text, a vector at once, as memchr's
//! `packedpair` does, reads all of it twice, and is code for one kind of vector unit.
//!
//! A needle that is too short for that is left to memchr's `memmem`.
//!
//! # Worst case
//!
//! Text that has a gram of the needle at every place, so that each costs a comparison: a repeated
//! piece of the needle is such a text. A caller whose comparison looks at no more than twice the
//! needle stays linear. How fast it is then is in the benchmarks (`near`, `gram`, `dash`).

use memchr::memmem;

/// Bytes of a gram.
const GRAM: usize = 4;

/// Distance of the places that are looked at: what the shortest needle that nearly everybody sends
/// allows, with a boundary of 30 characters.
const STRIDE: usize = 31;

/// Places whose lookups are joined before the answer is acted on.
const GROUP: usize = 8;

/// Entries of the table. With the 39 grams of a common delimiter, one gram of random bytes in a
/// hundred is taken for one of them.
const SLOTS: usize = 4096;

/// A search for one needle.
#[derive(Debug, Clone)]
pub(super) enum Search {
    Grams(Grams),
    Memmem(Box<memmem::Finder<'static>>),
}

impl Search {
    pub(super) fn new(needle: &[u8]) -> Self {
        let memmem = || Box::new(memmem::Finder::new(needle).into_owned());
        Grams::new(needle).map_or_else(|| Self::Memmem(memmem()), Self::Grams)
    }

    /// Gives `judge` places in `text`, in order, that the needle may cover, until it has an answer.
    /// Wherever the needle stands, it covers one of them, and no other needle does.
    pub(super) fn find<T>(&self, text: &[u8], judge: impl FnMut(usize) -> Option<T>) -> Option<T> {
        match self {
            Self::Grams(grams) => grams.find(text, judge),
            Self::Memmem(finder) => finder.find_iter(text).find_map(judge),
        }
    }
}

/// Which grams a needle has.
#[derive(Debug, Clone)]
pub(super) struct Grams {
    /// A byte for each slot: whether a gram is in it, 0 or 1.
    slots: Box<[u8; SLOTS]>,
}

/// The texts between one place and the next, each from its place on.
type Strides = [[u8; STRIDE]];

impl Grams {
    /// `None` for a needle that is too short to cover a place wherever it stands.
    fn new(needle: &[u8]) -> Option<Self> {
        if needle.len() < STRIDE + GRAM - 1 {
            return None;
        }
        let mut slots: Box<[u8; SLOTS]> = vec![0; SLOTS].into_boxed_slice().try_into().ok()?;
        for gram in needle.windows(GRAM).filter_map(|window| window.first_chunk()) {
            if let Some(slot) = slots.get_mut(index(gram)) {
                *slot = 1;
            }
        }
        Some(Self { slots })
    }

    /// See [`Search::find`].
    fn find<T>(&self, text: &[u8], mut judge: impl FnMut(usize) -> Option<T>) -> Option<T> {
        let mut at = STRIDE - 1;
        let (strides, rest) = text.get(at..)?.as_chunks();
        let (groups, few) = strides.as_chunks::<GROUP>();
        for group in groups {
            if group.iter().fold(0, |any, stride| any | self.slot(stride)) != 0
                && let Some(answer) = self.find_in(group, at, &mut judge)
            {
                return Some(answer);
            }
            at += GROUP * STRIDE;
        }
        if let Some(answer) = self.find_in(few, at, &mut judge) {
            return Some(answer);
        }
        at += few.len() * STRIDE;
        if self.slot(rest) != 0 { judge(at) } else { None }
    }

    /// The same, one place after the other: those at `at` and on.
    fn find_in<T>(
        &self,
        strides: &Strides,
        at: usize,
        mut judge: impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        let places = strides.iter().zip((at..).step_by(STRIDE));
        let mut known = places.filter(|(stride, _)| self.slot(*stride) != 0);
        known.find_map(|(_, place)| judge(place))
    }

    /// What the table says of the gram at the start of `text`; 0 where there is none.
    #[inline(always)]
    fn slot(&self, text: &[u8]) -> u8 {
        text.first_chunk().and_then(|gram| self.slots.get(index(gram))).copied().unwrap_or_default()
    }
}

/// The slot of a gram: the upper bits of a product (Fibonacci hashing). It need not be hard to
/// foresee, since a sender who wants to meet the table can send the needle's own grams.
#[inline(always)]
const fn index(gram: &[u8; GRAM]) -> usize {
    const BITS: u32 = SLOTS.trailing_zeros();
    (u32::from_le_bytes(*gram).wrapping_mul(0x9E37_79B1) >> (u32::BITS - BITS)) as usize
}
