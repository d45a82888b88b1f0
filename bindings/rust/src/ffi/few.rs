//! Short lists without an allocation. Runs use them, because an allocation would be a large part of a short run.

use std::ops::{Deref, DerefMut};

/// A type with a value that stands for "nothing yet".
pub(crate) trait Blank {
    const BLANK: Self;
}

impl Blank for usize {
    const BLANK: Self = 0;
}

impl Blank for i64 {
    const BLANK: Self = 0;
}

impl<T> Blank for *const T {
    const BLANK: Self = std::ptr::null();
}

impl<T> Blank for *mut T {
    const BLANK: Self = std::ptr::null_mut();
}

impl<T> Blank for Option<T> {
    const BLANK: Self = None;
}

/// A list that allocates memory only if it has more than `N` items.
pub(crate) struct Few<T, const N: usize> {
    /// The items if there are at most `N`; the rest is blank.
    near: [T; N],
    /// All items if there are more.
    far: Vec<T>,
    count: usize,
}

impl<T: Blank, const N: usize> Few<T, N> {
    pub(crate) fn new() -> Self {
        Few { near: [const { T::BLANK }; N], far: Vec::new(), count: 0 }
    }

    /// Creates a list of blank items.
    pub(crate) fn blank(count: usize) -> Self {
        let far = if count > N { (0..count).map(|_| T::BLANK).collect() } else { Vec::new() };
        Few { far, count, ..Self::new() }
    }

    pub(crate) fn push(&mut self, item: T) {
        if self.count < N {
            self.near[self.count] = item;
        } else {
            if self.count == N {
                self.far.extend(std::mem::replace(&mut self.near, [const { T::BLANK }; N]));
            }
            self.far.push(item);
        }
        self.count += 1;
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        if self.count <= N { &self.near[..self.count] } else { &self.far }
    }
}

impl<T, const N: usize> DerefMut for Few<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.count <= N { &mut self.near[..self.count] } else { &mut self.far }
    }
}

impl<T: Blank, const N: usize> FromIterator<T> for Few<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut made = Self::new();
        for item in items {
            made.push(item);
        }
        made
    }
}

impl<T, const N: usize> IntoIterator for Few<T, N> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::iter::Take<std::array::IntoIter<T, N>>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        let near = if self.count <= N { self.count } else { 0 };
        self.near.into_iter().take(near).chain(self.far)
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn lists_of_any_length_keep_their_items() {
        for count in 0..7 {
            let mut list: Few<usize, 3> = (10..10 + count).collect();
            let expected: Vec<usize> = (10..10 + count).collect();
            assert_eq!(*list, *expected);
            assert_eq!(list.far.capacity() > 0, count > 3, "{count} items");
            if let Some(last) = list.last_mut() {
                *last += 1;
            }
            let items: Vec<usize> = list.into_iter().collect();
            assert_eq!(items.len(), count);
            assert_eq!(items.last().copied(), (count > 0).then(|| 10 + count));
        }
    }

    #[test]
    fn blank_lists_have_their_length() {
        for count in [0, 2, 3, 4] {
            let list = Few::<Option<String>, 3>::blank(count);
            assert_eq!(list.len(), count);
            assert!(list.iter().all(Option::is_none));
        }
    }

    #[test]
    fn items_are_dropped_once() {
        let item = std::rc::Rc::new(());
        for count in [2, 3, 5] {
            let list: Few<Option<std::rc::Rc<()>>, 3> = (0..count).map(|_| Some(item.clone())).collect();
            assert_eq!(std::rc::Rc::strong_count(&item), 1 + count);
            drop(list);
            assert_eq!(std::rc::Rc::strong_count(&item), 1);
            let list: Few<Option<std::rc::Rc<()>>, 3> = (0..count).map(|_| Some(item.clone())).collect();
            drop(list.into_iter().take(1).collect::<Vec<_>>());
            assert_eq!(std::rc::Rc::strong_count(&item), 1);
        }
    }
}
