#include "chunk_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace viewpass {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool counts_given(Begin begin) { return begin == Begin::labels || begin == Begin::counted; }

}  // namespace

Progress ChunkStep::run(Rows& rows, std::size_t size, Begin begin, bool first, Span<int32_t> labels,
                        Span<double> margins) {
  Progress progress;
  state_.centres.suit(rows);
  groups_.resize(team_.size()), scratch_.resize(team_.size()), parts_.resize(team_.size());
  for (std::size_t from = 0; from < rows.n_rows; from += size) {
    const std::size_t n = std::min(size, rows.n_rows - from);
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

/// False if a row must be mended or refused: nothing has changed then.
bool ChunkStep::run_chunk(const Rows& rows, Begin begin, bool first, Span<int32_t> labels,
                          Progress& progress) {
  assignment_.begin(rows, state_.centres.n_clusters, labels, team_);
  means_.assign(rows.n_views(), {});
  std::size_t n_done = 0;
  double last_loss = kNaN;
  if (counts_given(begin)) {
    assignment_.take_labels();
    if (begin == Begin::labels) add_given();
  } else if (!assign_and_add()) {
    return false;
  }
  if (begin == Begin::soft_centres) {
    renew_traces();
    last_loss = loss(state_.centres, state_.total, rules_.alpha);
    n_done = 1;
  }
  if (state_.links.data() && begin == Begin::centres)
    add_links(soft_.near, soft_.weights, soft_.n_near, state_.links);
  settle(first, n_done, last_loss, progress);
  if (state_.links.data() && begin == Begin::counted) {
    soft_assign(assignment_.rows(), state_.centres, soft_, team_);
    add_links(soft_.near, soft_.weights, soft_.n_near, state_.links);
  }
  return true;
}

/// Eq. 15-16 for new rows, which are added to the sums (Eq. 12) tile by tile, while they are in cache.
bool ChunkStep::assign_and_add() {
  const std::size_t n_clusters = state_.total.n_clusters;
  std::vector<std::size_t> dense;
  std::vector<std::size_t> widths = assignment_.rows().widths();
  for (std::size_t v = 0; v < widths.size(); ++v) {
    const bool here = widths[v] && !is_sparse(assignment_.rows().views[v]);
    if (here) dense.push_back(v);
    if (!here) widths[v] = 0;  // added later: the sums of sparse views are wide
  }
  for (std::size_t worker = 1; worker < assignment_.n_workers(); ++worker)
    if (parts_[worker].empty()) parts_[worker] = OwnSums(n_clusters, widths);
  const bool mixed = state_.links.data() != nullptr;
  std::vector<SoftScratch> soft_scratch(mixed ? team_.size() : 0);
  if (mixed) soft_.resize(assignment_.rows().n_rows, n_clusters);
  const Kind worst =
      assignment_.assign(state_.centres, [&](std::size_t begin, std::size_t end, std::size_t worker) {
        const Rows& rows = assignment_.rows();
        AssignScratch& mine = assignment_.scratch(worker);
        for (std::size_t i = begin; mixed && i < end; ++i)
          soft_assign_row(rows, i, state_.centres, assignment_.line(i, mine, begin), assignment_.slack(i),
                          soft_, soft_scratch[worker]);
        Groups& groups = groups_[worker];
        groups.sort(n_clusters, mine.which, [&](std::size_t i) { return assignment_.labels()[i]; });
        const ExactSums& sums = worker == 0 ? state_.total : parts_[worker].get();
        for (std::size_t k = 0; k < n_clusters; ++k)
          if (const Span<const uint32_t> some = groups.of(k); !some.empty())
            for (std::size_t v : dense) sums.add(rows, v, k, some, 1);
      });
  if (assignment_.n_workers() > 1)
    assignment_.for_tasks(n_clusters, [&](std::size_t k, std::size_t) {
      for (std::size_t worker = 1; worker < assignment_.n_workers(); ++worker) {
        state_.total.add(parts_[worker].get(), k);
        parts_[worker].get().clear(k);
      }
    });
  std::vector<uint32_t> everyone(assignment_.rows().n_rows);
  std::iota(everyone.begin(), everyone.end(), 0u);
  came_.sort(n_clusters, everyone, [&](std::size_t i) { return assignment_.labels()[i]; });
  if (worst > Kind::present) {  // nothing has changed but the sums: what was added is taken away, to the bit
    for (std::size_t k = 0; k < n_clusters; ++k)
      for (std::size_t v : dense) state_.total.add(assignment_.rows(), v, k, came_.of(k), -1);
    return false;
  }
  add_sparse();
  return true;
}

/// Adds the rows of `came_` in sparse views, every cluster and view a task: their sums lie apart.
void ChunkStep::add_sparse() {
  std::vector<std::size_t> sparse;
  for (std::size_t v = 0; v < assignment_.rows().n_views(); ++v)
    if (is_sparse(assignment_.rows().views[v])) sparse.push_back(v);
  assignment_.for_tasks(sparse.size() * state_.total.n_clusters, [&](std::size_t task, std::size_t) {
    const std::size_t v = sparse[task % sparse.size()], k = task / sparse.size();
    state_.total.add(assignment_.rows(), v, k, came_.of(k), 1);
  });
}

/// Adds rows whose labels are given.
void ChunkStep::add_given() {
  const std::size_t n_clusters = state_.total.n_clusters;
  std::vector<uint32_t> everyone(assignment_.rows().n_rows);
  std::iota(everyone.begin(), everyone.end(), 0u);
  came_.sort(n_clusters, everyone, [&](std::size_t i) { return assignment_.labels()[i]; });
  assignment_.for_tasks(n_clusters, [&](std::size_t k, std::size_t) {
    for (std::size_t v = 0; v < assignment_.rows().n_views(); ++v)
      state_.total.add(assignment_.rows(), v, k, came_.of(k), 1);
  });
}

/// Centres (Eq. 13) and labels (Eq. 15-16) in turn until no label moves, the loss stands still, or max_iter.
void ChunkStep::settle(bool first, std::size_t n_done, double last_loss, Progress& progress) {
  const Rows& rows = assignment_.rows();
  seen_.assign(rows.n_views(), 0);
  for (std::size_t v = 0; v < rows.n_views(); ++v) seen_[v] = rows.seen(v);
  std::size_t n_iter = n_done;
  double value = last_loss;
  if (std::none_of(seen_.begin(), seen_.end(), [](char s) { return s != 0; })) {
    renew_traces();
    value = loss(state_.centres, state_.total, rules_.alpha);
    n_iter = rules_.max_iter;
  } else {
    changed_.assign(state_.total.n_clusters, 1);
  }
  const std::size_t n_before = n_iter;
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

// ---- centres
// -----------------------------------------------------------------------------------------------

/// The chunk's means that an empty cluster may want, before threads share the work.
void ChunkStep::find_means(Fill fill) {
  const Rows& rows = assignment_.rows();
  for (std::size_t v = 0; fill != Fill::zero && v < rows.n_views(); ++v)
    for (std::size_t k = 0; seen_[v] && means_[v].empty() && k < state_.total.n_clusters; ++k)
      if (state_.total.counts[v][k] == 0 && !state_.centres.views[v].keeps(k, fill)) {
        std::size_t n = 0;
        if (fill == Fill::chunk_mean && rules_.zero_filled)
          for (std::size_t i = 0; i < rows.n_rows; ++i) n += rows.has_any(i);
        means_[v] = mean_row(rows, v, n);
      }
}

/// Eq. 13 for the clusters that changed, and what their moves can have done to distances.
void ChunkStep::update(bool first, bool begins) {
  const std::size_t n_clusters = state_.total.n_clusters, n_views = assignment_.rows().n_views();
  const Fill fill = !rules_.fill ? Fill::zero : first ? Fill::chunk_mean : Fill::last_centre;
  const double before = ErrorBounds(state_.centres).magnitude;
  find_means(fill);
  const std::size_t n_lots = assignment_.alone() ? 1 : std::min(n_clusters, 4 * team_.size());
  assignment_.for_tasks(n_lots, [&](std::size_t lot, std::size_t worker) {
    for (std::size_t v = 0; v < n_views; ++v)
      for (std::size_t k = n_clusters * lot / n_lots; k < n_clusters * (lot + 1) / n_lots; ++k)
        update_cluster(v, k, fill, begins, scratch_[worker]);
  });
  std::vector<std::pair<std::size_t, std::size_t>> parts;  // of layouts: view, part
  for (std::size_t v = 0; v < n_views; ++v)
    for (std::size_t part = 0; seen_[v] && part < state_.centres.views[v].n_layout_parts(); ++part)
      parts.emplace_back(v, part);
  const std::vector<char> everyone(n_clusters, 1);
  assignment_.for_tasks(parts.size(), [&](std::size_t task, std::size_t) {
    ViewCentres& u = state_.centres.views[parts[task].first];
    u.lay_out(parts[task].second, u.ready ? changed_ : everyone);
  });
  for (std::size_t v = 0; v < n_views; ++v)
    if (seen_[v]) {
      ViewCentres& u = state_.centres.views[v];
      u.ready = true;
      for (std::size_t k = 0; k < n_clusters; ++k) u.known[k] |= rules_.fill || state_.total.counts[v][k] > 0;
    }
  assignment_.drift().finish_update(std::max(before, ErrorBounds(state_.centres).magnitude));
}

void ChunkStep::update_cluster(std::size_t v, std::size_t k, Fill fill, bool begins,
                               std::vector<double>& scratch) {
  ViewCentres& u = state_.centres.views[v];
  const ExactSums& total = state_.total;
  Drift& drift = assignment_.drift();
  drift.stay(v, k);
  if (!seen_[v]) {
    if (begins && u.ready) u.traces[k] = u.trace_of(k, total.sums[v][k]);  // rows may have moved since
    return;
  }
  if (!changed_[k] && u.ready) return;
  const double before = u.squares[k];
  const double shift =
      u.renew(k, total.sums[v][k], total.counts[v][k], rules_.alpha, fill, means_[v], scratch);
  if (!u.ready)
    drift.move_without_bound(v, k);
  else if (shift > 0.0)
    drift.move(v, k, shift, u.squares[k] - before, u.width);
}

/// Lets the sums follow the rows that moved (Eq. 12).
void ChunkStep::move_rows() {
  std::fill(changed_.begin(), changed_.end(), 0);
  if (assignment_.moved().empty()) return;
  const std::size_t n_clusters = state_.total.n_clusters;
  left_.sort(n_clusters, assignment_.moved(), [&](std::size_t i) { return assignment_.before(i); });
  came_.sort(n_clusters, assignment_.moved(), [&](std::size_t i) { return assignment_.labels()[i]; });
  assignment_.for_tasks(n_clusters, [&](std::size_t k, std::size_t) {
    if (left_.of(k).empty() && came_.of(k).empty()) return;
    changed_[k] = 1;
    for (std::size_t v = 0; v < assignment_.rows().n_views(); ++v) {
      state_.total.add(assignment_.rows(), v, k, left_.of(k), -1);
      state_.total.add(assignment_.rows(), v, k, came_.of(k), 1);
      ViewCentres& u = state_.centres.views[v];
      if (u.ready) u.traces[k] = u.trace_of(k, state_.total.sums[v][k]);
    }
  });
}

void ChunkStep::renew_traces() {
  for (std::size_t v = 0; v < state_.centres.n_views(); ++v)
    for (std::size_t k = 0; state_.centres.views[v].ready && k < state_.total.n_clusters; ++k)
      state_.centres.views[v].traces[k] = state_.centres.views[v].trace_of(k, state_.total.sums[v][k]);
}

void update_centres(Centres& centres, const ExactSums& total, Span<const char> seen, Span<const char> changed,
                    double alpha, bool fill, const std::vector<std::vector<double>>& means) {
  std::vector<double> scratch;
  for (std::size_t v = 0; v < centres.n_views(); ++v) {
    ViewCentres& u = centres.views[v];
    if (!seen[v]) {
      for (std::size_t k = 0; u.ready && k < total.n_clusters; ++k)
        u.traces[k] = u.trace_of(k, total.sums[v][k]);
      continue;
    }
    for (std::size_t k = 0; k < total.n_clusters; ++k) {
      if (!changed[k] && u.ready) continue;
      u.renew(k, total.sums[v][k], total.counts[v][k], alpha, fill ? Fill::last_centre : Fill::zero, means[v],
              scratch);
    }
    u.lay_out();
    u.ready = true;
    for (std::size_t k = 0; k < total.n_clusters; ++k) u.known[k] |= fill || total.counts[v][k] > 0;
  }
}

}  // namespace viewpass
