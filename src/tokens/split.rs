//! Divides a total into parts that add up to it.
//!
//! Never rounds a part by itself.

/// Divides `total` in proportion to `weights`, into whole tokens that add up to it; if all weights are 0, the first gets
/// everything. Weights that add up to `total` are returned as they are. Their sum must fit into 64 bits.
pub fn split(total: u64, weights: &[u64]) -> impl Iterator<Item = u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let mut before = (0, 0);
    weights.iter().map(move |weight| {
        let weighed = before.0 + u128::from(*weight);
        // At most `total`, since no part weighs more than the whole.
        let given = (u128::from(total) * weighed)
            .checked_div(sum)
            .map_or(total, |given| given as u64);
        let share = given - before.1;
        before = (weighed, given);
        share
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(total: u64, weights: &[u64]) -> Vec<u64> {
        split(total, weights).collect()
    }

    #[test]
    fn parts_are_proportional() {
        assert_eq!(parts(6, &[1, 2, 3]), [1, 2, 3]);
        assert_eq!(parts(7, &[1, 2, 3]), [1, 2, 4]);
        assert_eq!(parts(5, &[1, 2, 3]), [0, 2, 3]);
        assert_eq!(parts(4, &[0, 0]), [4, 0]);
        assert_eq!(parts(4, &[0, 1]), [0, 4]);
        assert_eq!(parts(4, &[]), [0_u64; 0]);
    }

    proptest! {
        #[test]
        fn parts_add_up(total in any::<u64>(), weights in prop::collection::vec(any::<u32>().prop_map(u64::from), 1..20)) {
            let found = parts(total, &weights);
            prop_assert_eq!(found.iter().map(|part| u128::from(*part)).sum::<u128>(), u128::from(total));
        }

        #[test]
        fn weights_that_add_up_are_the_parts(weights in prop::collection::vec(0..1_000_000_000_u64, 1..20)) {
            prop_assert_eq!(parts(weights.iter().sum(), &weights), weights);
        }
    }
}
