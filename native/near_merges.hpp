// Agglomeration of very many clusters: only clusters that are candidates of each other may merge.
//
// solve/small_clusters.py says what a price is.
#pragma once

#include "agglomeration.hpp"

namespace viewpass {

/// What is merged.
struct NearClusters {
  Grid<const int64_t> counts;          // T (views x clusters)
  std::vector<Grid<double>> sums;      // R of each view (clusters x columns); used up
  Span<const double> ridges;           // of each view
  Span<const int64_t> starts, others;  // candidates of cluster k: others[starts[k]] to others[starts[k + 1]]
};

/// The first `most` merges, the cheapest first; those of a merged cluster are the candidates of both its
/// parts. Where no candidates are left, the smallest cluster joins the one for which that costs least.
MergeOrder merge_near(const NearClusters& clusters, size_t most);

}  // namespace viewpass
