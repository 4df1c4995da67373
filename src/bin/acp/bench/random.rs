//! Numbers that look random and are the same in every run.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// That many bytes.
    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&self.next().to_le_bytes()[..word.len()]);
        }
        bytes
    }

    /// Puts `items` into another order; each is equally likely, but for a bias that does not matter
    /// for a few items.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.next() % (last as u64 + 1);
            items.swap(last, usize::try_from(other).unwrap_or(last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        let numbers = [(); 3].map(|()| random.next());
        assert_eq!(numbers, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn every_order_comes_up() {
        let mut random = Random::new(1);
        let mut orders = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut items = [1, 2, 3, 4];
            random.shuffle(&mut items);
            orders.insert(items);
        }
        assert_eq!(orders.len(), 24);
    }

    #[test]
    fn bytes_have_any_length() {
        for len in [0, 1, 7, 8, 9, 17] {
            assert_eq!(Random::new(1).bytes(len).len(), len);
        }
    }
}
