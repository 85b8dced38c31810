// The objects that Python holds: rows and centres.
#pragma once

#include "../centres.hpp"
#include "../exact_sums.hpp"
#include "arrays.hpp"

namespace viewpass {

/// Rows, and the Python arrays they lie in.
struct PyRows : Rows {
  std::vector<nb::object> held;
  std::optional<Table<const bool>> observed_array;
  Table<double> inverse_array;
  Table<uint8_t> kinds_array;
  std::optional<Vector<const int64_t>> copies_array;
};

/// Centres; constant once Python has them.
using PyCentres = std::shared_ptr<Centres>;

using Sums = std::vector<Table<int64_t>>;  // per view, clusters x columns
using Counts = Table<int64_t>;             // views x clusters

inline ExactSums sums_of(const Sums& sums, const Counts& counts) {
  ExactSums total;
  total.n_clusters = counts.shape(1);
  expect(sums.size() == counts.shape(0), "sums and counts must have as many views");
  for (size_t v = 0; v < sums.size(); ++v) {
    expect(sums[v].shape(0) == total.n_clusters, "sums and counts must have as many clusters");
    total.sums.push_back(grid_of(sums[v]));
    total.counts.push_back(grid_of(counts)[v]);
  }
  return total;
}

inline void expect_fit(const Rows& rows, const ExactSums& total) {
  expect(rows.n_views() == total.n_views(), "rows and sums must have as many views");
  for (size_t v = 0; v < rows.n_views(); ++v) {
    const size_t width = width_of(rows.views[v]);
    expect(!width || width == total.sums[v].width(), "rows and sums must have the same widths");
  }
}

/// `suited`: whether the centres must be laid out for rows of these kinds.
inline void expect_fit(const Rows& rows, const Centres& centres, bool suited) {
  expect(centres.n_clusters > 0, "there are no centres");
  expect(rows.n_views() == centres.n_views(), "rows and centres must have as many views");
  for (size_t v = 0; v < rows.n_views(); ++v) {
    const size_t width = width_of(rows.views[v]), theirs = centres.views[v].width;
    expect(!width || !theirs || width == theirs, "rows and centres must have the same widths");
  }
  expect(!suited || centres.suits(rows), "centres must be laid out for the rows (Centres.suited)");
}

inline void expect_fit(const Centres& centres, const ExactSums& total) {
  expect(centres.n_views() == total.n_views() && centres.n_clusters == total.n_clusters,
         "sums and centres must have as many views and clusters");
  for (size_t v = 0; v < total.n_views(); ++v)
    expect(!centres.views[v].ready || centres.views[v].width == total.sums[v].width(),
           "sums and centres must have the same widths");
}

/// A label per row, each below n_clusters.
inline void expect_labels(Span<const int32_t> labels, const Rows& rows, size_t n_clusters) {
  expect(labels.size() == rows.n_rows, "a label per row is needed");
  for (int32_t label : labels)
    expect(label < int32_t(n_clusters), "a label is not below the number of clusters");
}

}  // namespace viewpass
