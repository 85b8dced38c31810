// R and T (Eq. 12-14): sums and counts of the rows of each cluster, exact in whatever order rows are added.
#pragma once

#include <vector>

#include "rows.hpp"

namespace viewpass {

/// Sums in grid steps, and counts; something else owns the memory.
struct ExactSums {
  size_t n_clusters = 0;
  std::vector<Grid<int64_t>> sums;    // of each view, clusters x columns
  std::vector<Span<int64_t>> counts;  // of each view

  size_t n_views() const { return sums.size(); }

  /// Adds rows to a cluster in one view, each as often as it counts (sign = -1: subtracts them).
  /// INOUT sums, counts.
  void add(const Rows& rows, size_t v, size_t k, Span<const uint32_t> which, int sign) const;
  /// Adds a cluster's other sums and counts.  INOUT sums, counts.
  void add(const ExactSums& other, size_t k) const;
  /// Sets a cluster's sums and counts to zero.
  void clear(size_t k) const;
};

/// Sums in memory of their own, zero at first. Views that are left out have no columns.
class OwnSums {
 public:
  OwnSums() = default;
  OwnSums(size_t n_clusters, const std::vector<size_t>& widths);
  const ExactSums& get() const { return sums_; }
  bool empty() const { return sums_.n_clusters == 0; }

 private:
  std::vector<std::vector<int64_t>> held_;
  ExactSums sums_;
};

/// The sum of the rows of a view divided by n, or by their number if n is 0.
std::vector<double> mean_row(const Rows& rows, size_t v, int64_t n = 0);

}  // namespace viewpass
