//! Tests with sessions written by hand.
