#include "rows.hpp"

#include <algorithm>
#include <cmath>

#include "exact.hpp"

namespace viewpass {

namespace {

// Sums of squares outside these bounds have lost digits: such a row is rescaled first.
constexpr double kSmallestSquare = 0x1p-900, kLargestSquare = 0x1p900;
constexpr std::size_t kPrefetched = 1024;  // bytes

struct Measured {
  double inverse;  // 1 / |x|, 0 where absent
  Kind kind;
};

struct Oddities {
  std::size_t n_nan = 0, n_infinite = 0, n_zero = 0;
};

template <class T>
Oddities oddities(const T* values, std::size_t n) {
  Oddities found;
  for (std::size_t j = 0; j < n; ++j) {
    found.n_nan += std::isnan(values[j]);
    found.n_infinite += std::isinf(values[j]);
    found.n_zero += values[j] == T(0);
  }
  return found;
}

Kind kind_of(const Oddities& found, std::size_t n_stored, std::size_t width) {
  if (found.n_nan == width || found.n_zero == n_stored) return Kind::absent;
  if (found.n_nan) return Kind::partly_nan;
  return found.n_infinite ? Kind::infinite : Kind::extreme;
}

bool in_range(double square) { return kSmallestSquare <= square && square <= kLargestSquare; }

template <class T>
Measured measure_row(const DenseRows<T>& rows, std::size_t i, const Kernels& use) {
  const T* row = rows[i];
  if (rows.width && std::isnan(row[0]) && dense_kernels(use, row).all_nan(row, rows.width))
    return {0.0, Kind::absent};
  const double square = dense_kernels(use, row).square(row, rows.width);
  if (in_range(square)) return {1.0 / std::sqrt(square), Kind::present};
  return {0.0, kind_of(oddities(row, rows.width), rows.width, rows.width)};
}

template <class T, class Index>
Measured measure_row(const CsrRows<T, Index>& rows, std::size_t i, const Kernels&) {
  const SparseRow<T, Index> row = rows[i];
  if (row.n == 0) return {0.0, Kind::absent};
  double lanes[kLanes] = {};
  bool unsorted = false;
  Index before = -1;
  for (std::size_t p = 0; p < row.n; ++p) {
    const Index column = row.columns[p];
    if (column < 0 || std::size_t(column) >= rows.width) return {0.0, Kind::outside};
    unsorted |= column <= before;
    before = column;
    const double value = double(row.values[p]);
    lanes[std::size_t(column) % kLanes] += value * value;
  }
  if (unsorted) return {0.0, Kind::unsorted};
  const double square = fold(lanes);
  if (in_range(square)) return {1.0 / std::sqrt(square), Kind::present};
  return {0.0, kind_of(oddities(row.values, row.n), row.n, rows.width)};
}

}  // namespace

bool is_sparse(const View& view) {
  return std::visit(
      [](const auto& rows) {
        return !is_none<std::decay_t<decltype(rows)>> && !is_dense<std::decay_t<decltype(rows)>>;
      },
      view);
}

std::size_t width_of(const View& view) {
  return std::visit([](const auto& rows) { return rows.width; }, view);
}

std::size_t row_bytes(const View& view) {
  return std::visit(
      [](const auto& rows) -> std::size_t {
        using Of = std::decay_t<decltype(rows)>;
        if constexpr (is_none<Of>)
          return 0;
        else if constexpr (is_dense<Of>)
          return rows.width * sizeof(typename Of::Value);
        else
          return rows.n_rows ? std::size_t(rows.starts[rows.n_rows] - rows.starts[0]) / rows.n_rows * 12 + 1
                             : 1;
      },
      view);
}

bool Rows::seen(std::size_t v) const {
  return std::any_of(inverse[v].begin(), inverse[v].end(), [](double scale) { return scale > 0.0; });
}

std::vector<std::size_t> Rows::widths() const {
  std::vector<std::size_t> found;
  found.reserve(views.size());
  for (const View& view : views) found.push_back(width_of(view));
  return found;
}

Rows Rows::part(std::size_t begin, std::size_t end) const {
  Rows some = *this;
  some.n_rows = end - begin;
  if (observed.data()) some.observed = {observed.data() + begin * n_views(), some.n_rows, n_views()};
  for (std::size_t v = 0; v < n_views(); ++v) {
    some.inverse[v] = inverse[v].part(begin, some.n_rows);
    some.kinds[v] = kinds[v].part(begin, some.n_rows);
    std::visit(
        [&](auto& rows) {
          using Of = std::decay_t<decltype(rows)>;
          if constexpr (is_dense<Of>)
            rows.data += begin * rows.width, rows.n_rows = some.n_rows;
          else if constexpr (!is_none<Of>)
            rows.starts += begin, rows.n_rows = some.n_rows;
        },
        some.views[v]);
  }
  return some;
}

Kind Rows::measure(std::size_t begin, std::size_t end) {
  const Kernels& use = kernels();
  Kind worst = Kind::absent;
  for (std::size_t v = 0; v < n_views(); ++v) {
    const double length = std::sqrt(weights[v]);
    std::visit(
        [&](const auto& rows) {
          for (std::size_t i = begin; i < end; ++i) {
            Measured found{0.0, Kind::absent};
            if constexpr (!is_none<std::decay_t<decltype(rows)>>)
              if (!observed.data() || observed[i][v]) found = measure_row(rows, i, use);
            inverse[v][i] = found.inverse * length;
            kinds[v][i] = found.kind;
            worst = std::max(worst, found.kind);
          }
        },
        views[v]);
  }
  return worst;
}

void Rows::prefetch(std::size_t i) const {
#if defined(__GNUC__)
  for (std::size_t v = 0; v < n_views(); ++v)
    if (has(v, i))
      std::visit(
          [i](const auto& rows) {
            if constexpr (is_dense<std::decay_t<decltype(rows)>>) {
              const auto* row = reinterpret_cast<const char*>(rows[i]);
              const std::size_t n = std::min(rows.width * sizeof(*rows[i]), kPrefetched);
              for (std::size_t at = 0; at < n; at += 64) __builtin_prefetch(row + at);
            }
          },
          views[v]);
#else
  (void)i;
#endif
}

}  // namespace viewpass
