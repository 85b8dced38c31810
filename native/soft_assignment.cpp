#include "soft_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace viewpass {

void SoftRows::resize(size_t n_rows, size_t anchors_per_row) {
  n_near = anchors_per_row;
  near.assign(n_rows * n_near, 0);
  weights.assign(n_rows * n_near, 0);
}

namespace {

/// The anchor at a place, if there is one.
bool find_anchor(const Met& met, size_t n_anchors, uint32_t place, uint32_t& anchor) {
  if (met.parts.empty()) {
    anchor = place;
    return place < n_anchors;
  }
  size_t p = met.parts.size() - 1;
  while (met.parts[p].first > place) --p;
  const size_t within = place - met.parts[p].first;
  if (within >= met.parts[p].anchors.size()) return false;
  anchor = met.parts[p].anchors[within];
  return true;
}

/// Lists the anchors that can be among the n nearest: none is farther than the n-th by more than the error of
/// both.  OUT scratch.near.
void list_near(const Met& met, size_t n_anchors, size_t n, double slack, SoftScratch& scratch) {
  const size_t n_places = met.distances.size();
  const float* line = met.distances.data();
  if (!std::isfinite(slack) || n > kMostBounded) {  // the distances bound nothing: all of them
    scratch.near.clear();
    uint32_t anchor = 0;
    for (uint32_t place = 0; place < n_places; ++place)
      if (find_anchor(met, n_anchors, place, anchor)) scratch.near.push_back(anchor);
    return;
  }
  const float far_enough = kernels().nth_bound(line, n_places, n);
  const auto limit =
      std::nextafter(float(double(far_enough) + 2.0 * slack), std::numeric_limits<float>::infinity());
  scratch.places.resize(n_places + kVector);
  float beyond;
  const size_t n_found = kernels().within(line, n_places, limit, n_places, scratch.places.data(), &beyond);
  scratch.least.resize(n_found);
  for (size_t p = 0; p < n_found; ++p) scratch.least[p] = line[scratch.places[p]];
  std::nth_element(scratch.least.begin(), scratch.least.begin() + std::ptrdiff_t(n - 1), scratch.least.end());
  const double reach = double(scratch.least[n - 1]) + 2.0 * slack;
  scratch.near.clear();
  for (size_t p = 0; p < n_found; ++p) {
    uint32_t anchor = 0;
    if (!(double(line[scratch.places[p]]) > reach) && find_anchor(met, n_anchors, scratch.places[p], anchor))
      scratch.near.push_back(anchor);
  }
}

}  // namespace

double soft_assign_row(const Rows& rows, size_t i, const Centres& anchors, Met met, double slack,
                       SoftRows& soft, SoftScratch& scratch) {
  const size_t n_near = soft.n_near;
  int32_t* near = soft.near.data() + i * n_near;
  int64_t* weights = soft.weights.data() + i * n_near;
  if (!rows.has_any(i)) {
    for (size_t j = 0; j < n_near; ++j)
      near[j] = int32_t(std::min(j, anchors.n_clusters - 1)), weights[j] = 0;
    return 0.0;
  }
  if (anchors.n_clusters == 1) {
    near[0] = 0, weights[0] = int64_t(kUnit);
    return double(met.distances[0]);
  }
  list_near(met, anchors.n_clusters, n_near + 1, slack, scratch);
  exact_distances(rows, i, anchors, scratch.near, scratch.found);
  auto& order = scratch.order;  // the nearest first, ties to the lowest index
  order.clear();
  for (size_t p = 0; p < scratch.near.size(); ++p) order.emplace_back(scratch.found[p], scratch.near[p]);
  std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(n_near + 1), order.end());
  const double farthest = order[n_near].first;
  double whole = 0.0;
  for (size_t j = 0; j < n_near; ++j) whole += farthest - order[j].first;
  for (size_t j = 0; j < n_near; ++j) {
    const double share = whole > 0.0 ? (farthest - order[j].first) / whole : 1.0 / double(n_near);
    near[j] = int32_t(order[j].second);
    weights[j] = int64_t(std::nearbyint(share * kUnit));
  }
  return order[0].first;
}

void soft_assign(const Rows& rows, const Centres& anchors, size_t n_near, SoftRows& soft, Team& team) {
  soft.resize(rows.n_rows, n_near);
  const ErrorBounds errors(anchors, rows);
  std::vector<PassScratch> pass(team.size());
  std::vector<SoftScratch> scratch(team.size());
  team.each_range(rows.n_rows, tile_rows(rows), [&](size_t begin, size_t end, size_t worker) {
    const std::vector<float*>& line_of = pass[worker].line_of;
    std::vector<uint32_t> which(end - begin);
    std::iota(which.begin(), which.end(), uint32_t(begin));
    pass[worker].make_lines(which.size(), anchors.n_padded());
    distance_pass(rows, which, anchors, line_of, pass[worker]);
    for (size_t i = begin; i < end; ++i)
      soft_assign_row(rows, i, anchors, {{line_of[i - begin], anchors.n_padded()}, {}},
                      errors.of_pass(rows, i, anchors), soft, scratch[worker]);
  });
}

}  // namespace viewpass
