#include "spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "exact.hpp"

namespace viewpass {
namespace {

constexpr size_t kGuard = 10;  // vectors beyond those wanted, and a tenth of these
constexpr size_t kTile = 8;    // a block has a multiple of so many vectors
constexpr size_t kPowers = 3;  // of the matrix, that the start is multiplied by
constexpr size_t kMostDegree = 12;
constexpr size_t kMostRounds = 20;
constexpr size_t kMostSteps = 60;     // of QL, for each eigenvalue
constexpr double kMostGrowth = 1e10;  // of a vector under the filter, compared with what it damps
constexpr double kLeastCut = 0x1p-20, kMostCut = 0.99;
constexpr double kTolerance = 1e-10;     // of residuals
constexpr double kNegligible = 0x1p-56;  // an entry beside the diagonal
constexpr double kLost = 0x1p-40;        // what is left of a vector that depends on those before it
constexpr uint64_t kSeed = 0;

/// The entries of the scaled links that are not zero, row by row, and those of the tie: tie s s'.
struct SparseMatrix {
  std::vector<size_t> starts, columns;
  std::vector<double> values, scale;
  double tie;

  SparseMatrix(const Links& links, int64_t tied) : tie(double(tied)) {
    const size_t n = links.size();
    starts.assign(links.starts.begin(), links.starts.end());
    columns.assign(links.columns.begin(), links.columns.end());
    scale.resize(n);
    for (size_t i = 0; i < n; ++i) {
      const auto row = links.values.part(starts[i], starts[i + 1] - starts[i]);
      const int64_t degree = std::accumulate(row.begin(), row.end(), tied * int64_t(n));
      scale[i] = 1.0 / std::sqrt(degree > 0 ? double(degree) : 1.0);
    }
    values.resize(columns.size());
    for (size_t i = 0; i < n; ++i)
      for (size_t at = starts[i]; at < starts[i + 1]; ++at)
        values[at] = double(links.values[at]) * (scale[i] * scale[columns[at]]);
  }
  size_t size() const { return starts.size() - 1; }
  Matrix whole() const {
    Matrix found(size(), size());
    for (size_t i = 0; i < size(); ++i)
      for (size_t at = starts[i]; at < starts[i + 1]; ++at) found[i][columns[at]] = values[at];
    for (size_t i = 0; tie > 0.0 && i < size(); ++i)
      for (size_t j = 0; j < size(); ++j) found[i][j] += tie * (scale[i] * scale[j]);
    return found;
  }
};

/// What a step of the filter does to a block x: (A x - shift x) factor - before.
struct Step {
  double shift = 0.0, factor = 1.0;
};

/// IN x, before (anchors x vectors); OUT out.
void take_step(const SparseMatrix& a, Step step, const Matrix& x, const Matrix& before, Matrix& out) {
  std::vector<double> sums(x.width()), tied(x.width(), 0.0);
  if (a.tie > 0.0) accumulate(tied, a.size(), [&](size_t i) { return times(a.scale[i], x[i]); });
  for (size_t i = 0; i < a.size(); ++i) {
    std::fill(sums.begin(), sums.end(), 0.0);
    const size_t first = a.starts[i];
    accumulate(sums, a.starts[i + 1] - first,
               [&](size_t t) { return times(a.values[first + t], x[a.columns[first + t]]); });
    if (a.tie > 0.0)
      for (size_t k = 0; k < sums.size(); ++k) sums[k] += (a.tie * a.scale[i]) * tied[k];
    const auto mine = x[i], last = before[i];
    const auto result = out[i];
    for (size_t k = 0; k < sums.size(); ++k)
      result[k] = (sums[k] - step.shift * mine[k]) * step.factor - last[k];
  }
}

/// IN from; OUT to.
void transpose(const Matrix& from, Matrix& to) {
  for (size_t first = 0; first < from.n_rows(); first += kTile)
    for (size_t j = 0; j < from.width(); ++j)
      for (size_t i = first; i < std::min(first + kTile, from.n_rows()); ++i) to[j][i] = from[i][j];
}

/// A = Q T Q', where T is tridiagonal.
struct Tridiagonal {
  std::vector<double> diagonal, beside;  // beside_i is between i and i + 1; the last is 0
  Matrix columns;                        // of Q, a row each
};

/// Householder's reflections, one for each column.  IN a, symmetric, which is used up.
Tridiagonal tridiagonal(Matrix& a) {
  const size_t n = a.n_rows();
  Tridiagonal found{std::vector<double>(n), std::vector<double>(n), Matrix(n, n)};
  Matrix mirrors(n, n);  // row k: a vector u that is mirrored in entries k + 1 to n
  std::vector<double> halves(n), moved(n);
  for (size_t k = 0; k + 1 < n; ++k) {
    const size_t first = k + 1, size = n - first;
    const auto u = mirrors[k].part(first, size), w = Span<double>(moved).part(0, size);
    std::copy_n(a[k].part(first, size).begin(), size, u.begin());
    const double length = std::sqrt(ordered_dot(u, u));
    found.beside[k] = u[0] > 0.0 ? -length : length;
    u[0] -= found.beside[k];
    const double half = halves[k] = ordered_dot(u, u) / 2.0;
    if (half == 0.0) continue;
    for (size_t i = 0; i < size; ++i) w[i] = ordered_dot(a[first + i].part(first, size), u) / half;
    const double share = ordered_dot(u, w) / (2.0 * half);
    for (size_t i = 0; i < size; ++i) w[i] -= share * u[i];
    for (size_t i = 0; i < size; ++i) {
      const auto row = a[first + i].part(first, size);
      const double ui = u[i], wi = w[i];
      for (size_t j = 0; j < size; ++j) row[j] -= ui * w[j] + wi * u[j];
    }
  }
  for (size_t k = n; k-- > 0;) {
    found.diagonal[k] = a[k][k];
    found.columns[k][k] = 1.0;
    if (halves[k] == 0.0) continue;
    const auto u = mirrors[k].part(k + 1, n - k - 1);
    for (size_t l = k + 1; l < n; ++l) {
      const auto row = found.columns[l].part(k + 1, n - k - 1);
      const double share = ordered_dot(row, u) / halves[k];
      for (size_t j = 0; j < row.size(); ++j) row[j] -= share * u[j];
    }
  }
  return found;
}

/// One implicit QL step with a shift on the entries from `first` to `last`.  INOUT t.
void ql_step(Tridiagonal& t, size_t first, size_t last) {
  auto& d = t.diagonal;
  auto& e = t.beside;
  const double slope = (d[first + 1] - d[first]) / (2.0 * e[first]);
  const double root = std::sqrt(slope * slope + 1.0);
  double g = d[last] - d[first] + e[first] / (slope + (slope < 0.0 ? -root : root));
  double sine = 1.0, cosine = 1.0, p = 0.0;
  for (size_t i = last; i-- > first;) {
    const double f = sine * e[i], b = cosine * e[i], r = std::sqrt(f * f + g * g);
    e[i + 1] = r;
    if (r == 0.0) {
      d[i + 1] -= p;
      e[last] = 0.0;
      return;
    }
    sine = f / r;
    cosine = g / r;
    g = d[i + 1] - p;
    const double q = (d[i] - g) * sine + 2.0 * cosine * b;
    p = sine * q;
    d[i + 1] = g + p;
    g = cosine * q - b;
    const auto low = t.columns[i], high = t.columns[i + 1];
    for (size_t k = 0; k < low.size(); ++k) {
      const double l = low[k], h = high[k];
      high[k] = sine * l + cosine * h;
      low[k] = cosine * l - sine * h;
    }
  }
  d[first] -= p;
  e[first] = g;
  e[last] = 0.0;
}

}  // namespace

Eigenpairs all_eigenpairs(Matrix a) {
  const size_t n = a.n_rows();
  Tridiagonal t = tridiagonal(a);
  for (size_t first = 0; first < n; ++first)
    for (size_t step = 0; step < kMostSteps; ++step) {
      size_t last = first;
      while (std::fabs(t.beside[last]) > kNegligible) ++last;
      if (last == first) break;
      ql_step(t, first, last);
    }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return t.diagonal[i] > t.diagonal[j]; });
  Eigenpairs found{std::vector<double>(n), Matrix(n, n)};
  for (size_t k = 0; k < n; ++k) {
    found.values[k] = t.diagonal[order[k]];
    std::copy_n(t.columns[order[k]].begin(), n, found.vectors[k].begin());
  }
  return found;
}

