// Weighted k-means of a few thousand points, with the same bits on every processor.
//
// Greedy k-means++ seeds, then Lloyd's iterations until labels stop moving; the best of several restarts.
// A cluster that loses its points keeps its centre, and may win points again.
#pragma once

#include <cstdint>
#include <vector>

#include "span.hpp"

namespace viewpass {

struct WeightedPoints {
  Grid<const double> places;
  Span<const double> weights;  // not negative
};

struct Clustering {
  std::vector<std::size_t> labels;
  std::vector<double> centres;  // n_clusters x width
  double inertia = 0.0;         // sum of weights times squared distances from the own centre
};

/// IN points, at least one.
Clustering small_kmeans(WeightedPoints points, std::size_t n_clusters, std::size_t n_restarts,
                        std::uint64_t seed);

}  // namespace viewpass
