/* A library that a program loads while it runs; see samples.c. */
static volatile double sink;

void work_loaded(long n)
{
    double x = 1;
    for (long i = 0; i < n * 10000; i++)
        x = x * 1.0000001 + 1e-9;
    sink = x;
}
