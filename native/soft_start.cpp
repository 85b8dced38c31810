#include "soft_start.hpp"

#include <algorithm>
#include <cmath>

#include "exact.hpp"

namespace viewpass {

namespace {

constexpr std::size_t kSolved = 64;       // columns of a task
constexpr double kNothing = 0x1p-46;      // of the largest pivot: rounding alone

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

/// Sums over rows of weights times values, a stripe of columns per task; fetch(r, from, n, to) lays a row's values out.
/// OUT sums (weights x columns).
template <class Fetch>
void weighted(Span<const double> weights, std::size_t n_weights, std::size_t n_rows, Grid<double> sums, Team& team,
              const Fetch& fetch) {
  struct Scratch {
    std::vector<double> stripe, sums;
  };
  std::vector<Scratch> scratch(team.size());
  const std::size_t width = sums.width();
  team.each((width + kStripe - 1) / kStripe, [&](std::size_t task, std::size_t worker) {
    Scratch& mine = scratch[worker];
    const std::size_t from = task * kStripe, n = std::min(kStripe, width - from);
    mine.stripe.assign(n_rows * kStripe, 0.0);
    mine.sums.resize(n_weights * kStripe);
    for (std::size_t r = 0; r < n_rows; ++r) fetch(r, from, n, mine.stripe.data() + r * kStripe);
    kernels().weighted_sums(weights.data(), n_weights, mine.stripe.data(), n_rows, mine.sums.data());
    for (std::size_t k = 0; k < n_weights; ++k)
      std::copy_n(mine.sums.data() + k * kStripe, n, sums[k].begin() + from);
  });
}

template <class T>
void sum_view(const DenseRows<T>& view, Span<const double> inverse, Span<const uint32_t> present,
              Span<const double> weights, Grid<double> sums, Team& team) {
  weighted(weights, sums.n_rows(), present.size(), sums, team,
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

/// V'V, or V V' (`across`), of the rows of V that are there.
Matrix gram(Span<const double> weights, std::size_t n_rows, std::size_t n_clusters, Team& team) {
  Matrix found(n_clusters, n_clusters);
  weighted(weights, n_clusters, n_rows, found.grid(), team,
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

void solve_symmetric(Grid<double> a, Grid<double> b, Team& team) {
  const std::size_t n = a.n_rows();
  double largest = 0.0;
  for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, a[k][k]);
  std::vector<double> factors(n);
  for (std::size_t k = 0; k < n; ++k) {  // rows below the pivot: a_i -= (a_ki / a_kk) a_k
    const bool nothing = !(a[k][k] > kNothing * largest);
    const std::size_t n_below = n - k - 1, n_tasks = n_below * n_below > 4096 ? std::min(n_below, 2 * team.size()) : 1;
    for (std::size_t i = k + 1; i < n; ++i) factors[i] = nothing ? 0.0 : a[k][i] / a[k][k];
    auto eliminate = [&](std::size_t task, std::size_t) {
      for (std::size_t i = k + 1 + task; i < n; i += n_tasks) {
        const Span<double> row = a[i], pivot = a[k];
        for (std::size_t j = i; j < n; ++j) row[j] -= factors[i] * pivot[j];
      }
    };
    n_tasks > 1 ? team.each(n_tasks, eliminate) : eliminate(0, 0);
    if (nothing) a[k][k] = 0.0;
  }
  const std::size_t width = b.width();
  team.each((width + kSolved - 1) / kSolved, [&](std::size_t task, std::size_t) {
    const std::size_t from = task * kSolved, to = std::min(from + kSolved, width);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = k + 1; i < n && a[k][k] > 0.0; ++i) {
        const double factor = a[k][i] / a[k][k];
        for (std::size_t j = from; j < to; ++j) b[i][j] -= factor * b[k][j];
      }
    for (std::size_t k = n; k-- > 0;) {
      const double pivot = a[k][k];
      for (std::size_t j = from; j < to; ++j) b[k][j] = pivot > 0.0 ? b[k][j] / pivot : 0.0;
      for (std::size_t i = k + 1; i < n && pivot > 0.0; ++i) {
        const double factor = a[k][i] / pivot;
        for (std::size_t j = from; j < to; ++j) b[k][j] -= factor * b[i][j];
      }
    }
  });
}

namespace {

/// U of one view.
Matrix solved(const View& of, Span<const double> inverse, Span<const uint32_t> present, Span<const double> weights,
              std::size_t n_clusters, double alpha, Team& team) {
  const std::size_t n_rows = present.size();
  const std::size_t width = width_of(of);
  const bool across = alpha == 0.0 && n_rows < n_clusters;  // the shortest of many solutions: U = V'(V V')^-1 X
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
  weighted(weights, n_clusters, n_rows, found.grid(), team,
           [&](std::size_t r, std::size_t from, std::size_t n, double* to) {
             std::copy_n(sums.grid()[r].begin() + from, n, to);
           });
  return found;
}

}  // namespace

Centres soft_centres(const Rows& rows, Grid<const double> memberships, double alpha, bool fill, bool zero_filled,
                     Team& team) {
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
