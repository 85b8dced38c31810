// The objects that Python holds: rows and centres.
#pragma once

#include "../centres.hpp"
#include "../exact_sums.hpp"
#include "arrays.hpp"

namespace viewpass {

/// Rows, and the Python arrays they lie in.
struct PyRows {
  Rows rows;
  std::vector<nb::object> held;
  std::optional<Matrix2<const bool>> observed;
  Matrix2<double> inverse;
  Matrix2<uint8_t> kinds;
};

/// Centres; never changed once Python has them, but for being laid out for rows of another kind.
using PyCentres = std::shared_ptr<Centres>;

/// Sums and counts as Python has them: a K x d array per view, and views x K.
inline ExactSums sums_of(const std::vector<Matrix2<int64_t>>& sums, const Matrix2<int64_t>& counts) {
  ExactSums total;
  total.n_clusters = counts.shape(1);
  expect(sums.size() == counts.shape(0), "sums and counts of as many views are needed");
  for (std::size_t v = 0; v < sums.size(); ++v) {
    expect(sums[v].shape(0) == total.n_clusters, "sums and counts of as many clusters are needed");
    total.sums.push_back(grid_of(sums[v]));
    total.counts.push_back(grid_of(counts)[v]);
  }
  return total;
}

inline void expect_fit(const Rows& rows, const ExactSums& total) {
  expect(rows.n_views() == total.n_views(), "rows and sums of as many views are needed");
  for (std::size_t v = 0; v < rows.n_views(); ++v) {
    const std::size_t width = width_of(rows.views[v]);
    expect(!width || width == total.sums[v].width(), "rows and sums of the same widths are needed");
  }
}

inline void expect_fit(const Rows& rows, const Centres& centres) {
  expect(rows.n_views() == centres.n_views(), "rows and centres of as many views are needed");
  for (std::size_t v = 0; v < rows.n_views(); ++v) {
    const std::size_t width = width_of(rows.views[v]), theirs = centres.views[v].width;
    expect(!width || !theirs || width == theirs, "rows and centres of the same widths are needed");
  }
}

/// Whether centres are laid out for rows of this kind.
inline bool suits(const Rows& rows, const Centres& centres) {
  for (std::size_t v = 0; v < rows.n_views(); ++v)
    if (centres.views[v].ready && width_of(rows.views[v]) &&
        centres.views[v].sparse() != is_sparse(rows.views[v]))
      return false;
  return true;
}

}  // namespace viewpass
