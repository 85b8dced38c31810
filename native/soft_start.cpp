#include "soft_start.hpp"

#include <algorithm>
#include <cmath>

#include "exact.hpp"

namespace viewpass {

namespace {

constexpr double kNothing = 0x1p-46;  // of the largest pivot: rounding alone

struct Matrix {
  std::vector<double> held;
  std::size_t n_rows = 0, width = 0;
  Matrix(std::size_t n, std::size_t columns) : held(n * columns, 0.0), n_rows(n), width(columns) {}
  Grid<double> grid() { return {held.data(), n_rows, width}; }
};

/// Rows of V that belong to rows of a view, one after another.
std::vector<double> gathered(Grid<const double> memberships, Span<const uint32_t> present) {
  std::vector<double> found;
  found.reserve(present.size() * memberships.width());
  for (uint32_t i : present) found.insert(found.end(), memberships[i].begin(), memberships[i].end());
  return found;
}

/// Sums over rows, in order, of weights times values; fetch(r, from, n, to) lays some of a row's values out.
/// `upper`: only what lies on the diagonal or right of it is wanted.  OUT sums (weights x columns).
template <class Fetch>
void weighted(Span<const double> weights, std::size_t n_weights, std::size_t n_rows, bool upper,
              Grid<double> sums, Team& team, const Fetch& fetch) {
  constexpr std::size_t kStripes = 8, kRows = 256;  // of a task; of the rows that stay in cache meanwhile
  struct Scratch {
    std::vector<double> values, weights, sums;
  };
  std::vector<Scratch> scratch(team.size());
  const std::size_t width = sums.width(), per_task = kStripes * kStripe;
  team.each((width + per_task - 1) / per_task, [&](std::size_t task, std::size_t worker) {
    Scratch& mine = scratch[worker];
    const std::size_t first = task * per_task, last = std::min(first + per_task, width);
    const std::size_t n_stripes = (last - first + kStripe - 1) / kStripe;
    const std::size_t n_wanted = upper ? std::min(n_weights, last) : n_weights;
    const std::size_t n_padded = round_up(n_wanted, kWeights), per_stripe = n_padded * kStripe;
    mine.sums.assign(n_stripes * per_stripe, 0.0);
    mine.values.assign(n_stripes * kRows * kStripe, 0.0);
    mine.weights.assign(kRows * kWeights, 0.0);
    for (std::size_t begin = 0; begin < n_rows; begin += kRows) {
      const std::size_t n = std::min(kRows, n_rows - begin);
      for (std::size_t s = 0; s < n_stripes; ++s)
        for (std::size_t r = 0; r < n; ++r) {
          const std::size_t from = first + s * kStripe;
          fetch(begin + r, from, std::min(kStripe, last - from),
                mine.values.data() + (s * kRows + r) * kStripe);
        }
      for (std::size_t k = 0; k < n_wanted; k += kWeights) {
        for (std::size_t r = 0; r < n; ++r)
          for (std::size_t c = 0; c < kWeights; ++c)
            mine.weights[r * kWeights + c] =
                k + c < n_weights ? weights[(begin + r) * n_weights + k + c] : 0.0;
        for (std::size_t s = 0; s < n_stripes; ++s)
          kernels().weighted_sums(mine.weights.data(), mine.values.data() + s * kRows * kStripe, n,
                                  mine.sums.data() + s * per_stripe + k * kStripe);
      }
    }
    for (std::size_t s = 0; s < n_stripes; ++s)
      for (std::size_t k = 0; k < n_wanted; ++k) {
        const std::size_t from = first + s * kStripe;
        std::copy_n(mine.sums.data() + s * per_stripe + k * kStripe, std::min(kStripe, last - from),
                    sums[k].begin() + from);
      }
  });
}

template <class T>
void sum_view(const DenseRows<T>& view, Span<const double> inverse, Span<const uint32_t> present,
              Span<const double> weights, Grid<double> sums, Team& team) {
  weighted(weights, sums.n_rows(), present.size(), false, sums, team,
           [&](std::size_t r, std::size_t from, std::size_t n, double* to) {
             const T* row = view[present[r]] + from;
             for (std::size_t j = 0; j < n; ++j) to[j] = on_grid(double(row[j]) * inverse[present[r]]);
           });
}

template <class T, class Index>
void sum_view(const CsrRows<T, Index>& view, Span<const double> inverse, Span<const uint32_t> present,
              Span<const double> weights, Grid<double> sums, Team& team) {
  const std::size_t n_weights = sums.n_rows();
  Matrix columns(view.width, n_weights);
  const std::size_t n_tasks = std::min(team.size(), n_weights);
  team.each(n_tasks, [&](std::size_t task, std::size_t) {
    const std::size_t begin = n_weights * task / n_tasks, end = n_weights * (task + 1) / n_tasks;
    for (std::size_t r = 0; r < present.size(); ++r) {
      const SparseRow<T, Index> row = view[present[r]];
      const double* mine = weights.data() + r * n_weights;
      for (std::size_t p = 0; p < row.n; ++p) {
        const double value = on_grid(double(row.values[p]) * inverse[present[r]]);
        double* to = columns.held.data() + std::size_t(row.columns[p]) * n_weights;
        for (std::size_t k = begin; k < end; ++k) to[k] += mine[k] * value;
      }
    }
    for (std::size_t k = begin; k < end; ++k)
      for (std::size_t j = 0; j < view.width; ++j) sums[k][j] = columns.held[j * n_weights + k];
  });
}

/// V'V, its upper half.
Matrix gram(Span<const double> weights, std::size_t n_rows, std::size_t n_clusters, Team& team) {
  Matrix found(n_clusters, n_clusters);
  weighted(weights, n_clusters, n_rows, true, found.grid(), team,
           [&](std::size_t r, std::size_t from, std::size_t n, double* to) {
             std::copy_n(weights.data() + r * n_clusters + from, n, to);
           });
  return found;
}

std::vector<double> transposed(Span<const double> values, std::size_t n_rows, std::size_t width) {
  std::vector<double> found(values.size());
  for (std::size_t i = 0; i < n_rows; ++i)
    for (std::size_t j = 0; j < width; ++j) found[j * n_rows + i] = values[i * width + j];
  return found;
}

}  // namespace

namespace {

/// A = L D L', a stripe of A's columns at a time: each is solved for with what is known of L so far.
struct Factors {
  Matrix lower, upper;  // L without its diagonal, and L': rows that are read in order
  std::vector<double> pivots;

