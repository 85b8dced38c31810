#include "assignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace viewpass {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kKeptBytes = size_t(1) << 26;  // distances are kept between updates where they fit
constexpr size_t kSmall = size_t(1) << 21;      // multiplications that one thread does sooner than two
constexpr size_t kMostPairs = 16;               // clusters so few that they are compared one by one
constexpr size_t kTogether = 16;                // rows whose bounds are checked before any is compared
constexpr size_t kSpanRows = 96;                // of a task that reassigns rows, at least

}  // namespace

void Assignment::begin(const Rows& rows, size_t n_clusters, Span<int32_t> labels, Team& team, bool again) {
  rows_ = rows;
  labels_ = labels;
  n_clusters_ = n_clusters, n_padded_ = round_up(n_clusters, kVector);
  const size_t n = rows.n_rows;
  margins_.resize(n), slack_.assign(n, 0.0), before_.resize(n);
  as_of_.assign(n, 0), assigned_at_.assign(n, 0);
  kept_ = again && n * n_padded_ * sizeof(float) <= kKeptBytes;
  known_ = false;
  if (kept_) distances_.reserve(n * n_padded_);
  drift_.begin(rows.n_views(), n_clusters, kept_);
  team_ = &team;
  size_t n_values = 0;
  for (const View& view : rows.views) n_values += row_bytes(view) / 4 + 1;
  alone_ = team.size() == 1 || n * n_values * n_clusters <= kSmall;
  scratch_.resize(std::max(scratch_.size(), team.size()));
  for (AssignScratch& mine : scratch_) mine.n_compared = 0.0;
}

void Assignment::take_labels() {
  for (size_t i = 0; i < rows_.n_rows; ++i) {
    if (!rows_.has_any(i)) labels_[i] = -1;
    margins_[i] = labels_[i] < 0 ? kInfinity : -kInfinity;
  }
}

double Assignment::n_compared() const {
  double n = 0.0;
  for (const AssignScratch& mine : scratch_) n += mine.n_compared;
  return n;
}

Kind Assignment::assign(const Centres& centres, const Then& then) {
  errors_ = ErrorBounds(centres, rows_);
  for (AssignScratch& mine : scratch_) mine.worst = Kind::present;
  const size_t size = tile_rows(rows_);
  for_tasks((rows_.n_rows + size - 1) / size, [&](size_t tile, size_t worker) {
    const size_t begin = tile * size, end = std::min(begin + size, rows_.n_rows);
    AssignScratch& mine = scratch_[worker];
    if (!rows_.measured) mine.worst = std::max(mine.worst, rows_.measure(begin, end));
    mine.which.resize(end - begin);
    std::iota(mine.which.begin(), mine.which.end(), uint32_t(begin));
    assign_rows(mine.which, centres, mine);
    if (then) then(worker);
  });
  rows_.measured = true;
  known_ = kept_;
  Kind worst = Kind::present;
  for (const AssignScratch& mine : scratch_) worst = std::max(worst, mine.worst);
  return worst;
}

/// One distance pass over rows, and their labels.
void Assignment::assign_rows(Span<const uint32_t> which, const Centres& centres, AssignScratch& mine) {
  std::vector<float*>& line_of = mine.pass.line_of;
  if (!kept_) mine.pass.make_lines(which.size(), n_padded_);
  line_of.resize(which.size());
  for (size_t r = 0; kept_ && r < which.size(); ++r) line_of[r] = line(which[r]);
  distance_pass(rows_, which, centres, line_of, mine.pass);
  const auto now = uint32_t(drift_.n_updates());
  for (size_t r = 0; r < which.size(); ++r) {
    const uint32_t i = which[r];
    slack_[i] = errors_.of_pass(rows_, i, centres);
    as_of_[i] = assigned_at_[i] = now;
    choose(i, line_of[r], centres, mine);
  }
  mine.n_compared += double(which.size());
}

/// Eq. 16: the nearest cluster of a row, given its distances; float64 decides where float32 cannot.
void Assignment::choose(size_t i, const float* line, const Centres& centres, AssignScratch& mine) {
  if (!rows_.has_any(i)) {
    labels_[i] = -1;
    margins_[i] = kInfinity;
    return;
  }
  const TwoNearest found = kernels().two_nearest(line, n_padded_);
  const double doubt = 2.0 * slack_[i], margin = double(found.second) - double(found.nearest) - doubt;
  if (margin > 0.0) {
    labels_[i] = int32_t(std::find(line, line + n_padded_, found.nearest) - line);
    margins_[i] = margin;
    return;
  }
  mine.near.clear();
  for (size_t k = 0; k < n_clusters_; ++k)
    if (!(double(line[k]) > double(found.nearest) + doubt)) mine.near.push_back(uint32_t(k));
  labels_[i] = int32_t(nearest_exactly(rows_, i, centres, mine.near, mine.found));
  margins_[i] = 0.0;
}

