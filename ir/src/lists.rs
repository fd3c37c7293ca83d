//! Many short lists in one array.
//!
//! In: pairs of a key and an item. Out: [`Lists`], which gives the items of a key in the order of
//! the pairs. A map of vectors allocates once for each key and scatters the lists over memory; this
//! structure allocates three times.

use std::marker::PhantomData;

use cranelift_entity::EntityRef;

/// The lists of items of keys `0..n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lists<K, T> {
    /// Where each list starts; one more than there are keys.
    starts: Vec<u32>,
    items: Vec<T>,
    keys: PhantomData<K>,
}

impl<K: EntityRef, T: Copy> Lists<K, T> {
    /// The lists of `n` keys from pairs. Within a list the items keep the order of the pairs.
    /// Linear.
    ///
    /// # Panics
    /// If a key is not below `n`.
    pub fn new(n: usize, pairs: &[(K, T)]) -> Lists<K, T> {
        let mut starts = vec![0; n + 1];
        for &(key, _) in pairs {
            starts[key.index()] += 1;
        }
        // `starts` first holds the end of each list. The lists are filled from the end, so each
        // inserted item moves `starts` down, and it ends at the start of the list.
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut items: Vec<T> = pairs.iter().map(|&(_, item)| item).collect();
        for &(key, item) in pairs.iter().rev() {
            let place = &mut starts[key.index()];
            *place -= 1;
            items[*place as usize] = item;
        }
        Lists { starts, items, keys: PhantomData }
    }

    /// The items of a key.
    pub fn of(&self, key: K) -> &[T] {
        let key = key.index();
        &self.items[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn items_keep_their_order() {
        let [a, b, c] = [0, 1, 2].map(Value::new);
        let lists = Lists::new(3, &[(c, 5), (a, 1), (c, 4), (a, 2), (c, 3)]);
        assert_eq!([lists.of(a), lists.of(b), lists.of(c)], [&[1, 2][..], &[], &[5, 4, 3]]);
    }
}
