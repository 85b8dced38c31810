// The first centres of the published start: Eq. 11 and 12 for a soft V, each view by itself.
#pragma once

#include "centres.hpp"
#include "threads.hpp"

namespace viewpass {

/// Solves (V'V + alpha I) U = V'X over the rows that have a view, alpha being that of the view; sums run over
/// rows in order. `memberships` is V, rows x clusters. A cluster that no row belongs to is filled by the
/// rows' mean (`fill`; `zero_filled`: absent rows count as zeros).
Centres soft_centres(const Rows& rows, Grid<const double> memberships, Span<const double> alpha, bool fill,
                     bool zero_filled, Team& team);

}  // namespace viewpass
