#include "chunk_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace viewpass {

Progress ChunkStep::run(Rows& rows, size_t size, Begin begin, bool first, Span<int32_t> labels,
                        Span<double> margins) {
  Progress progress;
  state_.centres.suit(rows);
  groups_.resize(team_.size()), parts_.resize(team_.size());
  for (size_t from = 0; from < rows.n_rows; from += size) {
    const size_t n = std::min(size, rows.n_rows - from);
    const bool done = run_chunk(rows.part(from, from + n), begin, first, labels.part(from, n), progress);
    if (!done) return progress;
    const Span<const double> found = assignment_.margins();
    std::copy(found.begin(), found.end(), margins.begin() + from);
    progress.n_rows += n;
    progress.n_compared += assignment_.n_compared();
    first = false;
  }
  rows.measured = true;
  return progress;
}

/// False if a row must be repaired or refused: nothing has changed then.
bool ChunkStep::run_chunk(const Rows& rows, Begin begin, bool first, Span<int32_t> labels,
                          Progress& progress) {
  assignment_.begin(rows, state_.centres.n_clusters, labels, team_);
  means_.assign(rows.n_views(), {});
  size_t n_done = 0;
  double last_loss = std::numeric_limits<double>::quiet_NaN();
  if (begin == Begin::labels || begin == Begin::counted) {
    assignment_.take_labels();
    if (begin == Begin::labels) {
      came_.sort(state_.total.n_clusters, labels);
      add_came(false);
    }
  } else if (!assign_and_add()) {
    return false;
  }
  if (begin == Begin::soft_centres) {
    renew_traces();
    last_loss = loss(state_.centres, state_.total, rules_.alpha);
    n_done = 1;
  }
  iterate(first, n_done, last_loss, progress);
  return true;
}

/// Eq. 15-16 for new rows, which are added to the sums (Eq. 12) tile by tile, while they are in cache.
bool ChunkStep::assign_and_add() {
  const Rows& rows = assignment_.rows();
  const size_t n_clusters = state_.total.n_clusters, n_workers = assignment_.n_workers();
  std::vector<size_t> dense, widths = rows.widths();
  for (size_t v = 0; v < widths.size(); ++v)
    if (is_sparse(rows.views[v]))
      widths[v] = 0;  // added later: the sums of sparse views are wide
    else if (widths[v])
      dense.push_back(v);
  for (size_t worker = 1; worker < n_workers; ++worker)
    if (parts_[worker].empty()) parts_[worker] = OwnSums(n_clusters, widths);
  const Kind worst = assignment_.assign(state_.centres, [&](size_t worker) {
    Groups& groups = groups_[worker];
    groups.sort(n_clusters, assignment_.assigned(worker), [&](size_t i) { return assignment_.labels()[i]; });
    const ExactSums& sums = worker == 0 ? state_.total : parts_[worker].get();
    for (size_t k = 0; k < n_clusters; ++k)
      for (size_t v : dense) sums.add(rows, v, k, groups.of(k), 1);
  });
  if (n_workers > 1)
    assignment_.for_tasks(n_clusters, [&](size_t k, size_t) {
      for (size_t worker = 1; worker < n_workers; ++worker) {
        state_.total.add(parts_[worker].get(), k);
        parts_[worker].get().clear(k);
      }
    });
  came_.sort(n_clusters, assignment_.labels());
  if (worst > Kind::present) {  // only the sums have changed: subtracting restores them to the bit
    for (size_t k = 0; k < n_clusters; ++k)
      for (size_t v : dense) state_.total.add(rows, v, k, came_.of(k), -1);
    return false;
  }
  add_came(true);
  return true;
}

/// Adds the rows of `came_`: every cluster and view is a task.
void ChunkStep::add_came(bool sparse_only) {
  const Rows& rows = assignment_.rows();
  std::vector<size_t> views;
  for (size_t v = 0; v < rows.n_views(); ++v)
    if (!sparse_only || is_sparse(rows.views[v])) views.push_back(v);
  assignment_.for_tasks(views.size() * state_.total.n_clusters, [&](size_t task, size_t) {
    const size_t v = views[task % views.size()], k = task / views.size();
    state_.total.add(rows, v, k, came_.of(k), 1);
  });
}

/// Centres (Eq. 13) and labels (Eq. 15-16) in turn until no label moves, the loss converges, or max_iter.
void ChunkStep::iterate(bool first, size_t n_done, double last_loss, Progress& progress) {
  const Rows& rows = assignment_.rows();
  seen_.assign(rows.n_views(), 0);
  for (size_t v = 0; v < rows.n_views(); ++v) seen_[v] = rows.counts(v);
  size_t n_iter = n_done;
  double value = last_loss;
  if (std::none_of(seen_.begin(), seen_.end(), [](char s) { return s != 0; })) {
    renew_traces();
    value = loss(state_.centres, state_.total, rules_.alpha);
    n_iter = rules_.max_iter;
  } else {
    changed_.assign(state_.total.n_clusters, 1);
  }
  const size_t n_before = n_iter;
  while (n_iter < rules_.max_iter) {
    update(first, n_iter == n_done);
    ++n_iter;
    assignment_.reassign(state_.centres);
    move_rows();
    value = loss(state_.centres, state_.total, rules_.alpha);
    if (assignment_.moved().empty()) break;
    if (std::abs(value - last_loss) < rules_.tol * std::abs(last_loss)) break;
    last_loss = value;
  }
  progress.losses.push_back(value);
  progress.n_iter += n_iter - n_before + n_done;
}

