// Rows that open new anchors: the farthest first, where another row is nearer to it than to any anchor.
//
// core/consensus/births.py says why.
#pragma once

#include "rows.hpp"
#include "threads.hpp"

namespace viewpass {

struct Births {
  std::vector<int64_t> born;  // rows that open an anchor, in this order
  std::vector<int64_t> lone;  // rows that were tried and are unlike all others
};

struct BirthLimits {
  size_t first = 0;  // rows before it open nothing, they are only there to be like others
  size_t most = 0;   // births
  size_t tried = 0;  // rows that are tried
};

/// Tries rows as new anchors.  INOUT far: the distance of each row from its nearest anchor, per view; OUT
/// joined: whether a row is nearest to a new one.
Births open_anchors(const Rows& rows, Span<double> far, const BirthLimits& limits, Span<uint8_t> joined,
                    Team& team);

}  // namespace viewpass
