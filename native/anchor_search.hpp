// Rows meet anchors by neighbourhood: the centres of groups of anchors first, then the anchors of the nearest
// groups.
//
// A row meets its nearest groups, one after another, until they hold a given number of anchors: a rule that
// the specification shares, so that the result is the same to the bit. It is not exact: a nearest anchor is
// missed where its group is not met.
#pragma once

#include "soft_assignment.hpp"

namespace viewpass {

struct AnchorGroups {
  const Centres& centres;                      // of the groups
  std::vector<std::vector<uint32_t>> members;  // anchors of each group, ascending
  size_t fewest;                               // anchors that a row meets, at least

  AnchorGroups(const Centres& group_centres, Span<const int32_t> group_of, size_t fewest_met);
};

/// The mixture of every row of the anchors it meets, and the squared distance of the nearest; NaN without any
/// view.  OUT soft, distance.
void search_anchors(const Rows& rows, const Centres& anchors, const AnchorGroups& groups, SoftRows& soft,
                    Span<float> distance, Team& team);

}  // namespace viewpass