namespace {

void draw(Draws& draws, Span<double> vector) {
  for (double& value : vector) value = 2.0 * draws.next() - 1.0;
}

/// Make the rows orthonormal, each against those before it, again while more than half of it goes
/// (Gram-Schmidt). A row that depends on those before it is replaced by a random one.  INOUT q.
void orthonormalise(Matrix& q, Draws& draws) {
  std::vector<double> shares(q.n_rows());
  for (size_t k = 0; k < q.n_rows(); ++k) {
    const auto x = q[k];
    double first = std::sqrt(ordered_dot(x, x)), before = first, after = 0.0;
    for (;;) {
      for (size_t j = 0; j < k; ++j) shares[j] = ordered_dot(q[j], x);
      accumulate(x, k, [&](size_t j) { return times(-shares[j], q[j]); });
      after = std::sqrt(ordered_dot(x, x));
      if (after > 0.5 * before) break;
      if (after <= kLost * first) {
        draw(draws, x);
        first = after = std::sqrt(ordered_dot(x, x));
      }
      before = after;
    }
    for (double& value : x) value /= after;
  }
}

/// out_k = sum over j of weights_kj rows_j, in the order of j.  IN weights, rows; OUT out.
void combine(const Matrix& weights, const Matrix& rows, Matrix& out) {
  constexpr size_t kPart = 256;  // columns, which stay in the cache
  out.fill(0.0);
  for (size_t first = 0; first < rows.width(); first += kPart) {
    const size_t size = std::min(kPart, rows.width() - first);
    for (size_t k = 0; k < weights.n_rows(); ++k) {
      accumulate(out[k].part(first, size), rows.n_rows(),
                 [&](size_t j) { return times(weights[k][j], rows[j].part(first, size)); });
    }
  }
}

/// Ritz pairs of a block, and how the filter damps the rest of the spectrum.
class Iteration {
 public:
  Iteration(const SparseMatrix& a, size_t n_leading, size_t n_block)
      : a_(a),
        n_leading_(n_leading),
        x_(n_block, a.size()),
        ax_(n_block, a.size()),
        held_(n_block, a.size()),
        here_(a.size(), n_block),
        before_(a.size(), n_block),
        next_(a.size(), n_block) {}

