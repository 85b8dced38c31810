#include "births.hpp"

#include <algorithm>
#include <numeric>

#include "row_distances.hpp"

namespace viewpass {
namespace {

constexpr size_t kTaskRows = 256;

}  // namespace

Births open_anchors(const Rows& rows, Span<double> far, const BirthLimits& limits, Span<uint8_t> joined,
                    Team& team) {
  const size_t n = rows.n_rows;
  const RowDistances distances(rows);
  RowScratch scratch;
  std::vector<uint32_t> everyone(n);
  std::iota(everyone.begin(), everyone.end(), 0u);
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
    distances.compare(everyone, tried, scratch, together);
    const auto nearer = [&](size_t i) {
      return scratch.shared[i] > 0.0 && scratch.total[i] / scratch.shared[i] < far[i];
    };
    bool alone = true;
    for (size_t i = 0; alone && i < n; ++i) alone = i == tried || !nearer(i);
    if (alone) {
      births.lone.push_back(int64_t(tried));
      continue;
    }
    births.born.push_back(int64_t(tried));
    joined[tried] = 1;
    for (size_t i = 0; i < n; ++i)
      if (i == tried)
        far[i] = 0.0;
      else if (nearer(i))
        far[i] = scratch.total[i] / scratch.shared[i], joined[i] = 1;
  }
  return births;
}

}  // namespace viewpass
