// A loop with a known count in a member function; what it does is inlined, in a lambda and in a template.
#include <cstdio>
#include <ctime>
#include <vector>

namespace {

double seconds() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <typename Body> [[gnu::always_inline]] inline void repeat_until(double until, Body body) {
    while (seconds() < until)
        for (int k = 0; k < 100; ++k) body();
}

class Solver {
public:
    explicit Solver(std::size_t n) : u_(n, 1.0) {}

    void run(int n_steps) {
        for (int step = 0; step < n_steps; ++step) { // PLANTED 16
            const double begin = seconds();
            relax(begin + 0.05);
            exchange(begin + 0.085);
        }
    }

    double middle() const { return u_[u_.size() / 2]; }

private:
    [[gnu::always_inline]] inline void relax(double until) {
        repeat_until(until, [this] {
            for (std::size_t i = 1; i + 1 < u_.size(); ++i) u_[i] = 0.3 * (u_[i - 1] + u_[i] + u_[i + 1]);
        });
    }

    [[gnu::noinline]] void exchange(double until) {
        repeat_until(until, [this] {
            for (auto &value : u_) value = value * 0.999 + 1e-3;
        });
    }

    std::vector<double> u_;
};

} // namespace

int main() {
    Solver solver(1024);
    solver.run(16);
    std::printf("%d\n", solver.middle() < 1e9);
}
