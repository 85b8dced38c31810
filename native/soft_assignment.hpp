// Rows as mixtures of their nearest anchors, z, and what anchors have in common, G = sum of z z'.
//
// The weights are w_j = (d_{r+1} - d_j) / (r d_{r+1} - d_1 - ... - d_r), whole numbers of 1 / kUnit: G is an
// exact sum.
#pragma once

#include <algorithm>

#include "distances.hpp"

namespace viewpass {

constexpr size_t kNeighbours = 4, kManyNeighbours = 5;  // anchors per row: of few anchors, and of many
constexpr size_t kFewestGrouped = 512;                  // that are many, and met by groups
constexpr double kUnit = 32768.0;

/// Anchors and weights of rows; all weights of a row without any view are zero.
struct SoftRows {
  size_t n_near = 0;             // anchors per row
  std::vector<int32_t> near;     // rows x n_near
  std::vector<int64_t> weights;  // rows x n_near

  void resize(size_t n_rows, size_t anchors_per_row);
};

/// Anchors that a row is a mixture of.
inline size_t neighbours(size_t n_anchors) {
  const size_t most = n_anchors < kFewestGrouped ? kNeighbours : kManyNeighbours;
  return std::max<size_t>(1, std::min(most, n_anchors - 1));
}

struct SoftScratch {
  std::vector<uint32_t> places, near;
  std::vector<double> found;
  std::vector<float> least;
  std::vector<std::pair<double, uint32_t>> order;
};

/// Anchors whose distances lie one after another, from place `first` on.
struct MetPart {
  size_t first;
  Span<const uint32_t> anchors;
};

/// A row's float32 distances from the anchors that it is compared with: a multiple of kVector of them,
/// infinite where there is no anchor.
struct Met {
  Span<const float> distances;
  Span<const MetPart> parts;  // in the order of their places; empty: all anchors, in order
};

/// One row, given its distances from more anchors than a mixture has, and what they may be off by. Gives the
/// distance of the nearest, without |x|^2.  OUT soft.
double soft_assign_row(const Rows& rows, size_t i, const Centres& anchors, Met met, double slack,
                       SoftRows& soft, SoftScratch& scratch);

/// All rows, as mixtures of `n_near` anchors each, fewer than there are.  OUT soft.
void soft_assign(const Rows& rows, const Centres& anchors, size_t n_near, SoftRows& soft, Team& team);

}  // namespace viewpass