void Assignment::reassign(const Centres& centres) {
  errors_ = ErrorBounds(centres, rows_);
  for (AssignScratch& mine : scratch_) mine.moved.clear();
  const size_t n = rows_.n_rows;
  const size_t n_spans = alone_ ? 1 : std::min(4 * team_->size(), (n + kSpanRows - 1) / kSpanRows);
  for_tasks(n_spans, [&](size_t span, size_t worker) {
    reassign_span(n * span / n_spans, n * (span + 1) / n_spans, centres, scratch_[worker]);
  });
  known_ = kept_;  // every row has been assigned by distances at least once
  moved_.clear();
  for (const AssignScratch& mine : scratch_)
    moved_.insert(moved_.end(), mine.moved.begin(), mine.moved.end());
  if (drift_.full()) {
    if (known_)
      for_tasks(n_spans, [&](size_t span, size_t worker) {
        for (size_t i = n * span / n_spans; i < n * (span + 1) / n_spans; ++i)
          if (labels_[i] >= 0) lower(i, scratch_[worker]);
      });
    drift_.forget();
  }
}

void Assignment::note(uint32_t i, int32_t before, AssignScratch& mine) {
  if (labels_[i] == before || !rows_.n_copies(i)) return;  // a row that does not count moves nothing
  before_[i] = before;
  mine.moved.push_back(i);
}

void Assignment::reassign_span(size_t begin, size_t end, const Centres& centres, AssignScratch& mine) {
  mine.doubtful.clear();
  for (size_t first = begin; first < end; first += kTogether) {  // rows come near while others are checked
    mine.which.clear();
    for (size_t i = first; i < std::min(first + kTogether, end); ++i)
      if (labels_[i] >= 0 && may_have_moved(i, mine)) {
        mine.which.push_back(uint32_t(i));
        if (known_) rows_.prefetch(i);
      }
    for (uint32_t i : mine.which) {
      const int32_t before = labels_[i];
      if (compare_with_few(i, centres, mine))
        note(i, before, mine);
      else
        mine.doubtful.push_back(i);
    }
  }
  const bool few_moved = pick_moved(centres, mine);
  const size_t size = tile_rows(rows_);
  for (size_t start = 0; start < mine.doubtful.size(); start += size) {
    const Span<const uint32_t> which =
        Span<const uint32_t>(mine.doubtful).part(start, std::min(size, mine.doubtful.size() - start));
    mine.labels_before.clear();
    for (uint32_t i : which) mine.labels_before.push_back(labels_[i]);
    few_moved ? compare_with_moved(which, centres, mine) : assign_rows(which, centres, mine);
    for (size_t r = 0; r < which.size(); ++r) note(which[r], mine.labels_before[r], mine);
  }
}

/// Whether the moves of centres can have used up a row's margin: by the most that any cluster can have come
/// nearer; if that is too much, and its distances are known, by what each cluster moved itself.
bool Assignment::may_have_moved(size_t i, AssignScratch& mine) {
  const auto own = size_t(labels_[i]);
  double margin = margins_[i];
  for (size_t v = 0; v < rows_.n_views(); ++v)
    if (rows_.has(v, i)) {
      const Drift::Lowest& low = drift_.lowest(v);
      margin += (low.whose == own ? low.second : low.least) - drift_.rise(v, own);
    }
  margins_[i] = margin;
  if (margin > 0.0) return false;
  if (!known_) return true;
  lower(i, mine);
  return !(margins_[i] > 0.0);
}

/// Brings the bounds on a row's distances up to date: the most its own can be, the least each other can be.
void Assignment::lower(size_t i, AssignScratch& mine) {
  const size_t since = as_of_[i];
  if (since == drift_.n_updates()) return;
  const auto own = size_t(labels_[i]);
  float most = line(i)[own];
  mine.changes.clear();
  for (size_t v = 0; v < rows_.n_views(); ++v)
    if (rows_.has(v, i)) {
      mine.changes.push_back(drift_.falls(since, v));
      most += drift_.rises(since, v)[own];
    }
  const float least = kernels().lower(line(i), n_padded_, mine.changes.data(), mine.changes.size(), own);
  line(i)[own] = most;
  as_of_[i] = uint32_t(drift_.n_updates());
  margins_[i] = double(least) - double(most) - 2.0 * slack_[i];
}

