// Each loop has a comment with its depth and, where it is inlined, its function.
#include <cstdio>
#include <stdexcept>
#include <vector>

struct Grid {
    std::vector<double> v;
    int n;
    double sum() const
    {
        double s = 0;
        for (auto x : v) // LOOP 1 in Grid::sum() const
            s += x * x;
        return s;
    }
    template <class F> void each(F f)
    {
        for (int i = 0; i < n; ++i) // LOOP 1 in each
            f(v[i]);
    }
};

__attribute__((noinline)) void step(Grid &g)
{
    for (int t = 0; t < 10; t++) { // LOOP 1
        g.each([](double &x) { x = x * 0.5 + 1; });
        std::printf("%g\n", g.sum());
    }
}

__attribute__((noinline)) int find(const std::vector<int> &v, int k)
{
    int i = 0;
    while (i < (int)v.size()) { // LOOP 1
        try {
            if (v.at(i + k) == 3)
                std::puts("three");
        } catch (std::exception &e) {
            std::puts(e.what());
        }
        i++;
    }
    return i;
}

int main(int argc, char **)
{
    Grid g{std::vector<double>(100, argc), 100};
    step(g);
    return find({1, 2, 3}, argc);
}
