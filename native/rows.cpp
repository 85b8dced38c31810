#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "exact.hpp"

namespace viewpass {
namespace {

// Sums of squares outside these bounds have lost digits: such a row is rescaled first.
constexpr double kSmallestSquare = 0x1p-900, kLargestSquare = 0x1p900;
constexpr size_t kPrefetched = 1024;  // bytes

struct Measured {
  double inverse;  // 1 / |x|, 0 where absent
  Kind kind;
};

/// What a row is, given its |x|^2 and its values. `kept`: a row that keeps its length, which may be 0.
template <class T>
Measured judged(double square, const T* values, size_t n, size_t width, bool kept) {
  if (kSmallestSquare <= square && square <= kLargestSquare)
    return {kept ? 1.0 : 1.0 / std::sqrt(square), Kind::present};
  size_t n_nan = 0, n_infinite = 0, n_zero = 0;
  for (size_t p = 0; p < n; ++p) {
    n_nan += std::isnan(values[p]);
    n_infinite += std::isinf(values[p]);
    n_zero += values[p] == T(0);
  }
  if (n_nan == width || (n_zero == n && !kept)) return {0.0, Kind::absent};
  if (n_nan) return {0.0, Kind::partly_nan};
  if (kept && !n_infinite) return {1.0, Kind::present};
  return {0.0, n_infinite ? Kind::infinite : Kind::extreme};
}

template <class T>
Measured measure_row(DenseRow<T> row, size_t width, bool kept) {
  const auto is_nan = [](T x) { return x != x; };
  if (width && is_nan(row.values[0]) && std::all_of(row.values, row.values + width, is_nan))
    return {0.0, Kind::absent};
  return judged(kernels().of(row.values).square(row.values, width), row.values, width, width, kept);
}

template <class T, class Index>
Measured measure_row(SparseRow<T, Index> row, size_t width, bool kept) {
  double partial[kPartialSums] = {};
  bool unsorted = false;
  Index before = -1;
  for (size_t p = 0; p < row.n; ++p) {
    const Index column = row.columns[p];
    if (column < 0 || size_t(column) >= width) return {0.0, Kind::outside};
    unsorted |= column <= before;
    before = column;
    const double value = double(row.values[p]);
    partial[size_t(column) % kPartialSums] += value * value;
  }
  if (unsorted) return {0.0, Kind::unsorted};
  return judged(fold(partial), row.values, row.n, width, kept);
}

}  // namespace

bool Rows::seen(size_t v) const {
  return std::any_of(inverse[v].begin(), inverse[v].end(), [](double scale) { return scale > 0.0; });
}

bool Rows::counts(size_t v) const {
  for (size_t i = 0; i < n_rows; ++i)
    if (has(v, i) && n_copies(i)) return true;
  return false;
}

int64_t Rows::n_counted() const {
  int64_t n = 0;
  for (size_t i = 0; i < n_rows; ++i) n += has_any(i) ? n_copies(i) : 0;
  return n;
}

double Rows::square(size_t v, size_t i) const {
  if (!keeps_lengths(v)) return weights[v];
  double square = 0.0;
  with_rows(views[v], [&](const auto& rows) {
    const auto row = rows[i];
    if constexpr (std::decay_t<decltype(rows)>::sparse) {
      double partial[kPartialSums] = {};
      for (size_t p = 0; p < row.n; ++p)
        partial[row.column(p) % kPartialSums] += double(row.values[p]) * double(row.values[p]);
      square = fold(partial);
    } else {
      square = kernels().of(row.values).square(row.values, row.n);
    }
  });
  return square * (scale(v, i) * scale(v, i));
}

std::vector<double> squares_of(const Rows& rows, size_t v) {
  std::vector<double> squares(rows.n_rows, 0.0);
  for (size_t i = 0; i < rows.n_rows; ++i)
    if (rows.has(v, i)) squares[i] = rows.square(v, i);
  return squares;
}

std::vector<size_t> Rows::widths() const {
  std::vector<size_t> found;
  found.reserve(views.size());
  for (const View& view : views) found.push_back(width_of(view));
  return found;
}

Rows Rows::part(size_t begin, size_t end) const {
  Rows some = *this;
  some.n_rows = end - begin;
  if (observed.data()) some.observed = {observed.data() + begin * n_views(), some.n_rows, n_views()};
  if (!copies.empty()) some.copies = copies.part(begin, some.n_rows);
  for (size_t v = 0; v < n_views(); ++v) {
    some.inverse[v] = inverse[v].part(begin, some.n_rows);
    some.kinds[v] = kinds[v].part(begin, some.n_rows);
    some.views[v] =
        std::visit([&](const auto& rows) { return View(rows.part(begin, some.n_rows)); }, views[v]);
  }
  return some;
}

Kind Rows::measure(size_t begin, size_t end) {
  Kind worst = Kind::absent;
  for (size_t v = 0; v < n_views(); ++v) {
    std::fill(inverse[v].begin() + begin, inverse[v].begin() + end, 0.0);
    std::fill(kinds[v].begin() + begin, kinds[v].begin() + end, Kind::absent);
    const double length = std::sqrt(weights[v]);
    with_rows(views[v], [&](const auto& rows) {
      for (size_t i = begin; i < end; ++i)
        if (!observed.data() || observed[i][v]) {
          const Measured found = measure_row(rows[i], rows.width, keeps_lengths(v));
          inverse[v][i] = found.inverse * length;
          kinds[v][i] = found.kind;
          worst = std::max(worst, found.kind);
        }
    });
  }
  return worst;
}

void Rows::prefetch([[maybe_unused]] size_t i) const {
#if defined(__GNUC__)
  for (size_t v = 0; v < n_views(); ++v)
    if (has(v, i))
      with_rows(views[v], [i](const auto& rows) {
        const auto* row = reinterpret_cast<const char*>(rows[i].values);
        const size_t n = rows.sparse ? 0 : std::min(rows.row_bytes(), kPrefetched);
        for (size_t at = 0; at < n; at += 64) __builtin_prefetch(row + at);
      });
#endif
}

}  // namespace viewpass