/// Decides a row by its distances from the few clusters that can be nearest; false if they are not few.
bool Assignment::compare_with_few(size_t i, const Centres& centres, AssignScratch& mine) {
  const size_t most = std::min(n_clusters_ / 6, kMostPairs);
  if (!known_ || most < 2) return false;
  float* distances = line(i);
  const auto reach = float(double(distances[labels_[i]]) + 2.0 * slack_[i]);
  const float limit = std::nextafter(reach, std::numeric_limits<float>::infinity());
  float beyond;
  mine.near.resize(most + kVector);
  const size_t n_near = kernels().within(distances, n_padded_, limit, most, mine.near.data(), &beyond);
  if (n_near > most) return false;
  mine.near.resize(n_near);
  double off = errors_.of_pairs(rows_, i, centres);
  if (!(off < kInfinity)) return false;
  slack_[i] = std::max(slack_[i], off);
  mine.near_moved.clear();
  for (uint32_t k : mine.near)
    if (drift_.moved_after(k, assigned_at_[i])) mine.near_moved.push_back(k);
  if (mine.near_moved.size() < n_near) off = slack_[i];  // what was computed of the others still holds
  pair_distances(rows_, i, centres, mine.near_moved, mine.found, mine.pass);
  for (size_t p = 0; p < mine.near_moved.size(); ++p) distances[mine.near_moved[p]] = float(mine.found[p]);
  mine.n_compared += double(mine.near_moved.size()) / double(n_clusters_);
  uint32_t best = 0;
  double nearest = kInfinity, next = kInfinity;
  for (uint32_t k : mine.near) {
    const double value = distances[k];
    next = std::min(next, std::max(nearest, value));
    if (value < nearest) nearest = value, best = k;
  }
  if (next - nearest > 2.0 * off) {
    labels_[i] = int32_t(best);
    const double rest = double(beyond) - nearest - 2.0 * slack_[i] - off;
    margins_[i] = std::min(next - nearest - 2.0 * off, rest);
  } else {
    size_t n = 0;
    for (uint32_t k : mine.near)
      if (!(double(distances[k]) > nearest + 2.0 * off)) mine.near[n++] = k;
    mine.near.resize(n);
    labels_[i] = int32_t(nearest_exactly(rows_, i, centres, mine.near, mine.found));
    margins_[i] = 0.0;
  }
  return true;
}

/// Lists the clusters that moved since the doubtful rows were assigned; says whether they are few.
bool Assignment::pick_moved(const Centres& centres, AssignScratch& mine) {
  if (!known_ || mine.doubtful.size() < kPanel) return false;
  for (const ViewCentres& u : centres.views)
    if (u.ready && u.sparse()) return false;  // laying wide centres out again costs more than it saves
  size_t since = drift_.n_updates();
  for (uint32_t i : mine.doubtful) since = std::min<size_t>(since, assigned_at_[i]);
  mine.moved_clusters.clear();
  for (size_t k = 0; k < n_clusters_; ++k)
    if (drift_.moved_after(k, since)) mine.moved_clusters.push_back(uint32_t(k));
  if (4 * mine.moved_clusters.size() > 3 * n_clusters_ || mine.moved_clusters.empty()) return false;
  mine.picked.pick(centres, mine.moved_clusters);
  return true;
}

/// The same as `assign_rows` where only some clusters have moved: the distances from others still hold.
void Assignment::compare_with_moved(Span<const uint32_t> which, const Centres& centres, AssignScratch& mine) {
  mine.pass.make_lines(which.size(), mine.picked.n_padded());
  distance_pass(rows_, which, mine.picked, mine.pass.line_of, mine.pass);
  for (size_t r = 0; r < which.size(); ++r) {
    const uint32_t i = which[r];
    for (size_t c = 0; c < mine.moved_clusters.size(); ++c)
      line(i)[mine.moved_clusters[c]] = mine.pass.line_of[r][c];
    slack_[i] = std::max(slack_[i], errors_.of_pass(rows_, i, centres));
    as_of_[i] = assigned_at_[i] = uint32_t(drift_.n_updates());
    choose(i, line(i), centres, mine);
  }
  mine.n_compared += double(which.size() * mine.moved_clusters.size()) / double(n_clusters_);
}

}  // namespace viewpass
