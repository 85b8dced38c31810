// Incomplete k-means++: seeds far apart, by distances averaged over the views two rows share.
#pragma once

#include "rows.hpp"
#include "threads.hpp"

namespace viewpass {

/// Draws sets of seeds and gives each row its nearest seed of each set.
///
/// A row is drawn in proportion to its distance from the seeds so far times the weight of its views. Rows
/// that share no view with any seed count as averagely far. `points` (seeds x sets, in [0, 1)) say where the
/// draws fall.
///
/// Only the first `n_groups` seeds are drawn among all rows. They split the rows into groups, the other seeds
/// are shared out by how far the rows of each group are in all, and drawn within the groups. A row is
/// compared with the seeds of the four groups whose first seeds are nearest.  OUT labels (sets x rows).
void draw_seeds(const Rows& rows, Grid<const double> points, size_t n_groups, Grid<int32_t> labels,
                Team& team);

}  // namespace viewpass
