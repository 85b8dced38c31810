// Distances |u|^2 - 2 x.u of rows from centres, over the views a row has (Eq. 15 without |x|^2, which is the
// same for all clusters). A float32 pass filters; float64 products, added column after column, decide.
#pragma once

#include "centres.hpp"
#include "threads.hpp"

namespace viewpass {

/// What a float32 distance may be off by.
struct ErrorBounds {
  double magnitude = 0.0;  // no distance is larger

  ErrorBounds() = default;
  ErrorBounds(const Centres& centres, const Rows& rows);

  /// After a pass over all centres; infinite where a row is out of float32's range.
  double of_pass(const Rows& rows, size_t i, const Centres& centres) const {
    return of(rows, i, centres, false);
  }
  /// After products with single centres.
  double of_pairs(const Rows& rows, size_t i, const Centres& centres) const {
    return of(rows, i, centres, true);
  }

 private:
  double of(const Rows& rows, size_t i, const Centres& centres, bool pairs) const;
  double product(size_t v, double n_added, double n_values) const;
  double pass(size_t v, double n_values) const;
  double pair(size_t v, double n_added, double n_values) const;

  std::vector<double> longest_;                   // per view: |u| of the longest centre
  std::vector<double> reach_;                     // per view: no row is longer
  std::vector<double> dense_pass_, dense_pairs_;  // per view, if its rows are dense
};

/// The working memory of one thread.
struct PassScratch {
  std::vector<const float*> rows;
  std::vector<float*> row_lines, line_of;
  std::vector<float> twice;
  std::vector<uint32_t> taken;
  Buffer<float> narrow, spare, lines;  // float64 rows in float32; written, not read; distances
  Buffer<double> unit;

  /// New lines of n_padded floats for n rows, which are then line_of.
  void make_lines(size_t n, size_t n_padded) {
    float* first = lines.reserve(n * n_padded);
    line_of.resize(n);
    for (size_t r = 0; r < n; ++r) line_of[r] = first + r * n_padded;
  }
};

/// One distance pass: rows `which` with all centres.  OUT lines: n_padded floats per row, infinite where
/// there is no cluster.
void distance_pass(const Rows& rows, Span<const uint32_t> which, const Centres& centres,
                   Span<float* const> lines, PassScratch& scratch);

/// Distances of one row from some clusters by float32 products.  OUT found.
void pair_distances(const Rows& rows, size_t i, const Centres& centres, Span<const uint32_t> clusters,
                    std::vector<double>& found, PassScratch& scratch);

/// Distances of one row from some clusters as the specification has them.  OUT found.
void exact_distances(const Rows& rows, size_t i, const Centres& centres, Span<const uint32_t> clusters,
                     std::vector<double>& found);

/// The nearest of some clusters by exact distances, the lowest among equals.
uint32_t nearest_exactly(const Rows& rows, size_t i, const Centres& centres, Span<const uint32_t> clusters,
                         std::vector<double>& found);

/// Exact squared distances of rows from all clusters; NaN for rows without a view. `relative`: without |x|^2,
/// as they are compared.  OUT out (rows x clusters).
void all_distances(const Rows& rows, const Centres& centres, bool relative, Grid<double> out, Team& team);

/// The nearest cluster of every row (Eq. 16; -1 without any view), its squared distance, and how much farther
/// the next one is; NaN where there is none.  OUT labels, distance, margin.
void nearest_two(const Rows& rows, const Centres& centres, Span<int32_t> labels, Span<float> distance,
                 Span<float> margin, Team& team);

/// Rows whose values stay in cache while they are measured, multiplied and added.
size_t tile_rows(const Rows& rows);

}  // namespace viewpass