  Eigenpairs run() {
    Draws draws(kSeed);
    for (size_t k = 0; k < x_.n_rows(); ++k) draw(draws, x_[k]);
    transpose(x_, here_);
    for (size_t power = 0; power < kPowers; ++power) {
      take_step(a_, Step{}, here_, before_, next_);
      here_.swap(next_);
    }
    for (size_t round = 0;; ++round) {
      transpose(here_, x_);
      orthonormalise(x_, draws);
      rayleigh_ritz();
      if (round == kMostRounds || converged()) break;
      filter();
    }
    return {values_, x_};
  }

 private:
  /// The eigenpairs of Q' A Q, where Q is the block.  INOUT x_; OUT ax_, values_.
  void rayleigh_ritz() {
    const size_t n = x_.n_rows();
    transpose(x_, here_);
    before_.fill(0.0);
    take_step(a_, Step{}, here_, before_, next_);
    transpose(next_, ax_);
    Matrix small(n, n);
    for (size_t q = 0; q < n; ++q)
      for (size_t p = 0; p <= q; ++p) small[p][q] = small[q][p] = ordered_dot(x_[p], ax_[q]);
    const Eigenpairs found = all_eigenpairs(small);
    values_ = found.values;
    combine(found.vectors, x_, held_);
    x_.swap(held_);
    combine(found.vectors, ax_, held_);
    ax_.swap(held_);
  }

  bool converged() {
    for (size_t k = 0; k < n_leading_; ++k) {
      const auto residual = held_[0];
      for (size_t i = 0; i < residual.size(); ++i) residual[i] = ax_[k][i] - values_[k] * x_[k][i];
      if (ordered_dot(residual, residual) > kTolerance * kTolerance) return false;
    }
    return true;
  }

  /// The Chebyshev polynomial that is at most 1 between low_ and cut, of the block.  IN x_; OUT here_.
  void filter() {
    const double lowest = values_.back();
    low_ = std::min(low_, 1.5 * lowest);
    const double cut = std::min(std::max(lowest, kLeastCut), kMostCut);
    const double middle = (low_ + cut) / 2.0, reach = (cut - low_) / 2.0;
    const double at_one = (1.0 - middle) / reach;
    double grown = at_one, last = 1.0;
    transpose(x_, before_);
    here_.fill(0.0);
    take_step(a_, {middle, 1.0 / reach}, before_, here_, next_);
    here_.swap(next_);
    for (size_t degree = 1; degree < kMostDegree; ++degree) {
      const double more = 2.0 * at_one * grown - last;
      if (more > kMostGrowth) break;
      last = grown;
      grown = more;
      take_step(a_, {middle, 2.0 / reach}, here_, before_, next_);
      before_.swap(here_);
      here_.swap(next_);
    }
  }

  const SparseMatrix& a_;
  size_t n_leading_;
  double low_ = 0.0;
  std::vector<double> values_;
  Matrix x_, ax_, held_;         // vectors x anchors
  Matrix here_, before_, next_;  // anchors x vectors
};

}  // namespace

Spectrum leading_eigenpairs(const Links& links, size_t n_leading, int64_t tie) {
  const SparseMatrix a(links, tie);
  const size_t wanted = n_leading + kGuard + n_leading / 10;
  const size_t n_block = round_up(wanted, kTile);
  const bool whole = 2 * n_block >= a.size();
  const Eigenpairs found = whole ? all_eigenpairs(a.whole()) : Iteration(a, n_leading, n_block).run();
  Spectrum out;
  for (size_t k = 0; k < n_leading; ++k) {
    const auto vector = found.vectors[k];
    double largest = 0.0;
    for (const double value : vector)
      if (std::fabs(value) > std::fabs(largest)) largest = value;
    out.values.push_back(found.values[k]);
    for (const double value : vector) out.vectors.push_back(largest < 0.0 ? -value : value);
  }
  return out;
}

}  // namespace viewpass
