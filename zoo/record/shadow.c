/* Functions that call each other again and again from the same and from other lines, with lengths below and above the
 * time between samples, to be compiled with -finstrument-functions: what is recorded of them is the shadow of the stack.
 *
 * Shape: a tree of calls. Law: the same calls in every run. Not here: anything that waits.
 */
#include <stdio.h>

static volatile double sink;

#define APART __attribute__((noinline))

APART static void burn(int n) {
    double x = 1;
    for (int i = 0; i < n; i++) x = x * 0.999999 + 1e-6;
    sink = x;
}

APART static void leaf(int n) {
    burn(n);
    burn(n / 2);
}

APART static void deep(int depth, int n) {
    if (depth == 0) {
        leaf(n);
        return;
    }
    deep(depth - 1, n);
    if (depth == 2) deep(0, n);
}

APART static void step(int i) {
    for (int k = 0; k < 3; k++) leaf(20000 + 30000 * (i % 7));
    deep(3 + i % 2, 40000);
}

int main(void) {
    for (int i = 0; i < 2400; i++) step(i);
    printf("%d\n", sink < 2);
    return 0;
}
