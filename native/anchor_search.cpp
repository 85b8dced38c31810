#include "anchor_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace viewpass {
namespace {

constexpr size_t kListed = 12;  // nearest groups that are listed first, at least: mostly a row meets fewer

/// A row that meets a group, and where its distances from the group's anchors are put.
struct Meeting {
  uint32_t row;
  size_t place;
};

/// The working memory of one thread.
struct SearchScratch {
  PassScratch pass;
  SoftScratch soft;
  std::vector<uint32_t> everyone, which;
  std::vector<double> found;
  std::vector<std::pair<double, uint32_t>> order;
  Buffer<float> distances;                     // of the rows of a tile from the anchors they meet
  std::vector<std::vector<Meeting>> meetings;  // of each group
  std::vector<std::vector<MetPart>> parts;     // of each row of the tile
  std::vector<size_t> ends;                    // of each row: where its distances end
};

/// Groups in the order of their distances, of which the first `n` hold enough anchors.
size_t count_needed(const AnchorGroups& groups, const std::vector<std::pair<double, uint32_t>>& order) {
  size_t n_met = 0, n = 0;
  while (n < order.size() && n_met < groups.fewest) n_met += groups.members[order[n++].second].size();
  return n;
}

/// Calls meet(group) for each group that a row meets, given its float32 distances from the groups and what
/// they may be off by. The set depends on which group is the last, hence on the order around it alone: where
/// that is in doubt, exact distances decide.
template <class Meet>
void nearest_groups(const Rows& rows, size_t i, const AnchorGroups& groups, const float* line, double slack,
                    SearchScratch& mine, const Meet& meet) {
  auto& order = mine.order;
  const size_t n_groups = groups.members.size();
  const auto list = [&](float limit) {  // the groups within a limit, the nearest first
    order.clear();
    for (size_t g = 0; g < n_groups; ++g)
      if (line[g] <= limit) order.emplace_back(double(line[g]), uint32_t(g));
    std::sort(order.begin(), order.end());
    return count_needed(groups, order);
  };
  const auto certain = [&](size_t at) {  // that the groups before `at` are nearer than those from it on
    return at == 0 || at >= order.size() || order[at].first - order[at - 1].first > 2.0 * slack;
  };
  size_t n = 0;
  bool decided = std::isfinite(slack);
  if (decided) {
    n = list(kernels().nth_bound(line, groups.centres.n_padded(), kListed));
    if (n >= order.size()) n = list(std::numeric_limits<float>::infinity());
    decided = certain(n - 1) && certain(n);
  }
  if (!decided) {
    exact_distances(rows, i, groups.centres, mine.everyone, mine.found);
    order.clear();
    for (size_t g = 0; g < n_groups; ++g) order.emplace_back(mine.found[g], uint32_t(g));
    std::sort(order.begin(), order.end());
    n = count_needed(groups, order);
  }
  for (size_t at = 0; at < n; ++at) meet(order[at].second);
}

/// The rows of a tile that have a view meet their groups: meet(row of `which`, group).
template <class Meet>
void meet_tile(const Rows& rows, const AnchorGroups& groups, const ErrorBounds& errors, size_t begin,
               size_t end, SearchScratch& mine, const Meet& meet) {
  if (mine.everyone.size() != groups.members.size()) {
    mine.everyone.resize(groups.members.size());
    std::iota(mine.everyone.begin(), mine.everyone.end(), 0u);
  }
  mine.which.clear();
  for (size_t i = begin; i < end; ++i)
    if (rows.has_any(i)) mine.which.push_back(uint32_t(i));
  mine.pass.make_lines(mine.which.size(), groups.centres.n_padded());
  distance_pass(rows, mine.which, groups.centres, mine.pass.line_of, mine.pass);
  for (size_t r = 0; r < mine.which.size(); ++r)
    nearest_groups(rows, mine.which[r], groups, mine.pass.line_of[r],
                   errors.of_pass(rows, mine.which[r], groups.centres), mine,
                   [&](uint32_t group) { meet(r, group); });
}

}  // namespace

AnchorGroups::AnchorGroups(const Centres& group_centres, Span<const int32_t> group_of, size_t fewest_met)
    : centres(group_centres), members(group_centres.n_clusters), fewest(fewest_met) {
  for (size_t k = 0; k < group_of.size(); ++k) members[size_t(group_of[k])].push_back(uint32_t(k));
}

void search_anchors(const Rows& rows, const Centres& anchors, const AnchorGroups& groups, SoftRows& soft,
                    Span<float> distance, Team& team) {
  const size_t n_groups = groups.members.size();
  soft.resize(rows.n_rows, neighbours(anchors.n_clusters));
  const ErrorBounds to_groups(groups.centres, rows), to_anchors(anchors, rows);
  std::vector<Centres> parts(n_groups);  // the anchors of each group, side by side
  team.each(n_groups, [&](size_t g, size_t) { parts[g].pick(anchors, groups.members[g]); });
  std::vector<SearchScratch> scratch(team.size());
  team.each_range(rows.n_rows, tile_rows(rows), [&](size_t begin, size_t end, size_t worker) {
    SearchScratch& mine = scratch[worker];
    mine.meetings.resize(n_groups), mine.parts.resize(end - begin), mine.ends.assign(end - begin, 0);
    for (auto& some : mine.meetings) some.clear();
    for (auto& some : mine.parts) some.clear();
    meet_tile(rows, groups, to_groups, begin, end, mine, [&](size_t r, uint32_t group) {
      const uint32_t i = mine.which[r];
      size_t& place = mine.ends[i - begin];
      if (groups.members[group].empty()) return;
      mine.meetings[group].push_back({i, place});
      mine.parts[i - begin].push_back({place, groups.members[group]});
      place += parts[group].n_padded();
    });
    std::partial_sum(mine.ends.begin(), mine.ends.end(), mine.ends.begin());
    float* distances = mine.distances.reserve(mine.ends.back());
    const auto start = [&](size_t r) { return r ? mine.ends[r - 1] : 0; };
    for (size_t g = 0; g < n_groups; ++g) {
      mine.which.clear(), mine.pass.line_of.clear();
      for (const Meeting& one : mine.meetings[g]) {
        mine.which.push_back(one.row);
        mine.pass.line_of.push_back(distances + start(one.row - begin) + one.place);
      }
      if (!mine.which.empty()) distance_pass(rows, mine.which, parts[g], mine.pass.line_of, mine.pass);
    }
    for (size_t i = begin; i < end; ++i) {
      const size_t first = start(i - begin);
      const Met met{{distances + first, mine.ends[i - begin] - first}, mine.parts[i - begin]};
      const double slack = rows.has_any(i) ? to_anchors.of_pass(rows, i, anchors) : 0.0;
      const double own = soft_assign_row(rows, i, anchors, met, slack, soft, mine.soft);
      double square = 0.0;  // |x|^2
      for (size_t v = 0; v < rows.n_views(); ++v)
        if (rows.has(v, i) && anchors.views[v].ready) square += rows.square(v, i);
      distance[i] = float(std::max(own + square, 0.0));
      if (!rows.has_any(i)) distance[i] = std::numeric_limits<float>::quiet_NaN();
    }
  });
}

}  // namespace viewpass
