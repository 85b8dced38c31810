// Squared distances between rows, averaged over the views that both have.
#pragma once

#include <algorithm>
#include <vector>

#include "exact.hpp"
#include "kernels.hpp"
#include "rows.hpp"

namespace viewpass {

/// The working memory of one thread.
struct RowScratch {
  std::vector<double> from, total, shared;  // a sparse row, zero elsewhere; distances and weights of rows
};

class RowDistances {
 public:
  explicit RowDistances(const Rows& rows) : rows_(rows), squares_(rows.n_views()) {
    for (size_t v = 0; v < rows.n_views(); ++v)
      if (rows.keeps_lengths(v)) squares_[v] = squares_of(rows, v);
  }

  /// Compares rows `which` with row `from`; `each(n, work)` shares out n rows.  OUT scratch: for each of them
  /// the sum of distances over the views it shares with that row, and of the weights of these views.  A row
  /// whose mean has reached its limit, if there are limits (one per row), needs no further views.
  template <class Each>
  void compare(Span<const uint32_t> which, size_t from, RowScratch& scratch, const Each& each,
               Span<const double> limits = {}) const {
    scratch.total.assign(which.size(), 0.0), scratch.shared.assign(which.size(), 0.0);
    for (size_t v = 0; v < rows_.n_views(); ++v)
      for (size_t r = 0; rows_.has(v, from) && r < which.size(); ++r)
        if (rows_.has(v, which[r])) scratch.shared[r] += rows_.weights[v];
    for (size_t v = 0; v < rows_.n_views(); ++v)
      if (rows_.has(v, from))
        with_rows(rows_.views[v],
                  [&](const auto& view) { add(v, view, which, from, limits, scratch, each); });
  }

 private:
  /// Adds |x_i - x_from|^2 of the rows that have a view and are below their limits.  INOUT scratch.
  template <class View, class Each>
  void add(size_t v, const View& view, Span<const uint32_t> which, size_t other, Span<const double> limits,
           RowScratch& scratch, const Each& each) const {
    const auto from = view[other];
    if (View::sparse && scratch.from.size() < view.width) scratch.from.resize(view.width, 0.0);
    for (size_t p = 0; View::sparse && p < from.n; ++p) scratch.from[from.column(p)] = double(from.values[p]);
    const double scale = rows_.scale(v, other), weight = rows_.weights[v];
    const Span<const double> squares = squares_[v];
    const bool kept = !squares.empty();
    each(which.size(), [&](size_t begin, size_t end) {
      for (size_t r = begin; r < end; ++r) {
        const uint32_t i = which[r];
        if (!rows_.has(v, i)) continue;
        if (!limits.empty() && scratch.total[r] / scratch.shared[r] >= limits[i]) continue;
        const auto row = view[i];
        double dot;
        if constexpr (View::sparse) {
          double partial[kPartialSums] = {};
          for (size_t p = 0; p < row.n; ++p)
            partial[row.column(p) % kPartialSums] += double(row.values[p]) * scratch.from[row.column(p)];
          dot = fold(partial);
        } else {
          dot = kernels().of(row.values).dot(row.values, from.values, row.n);
        }
        const double both = kept ? squares[i] + squares[other] : 2.0 * weight;
        scratch.total[r] += std::max(both - 2.0 * (dot * rows_.scale(v, i) * scale), 0.0);
      }
    });
    for (size_t p = 0; View::sparse && p < from.n; ++p) scratch.from[from.column(p)] = 0.0;
  }

  const Rows& rows_;
  std::vector<std::vector<double>> squares_;  // |x|^2 per view, where rows keep their lengths
};

}  // namespace viewpass
