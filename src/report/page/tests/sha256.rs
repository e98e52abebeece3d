//! Base64-encoded SHA-256, to check the hashes of the content security policy: a literal implementation of FIPS 180-4.
//!
//! For this test only; nothing else is hashed with it.

/// The hash as written in a content security policy.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let hash = hash(bytes);
    let mut out = String::new();
    for chunk in hash.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, b| word << 8 | u32::from(*b));
        let word = word << (8 * (3 - chunk.len()));
        for n in 0..=chunk.len() {
            out.push(char::from(DIGITS[(word >> (18 - 6 * n)) as usize & 63]));
        }
        out.push_str(&"=".repeat(3 - chunk.len()));
    }
    out
}

fn hash(bytes: &[u8]) -> Vec<u8> {
    let (k, mut state) = constants();
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((bytes.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut w: Vec<u32> = block
            .chunks(4)
            .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        for t in 16..64 {
            let (a, b) = (w[t - 15], w[t - 2]);
            let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            w.push(
                s1.wrapping_add(w[t - 7])
                    .wrapping_add(s0)
                    .wrapping_add(w[t - 16]),
            );
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for t in 0..64 {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let t1 = h
                .wrapping_add(s1)
                .wrapping_add((e & f) ^ (!e & g))
                .wrapping_add(k[t])
                .wrapping_add(w[t]);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let t2 = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
        }
        for (sum, word) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(word);
        }
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// The first 32 bits of the fractions of the cube roots of the first 64 primes, and of the square roots of the first 8.
fn constants() -> (Vec<u32>, [u32; 8]) {
    let is_prime = |n: &u128| (2..*n).all(|d| !n.is_multiple_of(d));
    let primes: Vec<u128> = (2..).filter(is_prime).take(64).collect();
    // The largest x for which x^power is at most n · 2^(32·power).
    let root = |n: u128, power: u32| {
        let mut x = 0_u128;
        for bit in (0..36).rev() {
            let next = x | 1 << bit;
            let fits = match power {
                2 => next * next <= n << 64,
                _ => next * next * next <= n << 96,
            };
            if fits {
                x = next;
            }
        }
        x as u32
    };
    let k = primes.iter().map(|n| root(*n, 3)).collect();
    let mut state = [0; 8];
    for (word, n) in state.iter_mut().zip(&primes) {
        *word = root(*n, 2);
    }
    (k, state)
}

#[test]
fn the_standard_s_example() {
    assert_eq!(
        base64(b"abc"),
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
    );
}
