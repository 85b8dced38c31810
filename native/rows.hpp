// Rows of several views, each view of its own kind, and the norms that scale them to unit length (before Eq.
// 10).
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "kernels.hpp"
#include "span.hpp"

namespace viewpass {

/// A view nobody gave.
struct NoRows {
  std::size_t width = 0;
};

template <class T>
struct DenseRows {
  using Value = T;
  const T* data;
  std::size_t n_rows, width;
  const T* operator[](std::size_t i) const { return data + i * width; }
};

template <class T, class Index>
struct CsrRows {
  using Value = T;
  const T* values;
  const Index* columns;
  const Index* starts;  // n_rows + 1
  std::size_t n_rows, width;
  SparseRow<T, Index> operator[](std::size_t i) const {
    const auto from = std::size_t(starts[i]);
    return {values + from, columns + from, std::size_t(starts[i + 1]) - from};
  }
};

using View = std::variant<NoRows, DenseRows<float>, DenseRows<double>, CsrRows<float, int32_t>,
                          CsrRows<float, int64_t>, CsrRows<double, int32_t>, CsrRows<double, int64_t>>;

template <class Rows>
struct IsDense : std::false_type {};
template <class T>
struct IsDense<DenseRows<T>> : std::true_type {};
template <class Rows>
constexpr bool is_dense = IsDense<Rows>::value;
template <class Rows>
constexpr bool is_none = std::is_same_v<Rows, NoRows>;

bool is_sparse(const View& view);
std::size_t width_of(const View& view);
/// Bytes of an average row.
std::size_t row_bytes(const View& view);

/// What a row is in a view. Those after `present` must be mended, or refused.
enum class Kind : uint8_t { absent, present, partly_nan, infinite, extreme, unsorted, outside };

/// Consecutive rows. Row numbers count from the first of them.
struct Rows {
  std::vector<View> views;
  std::size_t n_rows = 0;
  Grid<const bool> observed;  // rows x views; empty: whatever the rows show
  std::vector<double>
      weights;  // |x|^2 of a row that is there, in each view: 1, or less where the view weighs less
  std::vector<Span<double>>
      inverse;  // of each view: what a row is multiplied with to be of that length; 0: absent
  std::vector<Span<Kind>> kinds;  // of each view
  bool measured = false;

  std::size_t n_views() const { return views.size(); }
  double scale(std::size_t v, std::size_t i) const { return inverse[v][i]; }
  bool has(std::size_t v, std::size_t i) const { return inverse[v][i] > 0.0; }
  bool has_any(std::size_t i) const {
    for (std::size_t v = 0; v < n_views(); ++v)
      if (has(v, i)) return true;
    return false;
  }
  /// Whether any row has the view.
  bool seen(std::size_t v) const;
  std::vector<std::size_t> widths() const;

  /// Some of the rows, as rows of their own; the memory is the same.
  Rows part(std::size_t begin, std::size_t end) const;

  /// Norms and kinds of rows begin ... end. Gives the worst kind met.  OUT inverse, kinds.
  Kind measure(std::size_t begin, std::size_t end);

  /// Has the beginning of a row brought near; the processor then fetches ahead by itself.
  void prefetch(std::size_t i) const;
};

/// Rows sorted by cluster, in order; rows without one are left out.
struct Groups {
  std::vector<uint32_t> rows, ends;  // rows of cluster k: from ends[k] to ends[k + 1]

  Span<const uint32_t> of(std::size_t k) const {
    return Span<const uint32_t>(rows).part(ends[k], ends[k + 1] - ends[k]);
  }

  template <class ClusterOf>
  void sort(std::size_t n_clusters, Span<const uint32_t> which, ClusterOf cluster_of) {
    ends.assign(n_clusters + 2, 0);
    rows.resize(which.size());
    for (uint32_t i : which)
      if (const int32_t k = cluster_of(i); k >= 0) ++ends[std::size_t(k) + 2];
    for (std::size_t k = 2; k < ends.size(); ++k) ends[k] += ends[k - 1];
    for (uint32_t i : which)
      if (const int32_t k = cluster_of(i); k >= 0) rows[ends[std::size_t(k) + 1]++] = i;
  }
};

}  // namespace viewpass
