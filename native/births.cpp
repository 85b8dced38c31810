#include "births.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "distances.hpp"
#include "row_distances.hpp"

namespace viewpass {
namespace {

constexpr size_t kTriedTogether = 48;  // rows whose float32 distances are computed together
constexpr size_t kTaskRows = 12;       // of them per task

/// Tells which rows can be nearer to a tried row than to their nearest anchors, by float32 distances in the
/// dense views. With e the error of these, a row r is farther from row t than its limit if
///
///     sum over shared dense views of |x_r|^2 - 2 x_r.x_t + |x_t|^2, less e  >=  limit x shared weight
///
/// since further views only add to the left side. Exact distances decide about the others.
class RowFilter {
 public:
  explicit RowFilter(const Rows& rows)
      : rows_(rows), patterns_(rows.n_rows), line_(rows.n_rows, nullptr), as_centres_(centres_of(rows)) {
    errors_ = ErrorBounds(as_centres_, rows);
    std::map<std::vector<bool>, uint32_t> numbers;
    for (size_t i = 0; i < rows.n_rows; ++i) {
      std::vector<bool> has(rows.n_views());
      for (size_t v = 0; v < rows.n_views(); ++v) has[v] = rows.has(v, i);
      const auto [at, is_new] = numbers.emplace(std::move(has), uint32_t(numbers.size()));
      if (is_new) examples_.push_back(uint32_t(i));
      patterns_[i] = at->second;
    }
  }

  bool knows(size_t i) const { return line_[i] != nullptr; }

  /// Computes the distances of some rows from all.
  void compute(Span<const uint32_t> which, Team& team) {
    const size_t n_padded = as_centres_.n_padded();
    blocks_.emplace_back();
    float* first = blocks_.back().reserve(which.size() * n_padded);
    for (size_t r = 0; r < which.size(); ++r) line_[which[r]] = first + r * n_padded;
    std::vector<PassScratch> scratch(team.size());
    team.each_range(which.size(), kTaskRows, [&](size_t begin, size_t end, size_t worker) {
      PassScratch& mine = scratch[worker];
      mine.line_of.clear();
      for (size_t r = begin; r < end; ++r) mine.line_of.push_back(line_[which[r]]);
      distance_pass(rows_, which.part(begin, end - begin), as_centres_, mine.line_of, mine);
    });
  }

  /// Lists rows that may be nearer to row `from` than their limits, per view.  OUT found.
  void list(size_t from, Span<const double> limits, std::vector<uint32_t>& found) {
    shared_.assign(examples_.size(), 0.0), own_.assign(examples_.size(), 0.0);
    for (size_t v = 0; v < rows_.n_views(); ++v) {
      if (!rows_.has(v, from)) continue;
      const double square = as_centres_.views[v].ready ? rows_.square(v, from) : 0.0;
      for (size_t p = 0; p < examples_.size(); ++p)
        if (rows_.has(v, examples_[p])) shared_[p] += rows_.weights[v], own_[p] += square;
    }
    const double slack = errors_.of_pass(rows_, from, as_centres_);
    for (double& square : own_) square -= slack + kRounded;
    const float* line = line_[from];
    found.clear();
    for (size_t r = 0; r < rows_.n_rows; ++r) {
      const uint32_t p = patterns_[r];
      const bool farther = double(line[r]) + own_[p] >= limits[r] * shared_[p];  // not where neither is known
      if (!farther && r != from) found.push_back(uint32_t(r));
    }
  }

 private:
  static constexpr double kRounded = 1e-9;  // what lengths and sums in float64 may be off by

  /// The rows as centres; a view that a row lacks is zero there. Others than dense views have none.
  static Centres centres_of(const Rows& rows) {
    Centres made;
    made.n_clusters = rows.n_rows;
    for (size_t v = 0; v < rows.n_views(); ++v) {
      const bool dense = width_of(rows.views[v]) > 0 && !is_sparse(rows.views[v]) && rows.mark(v) == 0.0;
      made.views.emplace_back(rows.n_rows, dense ? width_of(rows.views[v]) : 0, false);
      if (!dense) continue;
      ViewCentres& u = made.views.back();
      std::vector<double> values(u.width);
      with_rows(rows.views[v], [&](const auto& view) {
        for (size_t i = 0; i < rows.n_rows; ++i) {
          if (!rows.has(v, i)) continue;
          const auto row = view[i];
          for (size_t p = 0; p < row.n; ++p) values[row.column(p)] = double(row.values[p]) * rows.scale(v, i);
          u.replace(i, values);
        }
      });
      u.lay_out();
      u.ready = true;
    }
    return made;
  }

  const Rows& rows_;
  std::vector<uint32_t> patterns_, examples_;  // views that each row has, and a row for each such pattern
  std::vector<float*> line_;                   // of each row: its distances, if they are known
  std::vector<Buffer<float>> blocks_;
  Centres as_centres_;
  ErrorBounds errors_;
  std::vector<double> shared_, own_;  // per pattern: weight and squared length in the views shared
};

}  // namespace

Births open_anchors(const Rows& rows, Span<double> far, const BirthLimits& limits, Span<uint8_t> joined,
                    Team& team) {
  const size_t n = rows.n_rows;
  std::fill(joined.begin(), joined.end(), uint8_t(0));
  Births births;
  if (limits.most == 0 || limits.tried == 0) return births;
  const RowDistances distances(rows);
  RowFilter filter(rows);
  RowScratch scratch;
  std::vector<uint32_t> near, together;
  std::vector<char> open(n, 0);
  std::fill(open.begin() + std::ptrdiff_t(std::min(limits.first, n)), open.end(), char(1));
  const auto at_once = [](size_t n_rows, const auto& work) { work(size_t(0), n_rows); };
  const auto farther = [&](uint32_t a, uint32_t b) { return far[a] != far[b] ? far[a] > far[b] : a < b; };
  for (size_t t = 0; t < limits.tried && births.born.size() < limits.most; ++t) {
    size_t tried = n;
    for (size_t i = 0; i < n; ++i)
      if (open[i] && far[i] > 0.0 && (tried == n || far[i] > far[tried])) tried = i;
    if (tried == n) break;
    if (!filter.knows(tried)) {  // those that are farthest now are tried soon
      together.clear();
      for (uint32_t i = 0; i < n; ++i)
        if (open[i] && far[i] > 0.0 && !filter.knows(i)) together.push_back(i);
      const size_t n_next = std::min({kTriedTogether, together.size(), limits.tried - t});
      std::partial_sort(together.begin(), together.begin() + std::ptrdiff_t(n_next), together.end(), farther);
      together.resize(n_next);
      filter.compute(together, team);
    }
    open[tried] = 0;
    filter.list(tried, far, near);
    distances.compare(near, tried, scratch, at_once, far);
    const auto nearer = [&](size_t r) {
      return scratch.shared[r] > 0.0 && scratch.total[r] / scratch.shared[r] < far[near[r]];
    };
    bool alone = true;
    for (size_t r = 0; alone && r < near.size(); ++r) alone = !nearer(r);
    if (alone) {
      births.lone.push_back(int64_t(tried));
      continue;
    }
    births.born.push_back(int64_t(tried));
    joined[tried] = 1;
    for (size_t r = 0; r < near.size(); ++r)
      if (nearer(r)) far[near[r]] = scratch.total[r] / scratch.shared[r], joined[near[r]] = 1;
    far[tried] = 0.0;
  }
  return births;
}

}  // namespace viewpass
