/* Each loop has a comment with its depth. */
#include <stdio.h>
#include <stdlib.h>

double nested(double *a, int n, int m)
{
    double s = 0;
    for (int i = 0; i < n; i++) { /* LOOP 1 */
        for (int j = 0; j < m; j++) { /* LOOP 2 */
            s += a[i * m + j] * 2.5;
        }
        if (s < 0)
            abort();
    }
    return s;
}

static inline double product(double *a, int n)
{
    double s = 1;
    for (int k = 0; k < n; k++) /* LOOP 1 in product */
        s *= a[k];
    return s;
}

double inlined(double *a, int n)
{
    double t = 0;
    for (int i = 0; i < n; i++) { /* LOOP 1 */
        t += product(a, i);
        printf("%g\n", t);
    }
    return t;
}

int switched(int x)
{
    int y = 0;
    while (x > 0) { /* LOOP 1 */
        switch (x % 9) {
        case 0: y += 3; puts("a"); break;
        case 1: y *= 5; puts("b"); break;
        case 2: y -= 7; puts("c"); break;
        case 3: y ^= x; puts("d"); break;
        case 4: y |= 9; puts("e"); break;
        case 5: y = y << 2; puts("f"); break;
        case 6: y = y >> 1; puts("g"); break;
        default: exit(3);
        }
        x--;
    }
    return y;
}

int jumps(int n)
{
    int i = 0;
again:
    puts("x"); /* LOOP 1 */
    i++;
    if (i < n)
        goto again;
    do {
        puts("y"); /* LOOP 1 */
        i--;
    } while (i > 0);
    return i;
}

/* The loop is entered in its middle. */
int two_entries(int n)
{
    if (n & 1)
        goto odd;
even:
    puts("even"); /* IRREDUCIBLE */
    n--;
odd:
    puts("odd");
    n--;
    if (n > 0)
        goto even;
    return n;
}

/* Without knowledge that fail never returns, its call would lead on into the loop. */
__attribute__((noinline)) static void fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

int checked(const int *a, int n)
{
    int s = 0;
    if (n < 0)
        fail("negative");
    for (int i = 0; i < n; i++) { /* LOOP 1 */
        if (a[i] < 0)
            fail("an element");
        s += a[i];
    }
    return s;
}

int main(int argc, char **argv)
{
    double a[100];
    int b[4] = {1, 2, 3, argc};
    for (int i = 0; i < 100; i++) /* LOOP 1 */
        a[i] = atoi(argv[argc - 1]) + i;
    printf("%g %g\n", nested(a, 10, 10), inlined(a, 100));
    return switched(argc * 30) + jumps(argc) + two_entries(argc) + checked(b, 4);
}
