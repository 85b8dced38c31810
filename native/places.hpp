// Points among centres: which centre is nearest, decided in a fixed order of adding.
#pragma once

#include <cstdint>
#include <vector>

#include "span.hpp"

namespace viewpass {

/// Centres as columns, so that a point is compared with many of them at a time.
class CentreTable {
 public:
  CentreTable(std::size_t n_centres, std::size_t width);

  /// IN centres: n_centres x width.
  void set(Grid<const double> centres);

  /// The centre c of least |c|^2 - 2 p.c, the lowest of equals; both sums run over the columns in order.
  /// IN point p; INOUT room: as long as there are centres.
  std::size_t nearest(Span<const double> point, Span<double> room) const;

 private:
  std::size_t n_centres_, width_;
  std::vector<double> columns_, squares_;
};

/// Rows that are mixtures of anchors.
struct MixedRows {
  Grid<const std::int32_t> near;     // their nearest anchors
  Grid<const std::int64_t> weights;  // of these, in 1 / UNIT
};

/// A vector divided by its length; squares are added in order. One of length 0 stays.  INOUT x.
void normalise(Span<double> x);

/// The centre nearest to the direction of each row's mixture.  IN rows, places, centres; OUT labels.
void graph_labels(MixedRows rows, Grid<const double> places, Grid<const double> centres,
                  Span<std::int32_t> labels);

}  // namespace viewpass
