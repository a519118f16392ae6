//! C and C++.

use crate::harness::{check, instrumented};

const C: &str = r#"#include <stdio.h>
#define GIVE_UP(x) do { if (x) return -1; } while (0)
struct pair { int a, b; };
static int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
static int macro(int n) {
    GIVE_UP(n > 2);
    return n;
}
static struct pair swap(struct pair p) {
    return (struct pair){p.b, p.a};
}
static int search(int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i * j == 6) goto found;
    return 0;
found:
    return 1;
}
static int old(n) int n; { return n; }
int main(void) {
    int sum = 0, i = 0;
    while (1) {
        if (i++ > 3) break;
        sum += macro(i);
    }
    do sum++; while (sum < 10);
    if (sum)
        for (i = 0; i < 3; i++) sum += search(i * 2);
    else sum = 0;
    switch (sum & 1) {
        case 0: do { case 1: sum++; } while (0);
    }
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (i = 0; i < 2; i++) sum += 0;
    struct pair p = swap((struct pair){1, 2});
    printf("%d %d %d %d %d\n", sum, fact(5), p.a, __LINE__, old(3));
    printf("%s\n", __FILE__);
    return 3;
}
"#;

#[test]
fn c_is_balanced_with_macros_jumps_and_structs() {
    let text = C.replace(r#"    printf("%s\n", __FILE__);"#, "");
    check(
        &[
            "gcc",
            "-std=gnu11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Wno-unknown-pragmas",
            "-Wno-implicit-fallthrough",
        ],
        "a.c",
        &text,
        &[
            "1 main a.c:21",
            "1 loop at a.c:23 a.c:23 loop",
            "4 macro a.c:5",
            "1 loop at a.c:27 a.c:27 loop",
            "1 loop at a.c:29 a.c:29 loop",
            "3 search a.c:12",
            "3 loop at a.c:13 a.c:13 loop",
            "1 loop at a.c:37 a.c:37 loop",
            "5 fact a.c:4",
            "1 old a.c:20",
            "1 swap a.c:9",
        ],
    );
}

const CPP: &str = r#"#include <cstdio>
#include <stdexcept>
#include <vector>
namespace space {
struct Thing {
    Thing() : a(1) {}
    ~Thing() { std::puts("gone"); }
    int operator()(int x) const noexcept { return a + x; }
    Thing(const Thing &) = default;
    int a;
};
template <class T> T twice(T x) { return x + x; }
}
constexpr int known(int x) { return x + 1; }
static int thrower(int n) {
    for (int i = 0;; i++)
        if (i == n) throw std::runtime_error("thrown");
}
int attempt(int n) try { return thrower(n); } catch (const std::exception &e) { return -n; }
int caught(int n) {
    try {
        return thrower(n);
    } catch (const std::exception &e) {
        std::puts(e.what());
    }
    return 5;
}
int main() {
    static_assert(known(1) == 2, "");
    space::Thing thing;
    std::vector<int> all{1, 2, 3};
    int sum = 0;
    for (int x : all) sum += thing(x);
    auto lambda = [&](int n) { while (n--) sum++; return sum; };
    std::printf("%d %d %d\n", caught(2), attempt(3), lambda(3));
    std::printf("%g %d\n", space::twice(1.5), space::twice(2));
}
"#;

#[test]
fn cpp_is_balanced_with_exceptions() {
    check(
        &["g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wno-unused-parameter"],
        "b.cpp",
        CPP,
        &[
            "1 main b.cpp:28",
            "1 space::Thing::Thing b.cpp:6",
            "1 space::Thing::~Thing b.cpp:7",
            "3 space::Thing::operator() b.cpp:8",
            "2 space::twice b.cpp:12",
            "2 thrower b.cpp:15",
            "2 loop at b.cpp:16 b.cpp:16 loop",
            "1 caught b.cpp:20",
            "1 loop at b.cpp:33 b.cpp:33 loop",
            "1 loop at b.cpp:34 b.cpp:34 loop",
        ],
    );
    let skipped: Vec<(String, &str)> =
        instrumented("b.cpp", CPP).skipped.into_iter().map(|it| (it.name, it.reason)).collect();
    let expected = [("known", "may be evaluated by the compiler"), ("attempt", "its body is a try block")];
    assert_eq!(skipped, expected.map(|(name, reason)| (name.to_owned(), reason)));
}
