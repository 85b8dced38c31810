// Agglomeration by the price in J: see core/consensus/merging.py for what is merged, and why.
#pragma once

#include <cstdint>
#include <vector>

#include "span.hpp"

namespace viewpass {

/// All that merging needs to know of clusters.
struct ClusterProducts {
  Grid<const std::int64_t> counts;  // views x clusters
  std::vector<Grid<double>> sums;   // R R' of each view, clusters x clusters
};

struct Ridge {
  double alpha = 0.0;
  bool to_mean = false;  // alpha pulls centres to the mean of all rows, not to the origin
};

struct Merge {
  std::int64_t kept, gone;  // kept is the lower index
  double price;
};

struct MergeOrder {
  std::vector<Merge> merges;
  std::size_t n_empty = 0;  // of the first merges: those of clusters without rows
};

/// All merges down to one cluster, the cheapest first.  INOUT total.sums: used up.
MergeOrder merge_order(ClusterProducts total, Ridge ridge);

}  // namespace viewpass