  explicit Factors(Grid<const double> a) : lower(a.n_rows(), a.n_rows()), upper(a.n_rows(), a.n_rows()) {
    const std::size_t n = a.n_rows();
    const auto subtract_rows = kernels().subtract_rows;
    double largest = 0.0;
    for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, a[k][k]);
    std::vector<double> stripe(n * kSolved, 0.0);
    for (std::size_t from = 0; from < n; from += kSolved) {
      const std::size_t to = std::min(from + kSolved, n);
      for (std::size_t i = 0; i < to; ++i) {
        double* row = stripe.data() + i * kSolved;
        std::copy_n(a[i].begin() + from, to - from, row);
        for (std::size_t k = 0; i >= from && k < i; ++k) {
          const double factor = pivots[k] > 0.0 ? stripe[k * kSolved + i - from] / pivots[k] : 0.0;
          lower.grid()[i][k] = upper.grid()[k][i] = factor;
        }
        subtract_rows(lower.grid()[i].data(), stripe.data(), i, row);
        if (i >= from) pivots.push_back(row[i - from] > kNothing * largest ? row[i - from] : 0.0);
      }
    }
  }
};

}  // namespace

void solve_symmetric(Grid<const double> a, Grid<double> b, Team& team) {
  const std::size_t n = a.n_rows(), width = b.width();
  Factors factors(a);
  std::vector<std::vector<double>> scratch(team.size());
  team.each((width + kSolved - 1) / kSolved, [&](std::size_t task, std::size_t worker) {
    const auto subtract_rows = kernels().subtract_rows;
    const std::size_t from = task * kSolved, n_here = std::min(kSolved, width - from);
    std::vector<double>& stripe = scratch[worker];
    stripe.assign(n * kSolved, 0.0);
    auto row = [&stripe](std::size_t i) { return stripe.data() + i * kSolved; };
    for (std::size_t i = 0; i < n; ++i) {
      std::copy_n(b[i].begin() + from, n_here, row(i));
      subtract_rows(factors.lower.grid()[i].data(), stripe.data(), i, row(i));
    }
    for (std::size_t k = n; k-- > 0;) {
      const double pivot = factors.pivots[k];
      for (std::size_t j = 0; j < kSolved; ++j) row(k)[j] = pivot > 0.0 ? row(k)[j] / pivot : 0.0;
      if (pivot > 0.0)
        subtract_rows(factors.upper.grid()[k].data() + k + 1, row(k + 1 < n ? k + 1 : k), n - k - 1, row(k));
      std::copy_n(row(k), n_here, b[k].begin() + from);
    }
  });
}

