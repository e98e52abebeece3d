//! How a prompt becomes shorter, and what needs no server.

use super::*;

fn sizes(rounds: &[String]) -> Vec<usize> {
    rounds.iter().map(String::len).collect()
}

fn rounds(sizes: &[usize]) -> Vec<String> {
    sizes.iter().map(|n| "x".repeat(*n)).collect()
}

#[test]
fn the_oldest_rounds_go_by_the_gap_that_the_server_names() {
    let all = rounds(&[400, 300, 200, 100]);
    let left = |prompt, most, answer| sizes(within(&all, Gap { prompt, most }, answer));
    // 1000 bytes are 500 tokens; of 300 the answer takes 20, and a tenth is spared: 504 bytes.
    assert_eq!(left(500, 300, 20), [200, 100]);
    assert_eq!(left(500, 400, 20), [300, 200, 100]);
    // One goes at least, and one stays, whatever is said.
    assert_eq!(left(500, 499, 0), [300, 200, 100]);
    assert_eq!(left(500, 1, 100), [100]);
}

#[test]
fn halves_are_of_about_the_same_size() {
    let split = |all: &[usize]| {
        let all = rounds(all);
        let (older, newer) = halves(&all);
        (sizes(older), sizes(newer))
    };
    assert_eq!(split(&[10, 10, 10, 10]), (vec![10, 10], vec![10, 10]));
    assert_eq!(split(&[90, 5, 5]), (vec![90], vec![5, 5]));
    assert_eq!(split(&[5, 5, 90]), (vec![5, 5], vec![90]));
}

#[test]
fn chance_does_not_repeat() {
    let drawn: std::collections::BTreeSet<u128> = (0..1_000).map(|_| chance()).collect();
    assert_eq!(drawn.len(), 1_000);
}
