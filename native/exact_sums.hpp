// R and T (Eq. 12-14): sums and counts of the rows of each cluster, exact in whatever order rows are added.
#pragma once

#include <vector>

#include "rows.hpp"

namespace viewpass {

/// Sums in grid steps, and counts; the memory is somebody else's.
struct ExactSums {
  std::size_t n_clusters = 0;
  std::vector<Grid<int64_t>> sums;    // of each view, clusters x columns
  std::vector<Span<int64_t>> counts;  // of each view

  std::size_t n_views() const { return sums.size(); }

  /// Adds rows to a cluster in one view (sign = -1: takes them away).  INOUT sums, counts.
  void add(const Rows& rows, std::size_t v, std::size_t k, Span<const uint32_t> which, int sign) const;
  /// Adds what another set of rows came to.
  void add(const ExactSums& other, std::size_t k) const;
  /// Forgets the rows of a cluster.
  void clear(std::size_t k) const;
  int64_t count(std::size_t k) const;
};

/// Sums in memory of their own, zero at first. Views that are left out have no columns.
class OwnSums {
 public:
  OwnSums() = default;
  OwnSums(std::size_t n_clusters, const std::vector<std::size_t>& widths);
  const ExactSums& get() const { return sums_; }
  bool empty() const { return sums_.n_clusters == 0; }

 private:
  std::vector<std::vector<int64_t>> held_;
  ExactSums sums_;
};

/// The mean of the rows of a view that have it; `n` says how many rows they count as (0: as many as they
/// are).
std::vector<double> mean_row(const Rows& rows, std::size_t v, std::size_t n = 0);

}  // namespace viewpass
