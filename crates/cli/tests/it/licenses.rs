//! `ouzel licenses`.

use crate::run::ran;

#[test]
fn crates_of_others_are_listed_with_their_texts() {
    let list = ran(&["licenses"]);
    assert_eq!((list.code, list.err.as_str()), (Some(0), ""));
    let serde = list.out.lines().find(|line| line.starts_with("serde ")).expect("it is used");
    assert!(serde.ends_with("MIT OR Apache-2.0"), "{serde}");
    assert!(!list.out.contains("Permission is hereby granted"), "texts are shown when asked for");
    let one = ran(&["licenses", "serde"]);
    assert!(one.out.contains("--- serde ---") && one.out.contains("Permission is hereby granted"));
    assert_eq!(one.out.lines().filter(|line| line.starts_with("serde")).count(), 1, "{}", one.out);
    let texts = ran(&["licenses", "--texts"]);
    assert!(texts.out.starts_with(&list.out) && texts.out.contains("Apache License"));
    let unknown = ran(&["licenses", "moon"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(1), ""));
    assert!(unknown.err.contains("no crate \"moon\""), "{}", unknown.err);
}
