//! A common limit for several sizes that must fit into a budget together.

/// The limit for each of `sizes` so that their sum is within `room`; `None` if it is already.
pub fn level(sizes: &[u64], room: u64) -> Option<u64> {
    if sizes.iter().sum::<u64>() <= room {
        return None;
    }
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut left = room;
    for (n, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - n) as u64;
        if *size > share {
            return Some(share);
        }
        left -= size;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_give_way_first() {
        assert_eq!(level(&[10, 20, 30], 60), None);
        assert_eq!(level(&[10, 20, 30], 59), Some(29));
        assert_eq!(level(&[10, 90, 90], 110), Some(50));
        assert_eq!(level(&[10, 20, 90], 50), Some(20));
        assert_eq!(level(&[90, 90], 100), Some(50));
        assert_eq!(level(&[10, 20, 30], 0), Some(0));
        assert_eq!(level(&[], 0), None);
    }
}
