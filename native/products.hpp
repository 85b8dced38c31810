// Inner products of all pairs of rows, each in the fixed order of lanes.
#pragma once

#include "span.hpp"

namespace viewpass {

/// out_ij = a_i.b_j, the same bits as lane_dot.  IN a (K x d), b (L x d); OUT out (K x L).
/// Where a and b are the same memory only half of the pairs are worked out.
void products(Grid<const double> a, Grid<const double> b, Grid<double> out);

}  // namespace viewpass
