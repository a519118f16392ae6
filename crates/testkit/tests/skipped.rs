//! Says how many tests of a run of nextest passed without data to look at, in one line.
//!
//! nextest hides what passing tests print. This program is a test to it, the last one
//! (`.config/nextest.toml`), whose output is shown. Other runners show the line of each test.
#![expect(clippy::print_stdout, reason = "prints what nextest asks for")]

use ouzel_testkit::skips;

fn main() {
    let has = |name: &str| std::env::args().any(|argument| argument == name);
    if has("--list") {
        if !has("--ignored") {
            println!("are_counted: test");
        }
        return;
    }
    let n = skips::count_of_this_run();
    if 0 < n {
        println!("{}", skips::summary(n));
    }
}
