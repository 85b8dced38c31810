#include "seeds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact.hpp"

namespace viewpass {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kTaskRows = 512;

/// Which row is drawn: the first at which the odds, added up in order, exceed the point's share of their sum.
std::size_t draw(Span<const double> nearest, Span<const double> weights, double point) {
  double known = 0.0;
  std::size_t n_known = 0;
  for (double far : nearest)
    if (far < kInfinity) known += far, ++n_known;
  const double unknown = n_known ? known / double(n_known) : 1.0;
  auto odds = [&](std::size_t i) { return (nearest[i] < kInfinity ? nearest[i] : unknown) * weights[i]; };
  double total = 0.0;
  for (std::size_t i = 0; i < nearest.size(); ++i) total += odds(i);
  const bool alike = !(total > 0.0);  // every row coincides with a seed: any row that has a view will do
  if (alike) {
    total = 0.0;
    for (double weight : weights) total += weight;
  }
  const double target = point * total;
  double reached = 0.0;
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    reached += alike ? weights[i] : odds(i);
    if (reached > target) return i;
  }
  return nearest.size() - 1;
}

/// x_i.x_seed of unit rows in one view.
template <class T>
class SeedProducts {};

template <class T>
class SeedProducts<DenseRows<T>> {
 public:
  SeedProducts(const DenseRows<T>& view, std::size_t seed) : view_(view), seed_(view[seed]) {}
  double operator()(std::size_t i) const {
    return dense_kernels(kernels(), seed_).dot(view_[i], seed_, view_.width);
  }

 private:
  const DenseRows<T>& view_;
  const T* seed_;
};

template <class T, class Index>
class SeedProducts<CsrRows<T, Index>> {
 public:
  SeedProducts(const CsrRows<T, Index>& view, std::size_t seed) : view_(view), laid_(view.width, 0.0) {
    const SparseRow<T, Index> row = view[seed];
    for (std::size_t p = 0; p < row.n; ++p) laid_[std::size_t(row.columns[p])] = double(row.values[p]);
  }
  double operator()(std::size_t i) const {
    const SparseRow<T, Index> row = view_[i];
    double lanes[kLanes] = {};
    for (std::size_t p = 0; p < row.n; ++p) {
      const auto j = std::size_t(row.columns[p]);
      lanes[j % kLanes] += double(row.values[p]) * laid_[j];
    }
    return fold(lanes);
  }

 private:
  const CsrRows<T, Index>& view_;
  std::vector<double> laid_;
};

}  // namespace

void draw_seeds(const Rows& rows, Grid<const double> points, Grid<int32_t> labels, Team& team) {
  const std::size_t n = rows.n_rows, n_views = rows.n_views(), n_sets = points.width();
  if (n == 0) return;
  const std::vector<double>& squares = rows.weights;
  std::vector<double> weights(n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t v = 0; v < n_views; ++v)
      if (rows.has(v, i)) weights[i] += squares[v];
  std::vector<std::vector<double>> nearest(n_sets, std::vector<double>(n, kInfinity));
  std::vector<double> total(n), shared(n);
  for (std::size_t k = 0; k < points.n_rows(); ++k)
    for (std::size_t set = 0; set < n_sets; ++set) {
      const std::size_t seed = draw(nearest[set], weights, points[k][set]);
      std::fill(total.begin(), total.end(), 0.0);
      std::fill(shared.begin(), shared.end(), 0.0);
      for (std::size_t v = 0; v < n_views; ++v) {
        if (!rows.has(v, seed)) continue;
        std::visit(
            [&](const auto& view) {
              using Of = std::decay_t<decltype(view)>;
              if constexpr (!is_none<Of>) {
                const SeedProducts<Of> product(view, seed);
                const double scale = rows.scale(v, seed), square = squares[v];
                team.each((n + kTaskRows - 1) / kTaskRows, [&](std::size_t task, std::size_t) {
                  for (std::size_t i = task * kTaskRows; i < std::min((task + 1) * kTaskRows, n); ++i)
                    if (rows.has(v, i)) {
                      const double dot = product(i) * rows.scale(v, i) * scale;
                      total[i] += std::max(2.0 * square - 2.0 * dot, 0.0);
                      shared[i] += square;
                    }
                });
              }
            },
            rows.views[v]);
      }
      for (std::size_t i = 0; i < n; ++i)
        if (shared[i] > 0.0) {
          const double far = total[i] / shared[i];
          if (far < nearest[set][i]) nearest[set][i] = far, labels[set][i] = int32_t(k);
        }
    }
}

}  // namespace viewpass