namespace {

/// U of one view.
Matrix solved(const View& of, Span<const double> inverse, Span<const uint32_t> present,
              Span<const double> weights, std::size_t n_clusters, double alpha, Team& team) {
  const std::size_t n_rows = present.size();
  const std::size_t width = width_of(of);
  const bool across =
      alpha == 0.0 && n_rows < n_clusters;  // the shortest of many solutions: U = V'(V V')^-1 X
  Matrix sums(across ? n_rows : n_clusters, width);
  Matrix left(0, 0);
  if (across) {
    const std::vector<double> turned = transposed(weights, n_rows, n_clusters);
    left = gram(turned, n_clusters, n_rows, team);
    std::vector<double> one_each(n_rows * n_rows, 0.0);
    for (std::size_t r = 0; r < n_rows; ++r) one_each[r * n_rows + r] = 1.0;
    std::visit(
        [&](const auto& view) {
          if constexpr (!is_none<std::decay_t<decltype(view)>>)
            sum_view(view, inverse, present, one_each, sums.grid(), team);
        },
        of);
  } else {
    left = gram(weights, n_rows, n_clusters, team);
    for (std::size_t k = 0; k < n_clusters; ++k) left.grid()[k][k] += alpha;
    std::visit(
        [&](const auto& view) {
          if constexpr (!is_none<std::decay_t<decltype(view)>>)
            sum_view(view, inverse, present, weights, sums.grid(), team);
        },
        of);
  }
  solve_symmetric(left.grid(), sums.grid(), team);
  if (!across) return sums;
  Matrix found(n_clusters, width);
  weighted(weights, n_clusters, n_rows, false, found.grid(), team,
           [&](std::size_t r, std::size_t from, std::size_t n, double* to) {
             std::copy_n(sums.grid()[r].begin() + from, n, to);
           });
  return found;
}

}  // namespace

Centres soft_centres(const Rows& rows, Grid<const double> memberships, double alpha, bool fill,
                     bool zero_filled, Team& team) {
  const std::size_t n_clusters = memberships.width();
  Centres made;
  made.n_clusters = n_clusters;
  std::size_t n_any = 0;
  for (std::size_t i = 0; i < rows.n_rows; ++i) n_any += rows.has_any(i);
  for (std::size_t v = 0; v < rows.n_views(); ++v) {
    const bool there = rows.seen(v);
    made.views.emplace_back(n_clusters, there ? width_of(rows.views[v]) : 0, is_sparse(rows.views[v]));
    if (!there) continue;
    ViewCentres& u = made.views.back();
    std::vector<uint32_t> present;
    for (std::size_t i = 0; i < rows.n_rows; ++i)
      if (rows.has(v, i)) present.push_back(uint32_t(i));
    const std::vector<double> weights = gathered(memberships, present);
    Matrix values = solved(rows.views[v], rows.inverse[v], present, weights, n_clusters, alpha, team);
    std::vector<double> mean;
    for (std::size_t k = 0; k < n_clusters; ++k) {
      double count = 0.0;
      for (std::size_t r = 0; r < present.size(); ++r) count += weights[r * n_clusters + k];
      if (count == 0.0) {
        if (fill && mean.empty()) mean = mean_row(rows, v, zero_filled ? n_any : 0);
        for (std::size_t j = 0; j < u.width; ++j) values.grid()[k][j] = fill ? mean[j] : 0.0;
      }
      u.replace(k, values.grid()[k]);
      u.known[k] = count > 0.0 || fill;
    }
    u.ready = true;
    u.lay_out();
  }
  return made;
}

}  // namespace viewpass