/// The chunk's means that fill empty clusters, before threads share the work.
void ChunkStep::find_means(Fill fill) {
  const Rows& rows = assignment_.rows();
  for (size_t v = 0; fill != Fill::zero && v < rows.n_views(); ++v)
    for (size_t k = 0; seen_[v] && means_[v].empty() && k < state_.total.n_clusters; ++k)
      if (state_.total.counts[v][k] == 0 && !state_.centres.views[v].keeps(k, fill)) {
        const bool zeros_too = fill == Fill::chunk_mean && rules_.zero_filled;
        means_[v] = mean_row(rows, v, zeros_too ? rows.n_counted() : 0);
      }
}

/// Eq. 13 for the clusters that changed, and how far their moves can have changed distances.
void ChunkStep::update(bool first, bool begins) {
  const size_t n_clusters = state_.total.n_clusters, n_views = assignment_.rows().n_views();
  const Fill fill = !rules_.fill ? Fill::zero : first ? Fill::chunk_mean : Fill::last_centre;
  const double before = ErrorBounds(state_.centres, assignment_.rows()).magnitude;
  find_means(fill);
  const CentreUpdate updated{state_.total, seen_, changed_, means_, rules_.alpha, fill};
  Drift& drift = assignment_.drift();
  const size_t n_lots = assignment_.alone() ? 1 : std::min(n_clusters, 4 * team_.size());
  assignment_.for_tasks(n_lots, [&](size_t lot, size_t) {
    for (size_t v = 0; v < n_views; ++v)
      for (size_t k = n_clusters * lot / n_lots; k < n_clusters * (lot + 1) / n_lots; ++k) {
        ViewCentres& u = state_.centres.views[v];
        const double square = u.squares[k], shift = updated.renew(u, v, k, begins);
        if (seen_[v] && !u.ready)
          drift.move_without_bound(v, k);
        else
          drift.move(v, k, shift, u.squares[k] - square, u.width, assignment_.rows().reach(v));
      }
  });
  std::vector<std::pair<size_t, size_t>> parts;  // of layouts: view, part
  for (size_t v = 0; v < n_views; ++v)
    for (size_t part = 0; seen_[v] && part < state_.centres.views[v].n_layout_parts(); ++part)
      parts.emplace_back(v, part);
  const std::vector<char> all(n_clusters, 1);
  assignment_.for_tasks(parts.size(), [&](size_t task, size_t) {
    ViewCentres& u = state_.centres.views[parts[task].first];
    u.lay_out(parts[task].second, u.ready ? changed_ : all);
  });
  for (size_t v = 0; v < n_views; ++v)
    if (seen_[v]) updated.finish(state_.centres.views[v], v);
  drift.finish_update(std::max(before, ErrorBounds(state_.centres, assignment_.rows()).magnitude));
}

/// Moves rows between sums (Eq. 12).
void ChunkStep::move_rows() {
  std::fill(changed_.begin(), changed_.end(), 0);
  if (assignment_.moved().empty()) return;
  const size_t n_clusters = state_.total.n_clusters;
  left_.sort(n_clusters, assignment_.moved(), [&](size_t i) { return assignment_.before(i); });
  came_.sort(n_clusters, assignment_.moved(), [&](size_t i) { return assignment_.labels()[i]; });
  assignment_.for_tasks(n_clusters, [&](size_t k, size_t) {
    if (left_.of(k).empty() && came_.of(k).empty()) return;
    changed_[k] = 1;
    for (size_t v = 0; v < assignment_.rows().n_views(); ++v) {
      state_.total.add(assignment_.rows(), v, k, left_.of(k), -1);
      state_.total.add(assignment_.rows(), v, k, came_.of(k), 1);
      ViewCentres& u = state_.centres.views[v];
      if (u.ready) u.traces[k] = u.trace_of(k, state_.total.sums[v][k]);
    }
  });
}

void ChunkStep::renew_traces() {
  for (size_t v = 0; v < state_.centres.n_views(); ++v)
    for (size_t k = 0; state_.centres.views[v].ready && k < state_.total.n_clusters; ++k)
      state_.centres.views[v].traces[k] = state_.centres.views[v].trace_of(k, state_.total.sums[v][k]);
}

}  // namespace viewpass
