// Rows of several views, each view of its own kind, and the norms that scale them to unit length (Eq. 10),
// or, in views whose rows keep their lengths, the factor that makes none of them longer than 1.
#pragma once

#include <cstdint>
#include <numeric>
#include <variant>
#include <vector>

#include "kernels.hpp"
#include "span.hpp"

namespace viewpass {

/// A view that was not given.
struct NoRows {
  static constexpr bool sparse = false;
  size_t width = 0;
  NoRows part(size_t, size_t) const { return *this; }
  size_t row_bytes() const { return 0; }
};

template <class T>
struct DenseRow {
  const T* values;
  size_t n;
  size_t column(size_t p) const { return p; }
};

template <class T>
struct DenseRows {
  static constexpr bool sparse = false;
  const T* data;
  size_t n_rows, width;
  DenseRow<T> operator[](size_t i) const { return {data + i * width, width}; }
  DenseRows part(size_t begin, size_t n) const { return {data + begin * width, n, width}; }
  size_t row_bytes() const { return width * sizeof(T); }
};

template <class T, class Index>
struct CsrRows {
  static constexpr bool sparse = true;
  const T* values;
  const Index* columns;
  const Index* starts;  // n_rows + 1
  size_t n_rows, width;
  SparseRow<T, Index> operator[](size_t i) const {
    const auto from = size_t(starts[i]);
    return {values + from, columns + from, size_t(starts[i + 1]) - from};
  }
  CsrRows part(size_t begin, size_t n) const { return {values, columns, starts + begin, n, width}; }
  size_t row_bytes() const { return n_rows ? size_t(starts[n_rows] - starts[0]) / n_rows * 12 + 1 : 1; }
};

using View = std::variant<NoRows, DenseRows<float>, DenseRows<double>, CsrRows<float, int32_t>,
                          CsrRows<float, int64_t>, CsrRows<double, int32_t>, CsrRows<double, int64_t>>;

/// work(rows) with the rows of a view; nothing if it was not given.
template <class Work>
void with_rows(const View& view, const Work& work) {
  std::visit(
      [&](const auto& rows) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(rows)>, NoRows>) work(rows);
      },
      view);
}

inline bool is_sparse(const View& view) {
  return std::visit([](const auto& rows) { return rows.sparse; }, view);
}
inline size_t width_of(const View& view) {
  return std::visit([](const auto& rows) { return rows.width; }, view);
}
/// Bytes of an average row.
inline size_t row_bytes(const View& view) {
  return std::visit([](const auto& rows) { return rows.row_bytes(); }, view);
}

/// What a row is in a view. Those after `present` must be repaired or refused.
enum class Kind : uint8_t { absent, present, partly_nan, infinite, extreme, unsorted, outside };

/// Consecutive rows. Row numbers count from the first of them.
struct Rows {
  std::vector<View> views;
  size_t n_rows = 0;
  Grid<const bool> observed;    // rows x views; empty: by the values of the rows
  std::vector<double> weights;  // per view: |x|^2 of its rows, at most 1
  // Per view: 0 where rows are brought to that length; else they keep theirs, times the root of the weight,
  // and none is longer than this, which is at most 1. Empty: 0 for all.
  std::vector<double> reaches;
  std::vector<Span<double>> inverse;  // per view: what scales each row to that length; 0: absent
  std::vector<Span<Kind>> kinds;      // per view
  Span<const int64_t> copies;         // how many equal rows each one counts as; empty: one
  bool measured = false;

  size_t n_views() const { return views.size(); }
  double scale(size_t v, size_t i) const { return inverse[v][i]; }
  bool has(size_t v, size_t i) const { return inverse[v][i] > 0.0; }
  bool has_any(size_t i) const {
    for (size_t v = 0; v < n_views(); ++v)
      if (has(v, i)) return true;
    return false;
  }
  bool keeps_lengths(size_t v) const { return v < reaches.size() && reaches[v] > 0.0; }
  /// No row of a view is longer.
  double reach(size_t v) const { return keeps_lengths(v) ? reaches[v] : 1.0; }
  /// |x|^2 of a row that has the view.
  double square(size_t v, size_t i) const;
  int64_t n_copies(size_t i) const { return copies.empty() ? 1 : copies[i]; }
  /// The rows that have any view, each as often as it counts.
  int64_t n_counted() const;
  /// Whether any row has the view.
  bool seen(size_t v) const;
  /// Whether any row that counts has the view.
  bool counts(size_t v) const;
  std::vector<size_t> widths() const;

  /// Some of the rows, in the same memory.
  Rows part(size_t begin, size_t end) const;

  /// Norms and kinds of rows begin ... end. Gives the worst kind met.  OUT inverse, kinds.
  Kind measure(size_t begin, size_t end);

  /// Prefetches the beginning of a row; the processor then fetches ahead by itself.
  void prefetch(size_t i) const;
};

/// |x|^2 of every row in a view; 0 where it is absent.
std::vector<double> squares_of(const Rows& rows, size_t v);

/// Rows sorted by cluster, in order; rows without one are left out.
struct Groups {
  std::vector<uint32_t> rows, ends;  // rows of cluster k: from ends[k] to ends[k + 1]

  Span<const uint32_t> of(size_t k) const {
    return Span<const uint32_t>(rows).part(ends[k], ends[k + 1] - ends[k]);
  }

  /// All rows by their labels.
  void sort(size_t n_clusters, Span<const int32_t> labels) {
    std::vector<uint32_t> all(labels.size());
    std::iota(all.begin(), all.end(), 0u);
    sort(n_clusters, all, [&](size_t i) { return labels[i]; });
  }
  template <class ClusterOf>
  void sort(size_t n_clusters, Span<const uint32_t> which, ClusterOf cluster_of) {
    ends.assign(n_clusters + 2, 0);
    rows.resize(which.size());
    for (uint32_t i : which)
      if (const int32_t k = cluster_of(i); k >= 0) ++ends[size_t(k) + 2];
    for (size_t k = 2; k < ends.size(); ++k) ends[k] += ends[k - 1];
    for (uint32_t i : which)
      if (const int32_t k = cluster_of(i); k >= 0) rows[ends[size_t(k) + 1]++] = i;
  }
};

}  // namespace viewpass
