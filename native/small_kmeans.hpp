// Weighted k-means of a few thousand points (anchors), and the labels of rows that are mixtures of them, with
// the same bits on every processor.
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
  std::vector<size_t> labels;
  std::vector<double> centres;  // n_clusters x width
  double inertia = 0.0;         // sum of weights times squared distances from the own centre
};

/// IN points, at least one.
Clustering small_kmeans(WeightedPoints points, size_t n_clusters, size_t n_restarts, uint64_t seed);

/// Rows that are mixtures of anchors.
struct MixedRows {
  Grid<const int32_t> near;     // their nearest anchors
  Grid<const int64_t> weights;  // of these, in 1 / kUnit (soft_assignment.hpp)
};

/// A vector divided by its length; squares are added in order. One of length 0 stays.  INOUT x.
void normalise(Span<double> x);

/// The centre nearest to the direction of each row's mixture.  IN rows, places, centres; OUT labels.
void graph_labels(MixedRows rows, Grid<const double> places, Grid<const double> centres,
                  Span<int32_t> labels);

}  // namespace viewpass
