//! `--rules`: the user's own rules about what regions mean.

use crate::run::{Scratch, ran_on, testdata};

fn with_rules(test: &str, rules: &str) -> crate::run::Ran {
    let scratch = Scratch::new(test);
    let file = scratch.0.join("rules.toml");
    std::fs::write(&file, rules).expect("the folder of the test is writable");
    ran_on(
        &testdata("pmpi-masterio"),
        &["report", "--format", "json", "--rules", file.to_str().expect("paths of tests are UTF-8")],
    )
}

#[test]
fn a_rule_turns_work_into_waiting() {
    let told = with_rules("rules-wait", "[[rule]]\nregion = 'sol.e'\ncategory = 'wait'\nfamily = 'MPI'");
    assert_eq!(told.code, Some(0), "{}", told.err);
    let answer: serde_json::Value = serde_json::from_str(&told.out).expect("the answer is JSON");
    let losses = answer["data"]["losses"].as_array().expect("losses");
    let solve = |loss: &&serde_json::Value| loss["call_path"] == serde_json::json!(["step", "solve"]);
    assert_eq!(losses.iter().find(solve).expect("a loss in solve")["kind"], "wait_for_one");
}

#[test]
fn rules_that_are_not_understood_end_the_command_with_one_line() {
    for (rules, needle) in [
        ("[[rule]]\nregion = 'a'\ncategory = 'idle'", "line 3"),
        ("[[rule]]\nregion = '('\ncategory = 'wait'", "\"(\""),
    ] {
        let told = with_rules("rules-bad", rules);
        assert_eq!(
            (told.code, told.out.as_str(), told.err.lines().count()),
            (Some(1), "", 1),
            "{}",
            told.err
        );
        assert!(told.err.contains(needle) && told.err.contains("rules.toml"), "{}", told.err);
    }
}
