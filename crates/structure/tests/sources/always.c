/* Parts of a loop and of a function that are always passed, and others. */
#include <stdio.h>
#include <stdlib.h>

static volatile int n_steps;

__attribute__((noinline)) void always(int i) { printf("%d\n", i); }
__attribute__((noinline)) void sometimes(int i) { printf("%d %d\n", i, i); }
__attribute__((noinline)) void last(int i) { printf("%d.\n", i); }

__attribute__((noinline)) void step(int i) {
  always(i); /* ALWAYS */
  if (i % 10 == 0)
    sometimes(i); /* SOMETIMES */
  if (i == 77)
    exit(1);
  last(i); /* ALWAYS */
  n_steps++;
}

int main(int argc, char **argv) {
  for (int i = 0; i < 100 * argc; i++) {
    step(i); /* ALWAYS */
    if (i % 2 == 0)
      continue;
    last(i); /* SOMETIMES */
  }
  return 0;
}
