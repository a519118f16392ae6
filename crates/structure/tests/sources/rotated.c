/* Loops whose headers and ends are moved into what is inlined into them. */
#include <math.h>
#include <stdio.h>

static double inner(double x, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) /* LOOP 1 */
    s += sin(x + i);
  return s;
}

static void step(double *a, int n) {
  for (int i = 0; i < n; i++) /* LOOP 1 */
    a[i] = inner(a[i], 100);
}

int main(void) {
  double a[100] = {0};
  for (int t = 0; t < 50; t++) { /* LOOP 1 */
    step(a, 100);
    if (t % 10 == 0)
      printf("%d %g\n", t, a[3]);
  }
  return 0;
}
