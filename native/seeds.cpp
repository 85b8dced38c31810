#include "seeds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "row_distances.hpp"

namespace viewpass {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kTaskRows = 512;
constexpr size_t kNearGroups = 4;  // whose seeds a row is compared with

/// One set of seeds: how far each row is from the nearest of them.
class SeedSet {
 public:
  SeedSet(const Rows& rows, const RowDistances& distances, Span<const double> weights, size_t n_groups,
          Span<int32_t> labels)
      : rows_(rows),
        distances_(distances),
        weights_(weights),
        n_groups_(n_groups),
        labels_(labels),
        nearest_(rows.n_rows, kInfinity),
        far_(rows.n_rows * n_groups, kInfinity) {}

  /// The nearest groups of each row by their first seeds, rank by rank: the first is the row's own.
  std::vector<std::vector<int32_t>> near_groups() const {
    const size_t n_ranks = std::min(kNearGroups, n_groups_);
    std::vector<std::vector<int32_t>> found(n_ranks, std::vector<int32_t>(rows_.n_rows));
    std::vector<int32_t> order(n_groups_);
    for (size_t i = 0; i < rows_.n_rows; ++i) {
      const double* far = far_.data() + i * n_groups_;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(
          order.begin(), order.begin() + std::ptrdiff_t(n_ranks), order.end(),
          [far](int32_t a, int32_t b) { return far[a] < far[b] || (far[a] == far[b] && a < b); });
      for (size_t rank = 0; rank < n_ranks; ++rank) found[rank][i] = order[rank];
    }
    return found;
  }

  /// How far some rows are in all, each times its weight.
  double reach(Span<const uint32_t> which) const {
    const double unknown = average(which);
    double total = 0.0;
    for (uint32_t i : which) total += odds(i, unknown);
    return total;
  }

  /// Which row is drawn: the first at which the odds, added up in order, exceed the point's share of them.
  uint32_t draw(Span<const uint32_t> which, double point) const {
    const double unknown = average(which);
    double total = reach(which);
    const bool alike = !(total > 0.0);  // every row coincides with a seed: any row that has a view will do
    if (alike) {
      total = 0.0;
      for (uint32_t i : which) total += weights_[i];
    }
    const double target = point * total;
    double reached = 0.0;
    for (uint32_t i : which) {
      reached += alike ? weights_[i] : odds(i, unknown);
      if (reached > target) return i;
    }
    return which[which.size() - 1];
  }

  /// Compares rows with seed number k, which is row `seed`; `each(n, work)` shares out n rows.
  template <class Each>
  void compare(Span<const uint32_t> which, size_t k, size_t seed, RowScratch& scratch, const Each& each) {
    distances_.compare(which, seed, scratch, each);
    for (size_t r = 0; r < which.size(); ++r)
      if (scratch.shared[r] > 0.0) {
        const double far = scratch.total[r] / scratch.shared[r];
        if (k < n_groups_) far_[size_t(which[r]) * n_groups_ + k] = far;
        if (far < nearest_[which[r]]) nearest_[which[r]] = far, labels_[which[r]] = int32_t(k);
      }
  }

 private:
  double odds(uint32_t i, double unknown) const {
    return (nearest_[i] < kInfinity ? nearest_[i] : unknown) * weights_[i];
  }

  double average(Span<const uint32_t> which) const {
    double known = 0.0;
    int64_t n_known = 0;
    for (uint32_t i : which)
      if (nearest_[i] < kInfinity)
        known += nearest_[i] * double(rows_.n_copies(i)), n_known += rows_.n_copies(i);
    return n_known ? known / double(n_known) : 1.0;
  }

  const Rows& rows_;
  const RowDistances& distances_;
  Span<const double> weights_;
  size_t n_groups_;
  Span<int32_t> labels_;
  std::vector<double> nearest_, far_;
};

/// Where each group's share of n seeds ends, in proportion to its reach; none if no row is far from a seed.
std::vector<size_t> shared_out(size_t n, const std::vector<double>& reach) {
  double total = 0.0;
  for (double one : reach) total += one;
  std::vector<size_t> ends(reach.size(), 0);
  double sum = 0.0;
  for (size_t j = 0; total > 0.0 && j < reach.size(); ++j) {
    sum += reach[j];
    ends[j] = std::min(n, size_t(double(n) * (sum / total)));
  }
  return ends;
}

}  // namespace

void draw_seeds(const Rows& rows, Grid<const double> points, size_t n_groups, Grid<int32_t> labels,
                Team& team) {
  const size_t n = rows.n_rows, n_seeds = points.n_rows();
  if (n == 0) return;
  std::vector<double> weights(n, 0.0);
  for (size_t i = 0; i < n; ++i)
    for (size_t v = 0; v < rows.n_views(); ++v)
      if (rows.has(v, i)) weights[i] += rows.weights[v] * double(rows.n_copies(i));
  const RowDistances distances(rows);
  std::vector<uint32_t> everyone(n);
  std::iota(everyone.begin(), everyone.end(), 0u);
  std::vector<RowScratch> scratch(team.size());
  const auto together = [&](size_t n_rows, const auto& work) {
    team.each_range(n_rows, kTaskRows, [&](size_t begin, size_t end, size_t) { work(begin, end); });
  };
  const auto alone = [](size_t n_rows, const auto& work) { work(0, n_rows); };
  n_groups = std::min(n_groups, n_seeds);
  std::vector<uint32_t> drawn(n_seeds);  // the row of each seed
  for (size_t set = 0; set < points.width(); ++set) {
    const bool grouped = n_groups < n_seeds;
    SeedSet seeds(rows, distances, weights, grouped ? n_groups : 0, labels[set]);
    for (size_t k = 0; k < n_groups; ++k)
      seeds.compare(everyone, k, seeds.draw(everyone, points[k][set]), scratch[0], together);
    if (!grouped) continue;
    const std::vector<std::vector<int32_t>> near = seeds.near_groups();
    Groups groups;
    groups.sort(n_groups, near[0]);
    std::vector<double> reach(n_groups);
    for (size_t j = 0; j < n_groups; ++j) reach[j] = seeds.reach(groups.of(j));
    const std::vector<size_t> ends = shared_out(n_seeds - n_groups, reach);
    for (size_t rank = 0; rank < near.size(); ++rank) {  // rows of one group at a time, to draw and compare
      groups.sort(n_groups, near[rank]);
      team.each(n_groups, [&](size_t j, size_t worker) {
        const Span<const uint32_t> mine = groups.of(j);
        for (size_t k = n_groups + (j ? ends[j - 1] : 0); k < n_groups + ends[j]; ++k) {
          if (rank == 0) drawn[k] = seeds.draw(mine, points[k][set]);
          seeds.compare(mine, k, drawn[k], scratch[worker], alone);
        }
      });
    }
  }
}

}  // namespace viewpass
