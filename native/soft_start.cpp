#include "soft_start.hpp"

#include <cmath>

#include "exact.hpp"

namespace viewpass {
namespace {

constexpr double kNothing = 0x1p-46;  // of the largest pivot: rounding alone
constexpr size_t kRows = 128;         // rows of a stripe that stay in cache

/// V: the memberships of the rows that have a view, transposed to clusters x rows, and negated: kernels
/// subtract, and -(-a) b has the bits of a b.
Matrix negated_memberships(Grid<const double> memberships, Span<const uint32_t> present) {
  Matrix found(memberships.width(), present.size());
  for (size_t r = 0; r < present.size(); ++r)
    for (size_t k = 0; k < memberships.width(); ++k) found[k][r] = -memberships[present[r]][k];
  return found;
}

/// Memberships times how often their rows count.
Matrix times_copies(Matrix memberships, const Rows& rows, Span<const uint32_t> present) {
  for (size_t k = 0; k < memberships.n_rows(); ++k)
    for (size_t r = 0; r < present.size(); ++r) memberships[k][r] *= double(rows.n_copies(present[r]));
  return memberships;
}

Matrix transposed(const Matrix& a) {
  Matrix found(a.width(), a.n_rows());
  for (size_t i = 0; i < a.n_rows(); ++i)
    for (size_t j = 0; j < a.width(); ++j) found[j][i] = a[i][j];
  return found;
}

/// Sums over rows, in order, of weights times values; fetch(r, from, n, to) writes n of a row's values.
/// `upper`: only the diagonal and what is right of it is wanted.  IN weights, negated; OUT sums.
template <class Fetch>
void add_weighted(const Matrix& weights, bool upper, Matrix& sums, Team& team, const Fetch& fetch) {
  team.each_range(sums.width(), kStripe, [&](size_t first, size_t last, size_t) {
    const size_t n_wanted = upper ? std::min(weights.n_rows(), last) : weights.n_rows();
    std::vector<double> totals(n_wanted * kStripe, 0.0), values(kRows * kStripe, 0.0);
    for (size_t begin = 0; begin < weights.width(); begin += kRows) {
      const size_t n = std::min(kRows, weights.width() - begin);
      for (size_t r = 0; r < n; ++r) fetch(begin + r, first, last - first, values.data() + r * kStripe);
      for (size_t k = 0; k < n_wanted; ++k)
        kernels().subtract_rows(weights[k].data() + begin, values.data(), n, totals.data() + k * kStripe);
    }
    for (size_t k = 0; k < n_wanted; ++k)
      std::copy_n(totals.data() + k * kStripe, last - first, sums[k].begin() + first);
  });
}

/// V'X of one view.  IN weights: -V'; OUT sums.
template <class T>
void sum_rows(const DenseRows<T>& view, Span<const double> inverse, Span<const uint32_t> present,
              const Matrix& weights, Matrix& sums, Team& team) {
  add_weighted(weights, false, sums, team, [&](size_t r, size_t from, size_t n, double* to) {
    const T* row = view[present[r]].values + from;
    for (size_t j = 0; j < n; ++j) to[j] = on_grid(double(row[j]) * inverse[present[r]]);
  });
}

template <class T, class Index>
void sum_rows(const CsrRows<T, Index>& view, Span<const double> inverse, Span<const uint32_t> present,
              const Matrix& weights, Matrix& sums, Team& team) {
  const Matrix by_row = transposed(weights);
  const size_t n_weights = weights.n_rows(), n_tasks = std::min(team.size(), n_weights);
  Matrix columns(view.width, n_weights);
  team.each(n_tasks, [&](size_t task, size_t) {
    const size_t begin = n_weights * task / n_tasks, end = n_weights * (task + 1) / n_tasks;
    for (size_t r = 0; r < present.size(); ++r) {
      const SparseRow<T, Index> row = view[present[r]];
      const double* mine = by_row[r].data();
      for (size_t p = 0; p < row.n; ++p) {
        const double value = on_grid(double(row.values[p]) * inverse[present[r]]);
        double* to = columns[row.column(p)].data();
        for (size_t k = begin; k < end; ++k) to[k] -= mine[k] * value;
      }
    }
    for (size_t k = begin; k < end; ++k)
      for (size_t j = 0; j < view.width; ++j) sums[k][j] = columns[j][k];
  });
}

/// The upper half of V W' where `rows` is V and `weights` is W, both negated.
Matrix gram(const Matrix& rows, const Matrix& weights, Team& team) {
  const Matrix turned = transposed(rows);
  Matrix found(rows.n_rows(), rows.n_rows());
  add_weighted(weights, true, found, team, [&](size_t r, size_t from, size_t n, double* to) {
    for (size_t j = 0; j < n; ++j) to[j] = -turned[r][from + j];
  });
  return found;
}

/// A = L D L', a stripe of A's columns at a time: each is solved for with what is known of L so far.
struct Factors {
  Matrix lower, upper;  // L without its diagonal, and L': rows that are read in order
  std::vector<double> pivots;

