#include "seeds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact.hpp"

namespace viewpass {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kTaskRows = 512;

/// Which row is drawn: the first at which the odds, added up in order, exceed the point's share of their sum.
size_t draw(const Rows& rows, Span<const double> nearest, Span<const double> weights, double point) {
  double known = 0.0;
  int64_t n_known = 0;
  for (size_t i = 0; i < nearest.size(); ++i)
    if (nearest[i] < kInfinity) known += nearest[i] * double(rows.n_copies(i)), n_known += rows.n_copies(i);
  const double unknown = n_known ? known / double(n_known) : 1.0;
  auto odds = [&](size_t i) { return (nearest[i] < kInfinity ? nearest[i] : unknown) * weights[i]; };
  double total = 0.0;
  for (size_t i = 0; i < nearest.size(); ++i) total += odds(i);
  const bool alike = !(total > 0.0);  // every row coincides with a seed: any row that has a view will do
  if (alike) {
    total = 0.0;
    for (double weight : weights) total += weight;
  }
  const double target = point * total;
  double reached = 0.0;
  for (size_t i = 0; i < nearest.size(); ++i) {
    reached += alike ? weights[i] : odds(i);
    if (reached > target) return i;
  }
  return nearest.size() - 1;
}

/// Adds |x_i - x_seed|^2 of the rows that have a view, and the view's weight. `squares`: |x_i|^2 where rows
/// keep their lengths.  INOUT total, shared.
template <class View>
void add_distances(const Rows& rows, size_t v, const View& view, size_t seed, Span<const double> squares,
                   Span<double> total, Span<double> shared, Team& team) {
  const auto from = view[seed];
  std::vector<double> seed_values(view.sparse ? view.width : 0, 0.0);
  for (size_t p = 0; view.sparse && p < from.n; ++p) seed_values[from.column(p)] = double(from.values[p]);
  const double scale = rows.scale(v, seed), weight = rows.weights[v];
  const bool kept = !squares.empty();
  team.each_range(rows.n_rows, kTaskRows, [&](size_t begin, size_t end, size_t) {
    for (size_t i = begin; i < end; ++i) {
      if (!rows.has(v, i)) continue;
      const auto row = view[i];
      double dot;
      if constexpr (View::sparse) {
        double partial[kPartialSums] = {};
        for (size_t p = 0; p < row.n; ++p)
          partial[row.column(p) % kPartialSums] += double(row.values[p]) * seed_values[row.column(p)];
        dot = fold(partial);
      } else {
        dot = kernels().of(row.values).dot(row.values, from.values, row.n);
      }
      const double both = kept ? squares[i] + squares[seed] : 2.0 * weight;
      total[i] += std::max(both - 2.0 * (dot * rows.scale(v, i) * scale), 0.0);
      shared[i] += weight;
    }
  });
}

}  // namespace

void draw_seeds(const Rows& rows, Grid<const double> points, Grid<int32_t> labels, Team& team) {
  const size_t n = rows.n_rows, n_views = rows.n_views(), n_sets = points.width();
  if (n == 0) return;
  std::vector<double> weights(n, 0.0);
  for (size_t i = 0; i < n; ++i)
    for (size_t v = 0; v < n_views; ++v)
      if (rows.has(v, i)) weights[i] += rows.weights[v] * double(rows.n_copies(i));
  std::vector<std::vector<double>> squares(n_views);
  for (size_t v = 0; v < n_views; ++v)
    if (rows.keeps_lengths(v)) squares[v] = squares_of(rows, v);
  std::vector<std::vector<double>> nearest(n_sets, std::vector<double>(n, kInfinity));
  std::vector<double> total(n), shared(n);
  for (size_t k = 0; k < points.n_rows(); ++k)
    for (size_t set = 0; set < n_sets; ++set) {
      const size_t seed = draw(rows, nearest[set], weights, points[k][set]);
      std::fill(total.begin(), total.end(), 0.0);
      std::fill(shared.begin(), shared.end(), 0.0);
      for (size_t v = 0; v < n_views; ++v)
        if (rows.has(v, seed))
          with_rows(rows.views[v], [&](const auto& view) {
            add_distances(rows, v, view, seed, squares[v], total, shared, team);
          });
      for (size_t i = 0; i < n; ++i)
        if (shared[i] > 0.0) {
          const double far = total[i] / shared[i];
          if (far < nearest[set][i]) nearest[set][i] = far, labels[set][i] = int32_t(k);
        }
    }
}

}  // namespace viewpass
