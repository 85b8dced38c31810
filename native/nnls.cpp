#include "nnls.hpp"

#include <algorithm>
#include <cmath>

namespace viewpass {
namespace {

constexpr size_t kTaskRows = 512;
constexpr double kTolerance = 1e-13, kLeastPivot = 1e-300, kNothing = 1e-15;

/// One row at a time: which entries are free, and the best point that has these free.
class Solver {
 public:
  explicit Solver(Grid<const double> gram)
      : gram_(gram),
        free_(gram.n_rows()),
        barred_(gram.n_rows()),
        factor_(gram.n_rows() * gram.n_rows()),
        solved_(gram.n_rows()) {}

  /// INOUT y.
  void solve(Span<const double> p, Span<double> y) {
    const size_t size = y.size();
    double largest = 0.0;
    for (size_t k = 0; k < size; ++k) {
      free_[k] = y[k] > 0.0;
      barred_[k] = false;
      largest = std::max(largest, std::abs(p[k]));
    }
    size_t newest = size;
    for (size_t round = 0; round < 10 * size + 10; ++round) {
      size_t n_steps = 0;
      while (!step(p, y, newest))
        if (++n_steps > size) return;  // a step that lets no entry go: only of values near overflow
      newest = steepest(p, y, kTolerance * largest);
      if (newest == size) return;
      free_[newest] = true;
    }
  }

 private:
  double& factor(size_t a, size_t b) { return factor_[a * gram_.width() + b]; }

  /// The best point with the free entries, into solved_: by G = L L'.
  void solve_free(Span<const double> p) {
    places_.clear();
    for (size_t k = 0; k < p.size(); ++k)
      if (free_[k]) places_.push_back(k);
    const size_t n = places_.size();
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b <= a; ++b) {
        double value = gram_[places_[a]][places_[b]];
        for (size_t c = 0; c < b; ++c) value -= factor(a, c) * factor(b, c);
        factor(a, b) = a == b ? std::sqrt(std::max(value, kLeastPivot)) : value / factor(b, b);
      }
    for (size_t a = 0; a < n; ++a) {
      double value = p[places_[a]];
      for (size_t c = 0; c < a; ++c) value -= factor(a, c) * solved_[c];
      solved_[a] = value / factor(a, a);
    }
    for (size_t a = n; a-- > 0;) {
      double value = solved_[a];
      for (size_t c = a + 1; c < n; ++c) value -= factor(c, a) * solved_[c];
      solved_[a] = value / factor(a, a);
    }
  }

  /// Goes to that point, or as far towards it as allowed; true if it was reached.
  bool step(Span<const double> p, Span<double> y, size_t newest) {
    solve_free(p);
    const size_t n = places_.size();
    double share = 1.0;
    for (size_t a = 0; a < n; ++a)
      if (solved_[a] <= 0.0) {
        const double here = y[places_[a]];
        share = std::min(share, here > solved_[a] ? here / (here - solved_[a]) : 0.0);
      }
    if (share >= 1.0) {
      for (size_t a = 0; a < n; ++a) y[places_[a]] = solved_[a];
      return true;
    }
    for (size_t a = 0; a < n; ++a) {
      const size_t k = places_[a];
      double here = y[k] + share * (solved_[a] - y[k]);
      if (solved_[a] <= 0.0 && here <= kNothing * std::abs(y[k] - solved_[a])) {
        here = 0.0;
        free_[k] = false;
        barred_[k] = barred_[k] || k == newest;  // rounding alone had let it in
      }
      y[k] = here;
    }
    for (size_t a = 0; a < n; ++a)  // at least one entry must go, or this would not end
      if (solved_[a] <= 0.0 && y[places_[a]] <= 0.0) {
        y[places_[a]] = 0.0;
        free_[places_[a]] = false;
      }
    return false;
  }

  /// The entry whose growth lowers the objective fastest; none: the size.
  size_t steepest(Span<const double> p, Span<const double> y, double least) const {
    size_t best = y.size();
    for (size_t k = 0; k < y.size(); ++k) {
      if (free_[k] || barred_[k]) continue;
      double slope = p[k];
      for (size_t j = 0; j < y.size(); ++j) slope -= gram_[k][j] * y[j];
      if (slope > least) best = k, least = slope;
    }
    return best;
  }

  Grid<const double> gram_;
  std::vector<char> free_, barred_;
  std::vector<size_t> places_;
  std::vector<double> factor_, solved_;
};

}  // namespace

void nnls(Grid<const double> gram, Grid<const double> products, Grid<double> out, Team& team) {
  team.each_range(products.n_rows(), kTaskRows, [&](size_t begin, size_t end, size_t) {
    Solver solver(gram);
    for (size_t i = begin; i < end; ++i) solver.solve(products[i], out[i]);
  });
}

}  // namespace viewpass
