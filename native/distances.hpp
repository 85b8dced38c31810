// Distances |u|^2 - 2 x.u of rows from centres, over the views a row has (Eq. 15 without |x|^2, which is the
// same for all clusters). A float32 pass filters; float64 products, added column after column, decide.
#pragma once

#include "centres.hpp"

namespace viewpass {

/// What a float32 distance may be off by.
struct ErrorBounds {
  double magnitude = 0.0;  // no distance is larger

  ErrorBounds() = default;
  explicit ErrorBounds(const Centres& centres);

  /// After a pass over all centres; infinite where a row is out of float32's range.
  double of_pass(const Rows& rows, std::size_t i, const Centres& centres) const;
  /// After products with single centres.
  double of_pairs(const Rows& rows, std::size_t i, const Centres& centres) const;

 private:
  double product(std::size_t v, double n_added, double n_values) const;
  double pass(std::size_t v, double n_values) const;

  std::vector<double> longest_;                   // |u| of each view's longest centre
  std::vector<double> dense_pass_, dense_pairs_;  // of each view, if its rows are dense
};

/// What a thread needs for a pass.
struct PassScratch {
  std::vector<const float*> rows;
  std::vector<float*> lines;
  std::vector<float> twice;
  std::vector<uint32_t> taken;
  std::vector<double> products;
  Buffer<float> narrow, spare;  // float64 rows in float32; written, not read
  Buffer<double> unit;
};

/// One distance pass: rows `which` with all centres.  OUT lines: n_padded floats per row, infinite where
/// there is no cluster.
void distance_pass(const Rows& rows, Span<const uint32_t> which, const Centres& centres,
                   Span<float* const> lines, PassScratch& scratch);

/// Distances of one row from some clusters by float32 products.  OUT found.
void pair_distances(const Rows& rows, std::size_t i, const Centres& centres, Span<const uint32_t> clusters,
                    std::vector<double>& found, PassScratch& scratch);

/// Distances of one row from some clusters as the specification has them.  OUT found.
void exact_distances(const Rows& rows, std::size_t i, const Centres& centres, Span<const uint32_t> clusters,
                     std::vector<double>& found);

/// The nearest of some clusters by exact distances, the lowest among equals.
uint32_t nearest_exactly(const Rows& rows, std::size_t i, const Centres& centres,
                         Span<const uint32_t> clusters, std::vector<double>& found);

/// |x|^2 of a row over the views that have centres.
double square_of_row(const Rows& rows, std::size_t i, const Centres& centres);

class Team;

/// Exact squared distances of rows from all clusters; NaN for rows without a view. `relative`: without |x|^2,
/// as they are compared.  OUT out (rows x clusters).
void all_distances(const Rows& rows, const Centres& centres, bool relative, Grid<double> out, Team& team);

/// Of rows with these labels: the squared distance to the own cluster, and how much farther the next one is;
/// NaN where there is none.  OUT distance, margin.
void own_distances(const Rows& rows, const Centres& centres, Span<const int32_t> labels, Span<float> distance,
                   Span<float> margin, Team& team);

/// Rows whose values stay in cache while they are measured, multiplied and added.
std::size_t tile_rows(const Rows& rows);

}  // namespace viewpass
