// The nearest rows to each row in one view, by distances |y|^2 - 2 x.y in float64. For sparse rows: only
// pairs that share a column are multiplied.
#pragma once

#include "rows.hpp"
#include "threads.hpp"

namespace viewpass {

/// The nearest other rows of each row that has view v, the nearest first and the lowest among equals. More of
/// them have the view than are wanted.  OUT near (rows x how many; unchanged for rows without the view).
void near_rows(const Rows& rows, size_t v, Grid<int32_t> near, Team& team);

}  // namespace viewpass
