#include "links.hpp"

#include <algorithm>

namespace viewpass {
namespace {

/// One row of a matrix that is summed up.
class RowSum {
 public:
  explicit RowSum(size_t width) : sums_(width, 0), is_used_(width, 0) {}

  void add(size_t column, int64_t value) {
    if (!is_used_[column]) is_used_[column] = 1, used_.push_back(int64_t(column));
    sums_[column] += value;
  }

  /// Appends the entries that are not zero, and begins the next row.  INOUT to.
  void finish(OwnLinks& to) {
    std::sort(used_.begin(), used_.end());
    for (int64_t column : used_) {
      int64_t& sum = sums_[size_t(column)];
      if (sum) to.columns.push_back(column), to.values.push_back(sum);
      sum = 0, is_used_[size_t(column)] = 0;
    }
    used_.clear();
    to.starts.push_back(int64_t(to.columns.size()));
  }

 private:
  std::vector<int64_t> sums_;
  std::vector<char> is_used_;
  std::vector<int64_t> used_;
};

/// Numbers sorted by key, in order: those of key k are from ends[k] to ends[k + 1].
template <class Key>
std::vector<size_t> sorted_by(size_t n, size_t n_keys, const Key& key, std::vector<size_t>& ends) {
  ends.assign(n_keys + 2, 0);
  for (size_t i = 0; i < n; ++i) ++ends[key(i) + 2];
  for (size_t k = 2; k < ends.size(); ++k) ends[k] += ends[k - 1];
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[ends[key(i) + 1]++] = i;
  return order;
}

}  // namespace

OwnLinks links_of(const Mixtures& rows, size_t n_anchors) {
  OwnLinks made{{0}, {}, {}};
  RowSum sum(n_anchors);
  std::vector<size_t> ends;
  const std::vector<size_t> order =
      sorted_by(rows.near.size(), n_anchors, [&](size_t p) { return size_t(rows.near[p]); }, ends);
  for (size_t a = 0; a < n_anchors; ++a) {
    for (size_t at = ends[a]; at < ends[a + 1]; ++at) {
      const size_t p = order[at], i = p / rows.n_near;
      const int64_t weight = rows.weights[p] * (rows.copies.empty() ? 1 : rows.copies[i]);
      for (size_t q = i * rows.n_near; weight && q < (i + 1) * rows.n_near; ++q)
        sum.add(size_t(rows.near[q]), weight * rows.weights[q]);
    }
    sum.finish(made);
  }
  return made;
}

}  // namespace viewpass