  explicit Factors(const Matrix& a) : lower(a.n_rows(), a.n_rows()), upper(a.n_rows(), a.n_rows()) {
    const size_t n = a.n_rows();
    double largest = 0.0;
    for (size_t k = 0; k < n; ++k) largest = std::max(largest, a[k][k]);
    std::vector<double> stripe(n * kStripe, 0.0);
    for (size_t from = 0; from < n; from += kStripe) {
      const size_t to = std::min(from + kStripe, n);
      for (size_t i = 0; i < to; ++i) {
        double* row = stripe.data() + i * kStripe;
        std::copy_n(a[i].begin() + from, to - from, row);
        for (size_t k = 0; i >= from && k < i; ++k)
          lower[i][k] = upper[k][i] = pivots[k] > 0.0 ? stripe[k * kStripe + i - from] / pivots[k] : 0.0;
        kernels().subtract_rows(lower[i].data(), stripe.data(), i, row);
        if (i >= from) pivots.push_back(row[i - from] > kNothing * largest ? row[i - from] : 0.0);
      }
    }
  }
};

/// Solves A X = B for a symmetric positive semidefinite A by A = L D L', in fixed order; an unknown whose
/// pivot is nothing but rounding is 0.  IN a, its upper half; INOUT b: the solution.
void solve_symmetric(const Matrix& a, Matrix& b, Team& team) {
  const size_t n = a.n_rows();
  const Factors factors(a);
  team.each_range(b.width(), kStripe, [&](size_t first, size_t last, size_t) {
    std::vector<double> stripe(n * kStripe, 0.0);
    auto row = [&stripe](size_t i) { return stripe.data() + i * kStripe; };
    for (size_t i = 0; i < n; ++i) {
      std::copy_n(b[i].begin() + first, last - first, row(i));
      kernels().subtract_rows(factors.lower[i].data(), stripe.data(), i, row(i));
    }
    for (size_t k = n; k-- > 0;) {
      const double pivot = factors.pivots[k];
      for (size_t j = 0; j < kStripe; ++j) row(k)[j] = pivot > 0.0 ? row(k)[j] / pivot : 0.0;
      if (pivot > 0.0)
        kernels().subtract_rows(factors.upper[k].data() + k + 1, row(k + 1 < n ? k + 1 : k), n - k - 1,
                                row(k));
      std::copy_n(row(k), last - first, b[k].begin() + first);
    }
  });
}

/// U of one view: (V'CV + alpha I)^-1 V'CX, where C is how often rows count; the shortest of many solutions,
/// V'(V V')^-1 X, where alpha is 0 and there are fewer rows than clusters.  IN memberships: -V'.
Matrix solved(const Rows& rows, size_t v, Span<const uint32_t> present, const Matrix& memberships,
              double alpha, Team& team) {
  const View& view = rows.views[v];
  const size_t n_rows = present.size(), n_clusters = memberships.n_rows(), width = width_of(view);
  const bool across = alpha == 0.0 && n_rows < n_clusters;
  Matrix minus_identity(across ? n_rows : 0, n_rows);
  for (size_t r = 0; r < minus_identity.n_rows(); ++r) minus_identity[r][r] = -1.0;
  const Matrix other = across                ? transposed(memberships)
                       : rows.copies.empty() ? Matrix(0, 0)
                                             : times_copies(memberships, rows, present);
  const Matrix& weights = other.n_rows() ? other : memberships;
  Matrix left = gram(across ? weights : memberships, weights, team), sums(left.n_rows(), width);
  for (size_t k = 0; k < left.n_rows(); ++k) left[k][k] += alpha;
  with_rows(view, [&](const auto& of_view) {
    sum_rows(of_view, rows.inverse[v], present, across ? minus_identity : weights, sums, team);
  });
  solve_symmetric(left, sums, team);
  if (!across) return sums;
  Matrix found(n_clusters, width);
  add_weighted(memberships, false, found, team, [&](size_t r, size_t from, size_t n, double* to) {
    std::copy_n(sums[r].begin() + from, n, to);
  });
  return found;
}

}  // namespace

Centres soft_centres(const Rows& rows, Grid<const double> memberships, Span<const double> alpha, bool fill,
                     bool zero_filled, Team& team) {
  const size_t n_clusters = memberships.width();
  Centres made;
  made.n_clusters = n_clusters;
  for (size_t v = 0; v < rows.n_views(); ++v) {
    const bool there = rows.counts(v);
    made.views.emplace_back(n_clusters, there ? width_of(rows.views[v]) : 0, is_sparse(rows.views[v]));
    if (!there) continue;
    ViewCentres& u = made.views.back();
    std::vector<uint32_t> present;
    for (size_t i = 0; i < rows.n_rows; ++i)
      if (rows.has(v, i) && rows.n_copies(i)) present.push_back(uint32_t(i));
    const Matrix weights = negated_memberships(memberships, present);
    Matrix values = solved(rows, v, present, weights, alpha[v], team);
    std::vector<double> mean;
    for (size_t k = 0; k < n_clusters; ++k) {
      double count = 0.0;
      for (double weight : weights[k]) count -= weight;
      const bool empty = count == 0.0;
      if (empty && fill && mean.empty()) mean = mean_row(rows, v, zero_filled ? rows.n_counted() : 0);
      for (size_t j = 0; empty && j < u.width; ++j) values[k][j] = fill ? mean[j] : 0.0;
      u.replace(k, values[k]);
      u.known[k] = count > 0.0 || fill;
    }
    u.ready = true;
    u.lay_out();
  }
  return made;
}

}  // namespace viewpass
