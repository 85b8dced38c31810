#include "births.hpp"

#include <algorithm>
#include <numeric>

#include "row_distances.hpp"

namespace viewpass {
namespace {

constexpr size_t kTaskRows = 256;

}  // namespace

Births open_anchors(const Rows& rows, Span<double> far, const BirthLimits& limits, const MetGroups& groups,
                    Span<uint8_t> joined, Team& team) {
  const size_t n = rows.n_rows, n_groups = groups.met.width();
  const RowDistances distances(rows);
  RowScratch scratch;
  std::vector<uint32_t> everyone(n);
  std::iota(everyone.begin(), everyone.end(), 0u);
  std::vector<std::vector<uint32_t>> meeting(n_groups);  // rows that meet each group
  for (uint32_t i = 0; n_groups && i < n; ++i)
    for (size_t g = 0; g < n_groups; ++g)
      if (groups.met[i][g]) meeting[g].push_back(i);
  const auto together = [&](size_t n_rows, const auto& work) {
    team.each_range(n_rows, kTaskRows, [&](size_t begin, size_t end, size_t) { work(begin, end); });
  };
  std::vector<char> open(n, 0);
  std::fill(open.begin() + std::ptrdiff_t(std::min(limits.first, n)), open.end(), char(1));
  std::fill(joined.begin(), joined.end(), uint8_t(0));
  Births births;
  for (size_t t = 0; t < limits.tried && births.born.size() < limits.most; ++t) {
    size_t tried = n;
    for (size_t i = 0; i < n; ++i)
      if (open[i] && far[i] > 0.0 && (tried == n || far[i] > far[tried])) tried = i;
    if (tried == n) break;
    open[tried] = 0;
    const std::vector<uint32_t>& which = n_groups ? meeting[size_t(groups.own[tried])] : everyone;
    distances.compare(which, tried, scratch, together, far);
    const auto nearer = [&](size_t r) {
      return which[r] != tried && scratch.shared[r] > 0.0 &&
             scratch.total[r] / scratch.shared[r] < far[which[r]];
    };
    bool alone = true;
    for (size_t r = 0; alone && r < which.size(); ++r) alone = !nearer(r);
    if (alone) {
      births.lone.push_back(int64_t(tried));
      continue;
    }
    births.born.push_back(int64_t(tried));
    joined[tried] = 1;
    for (size_t r = 0; r < which.size(); ++r)
      if (nearer(r)) far[which[r]] = scratch.total[r] / scratch.shared[r], joined[which[r]] = 1;
    far[tried] = 0.0;
  }
  return births;
}

}  // namespace viewpass
