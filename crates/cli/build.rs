//! Leaves symbols out of the released binary, a fifth of it.
//!
//! Cargo forgets `strip = "symbols"` of a profile for packages whose other settings the profile overrides, and those of
//! this package are.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_PROFILE_RELEASE_STRIP");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    let keeps = is("CARGO_PROFILE_RELEASE_STRIP", "none");
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && !keeps {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}
