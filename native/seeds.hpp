// Incomplete k-means++: seeds far apart, by distances averaged over the views two rows share.
#pragma once

#include "rows.hpp"
#include "threads.hpp"

namespace viewpass {

/// Draws sets of seeds side by side and gives each row its nearest seed of each set.
///
/// A row is drawn in proportion to its distance from the seeds so far times the weight of its views. Rows
/// that share no view with any seed count as averagely far. `points` (seeds x sets, in [0, 1)) say where the
/// draws fall. OUT labels (sets x rows).
void draw_seeds(const Rows& rows, Grid<const double> points, Grid<int32_t> labels, Team& team);

}  // namespace viewpass
