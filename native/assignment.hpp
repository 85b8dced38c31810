// Eq. 15-16 for the rows of one chunk: every row to its nearest centre, and again after centres moved.
#pragma once

#include "bounds.hpp"
#include "distances.hpp"
#include "threads.hpp"

namespace viewpass {

/// What a thread needs to assign rows.
struct AssignScratch {
  PassScratch pass;
  Buffer<float> lines;  // distances that are not kept
  std::vector<float*> line_of;
  std::vector<uint32_t> which, doubtful, moved, near, near_moved, moved_clusters;
  std::vector<int32_t> labels_before;
  std::vector<double> found;
  std::vector<const float*> changes;
  Centres picked;           // those of moved_clusters
  double n_compared = 0.0;  // rows, in parts where not with all clusters
};

/// The labels of a chunk's rows, and by how much each row's own cluster is nearest, at least.
class Assignment {
 public:
  /// New rows, not assigned yet. `again`: they will be reassigned.  OUT labels.
  void begin(const Rows& rows, std::size_t n_clusters, Span<int32_t> labels, Team& team, bool again = true);

  /// Assigns all rows, measuring them first if nobody has; `then(begin, end, worker)` is called for every
  /// tile while it is in cache. Gives the worst kind of row met.
  template <class Then>
  Kind assign(const Centres& centres, const Then& then) {
    errors_ = ErrorBounds(centres);
    std::atomic<uint8_t> worst{uint8_t(Kind::present)};
    const std::size_t size = tile_rows(rows_);
    for_tasks((rows_.n_rows + size - 1) / size, [&](std::size_t tile, std::size_t worker) {
      const std::size_t begin = tile * size, end = std::min(begin + size, rows_.n_rows);
      if (!rows_.measured) {
        const auto kind = uint8_t(rows_.measure(begin, end));
        for (uint8_t known = worst; kind > known && !worst.compare_exchange_weak(known, kind);) {
        }
      }
      assign_tile(begin, end, centres, scratch_[worker]);
      then(begin, end, worker);
    });
    rows_.measured = true;
    known_ = kept_;
    return Kind(worst.load());
  }

  /// The threads to work with from now on.
  void set_team(Team& team);

  /// Takes given labels: nothing is known of how near the rows are.
  void take_labels();

  /// Moves of the centres since rows were last assigned; reported by the caller that moves them.
  Drift& drift() { return drift_; }
  /// Assigns rows anew whose label the last update may have changed. Rows that moved: `moved`, `before`.
  void reassign(const Centres& centres);
  const std::vector<uint32_t>& moved() const { return moved_; }
  int32_t before(std::size_t i) const { return before_[i]; }

  const Rows& rows() const { return rows_; }
  Span<int32_t> labels() const { return labels_; }
  Span<const double> margins() const { return margins_; }
  /// The float32 distances of a row that has just been assigned, and what they may be off by.
  const float* line(std::size_t i, const AssignScratch& mine, std::size_t tile_begin) const {
    return kept_ ? line(i) : mine.line_of[i - tile_begin];
  }
  double slack(std::size_t i) const { return slack_[i]; }
  AssignScratch& scratch(std::size_t worker) { return scratch_[worker]; }
  double n_compared() const;

  /// Tasks shared out among the team, or done alone where the chunk is small.
  template <class Work>
  void for_tasks(std::size_t n_tasks, const Work& work) {
    alone_ ? team_->each_alone(n_tasks, work) : team_->each(n_tasks, work);
  }
  bool alone() const { return alone_; }
  std::size_t n_workers() const { return alone_ ? 1 : team_->size(); }

 private:
  float* line(std::size_t i) const { return distances_.data() + i * n_padded_; }
  void assign_tile(std::size_t begin, std::size_t end, const Centres& centres, AssignScratch& mine);
  void assign_rows(Span<const uint32_t> which, const Centres& centres, AssignScratch& mine);
  void compare_with_moved(Span<const uint32_t> which, const Centres& centres, AssignScratch& mine);
  void choose(std::size_t i, const float* line, const Centres& centres, AssignScratch& mine);
  void reassign_span(std::size_t begin, std::size_t end, const Centres& centres, AssignScratch& mine);
  bool may_have_moved(std::size_t i, AssignScratch& mine);
  void lower(std::size_t i, AssignScratch& mine);
  bool compare_with_few(std::size_t i, const Centres& centres, AssignScratch& mine);
  bool pick_moved(const Centres& centres, AssignScratch& mine);
  void note(uint32_t i, int32_t before, AssignScratch& mine);

  Rows rows_;
  Team* team_ = nullptr;
  bool alone_ = true;
  std::size_t n_clusters_ = 0, n_padded_ = 0;
  ErrorBounds errors_;
  Drift drift_;
  Span<int32_t> labels_;
  std::vector<double> margins_;        // by how much the own cluster is nearest, at least
  std::vector<double> slack_;          // what the distances may be off by
  std::vector<uint32_t> as_of_;        // the update until which the distances hold, as bounds,
  std::vector<uint32_t> assigned_at_;  // and the one until which they are what was computed
  std::vector<int32_t> before_;        // labels of rows that moved, until then
  std::vector<uint32_t> moved_;
  Buffer<float> distances_;  // rows x clusters (padded)
  bool kept_ = false;        // whether there is room for the distances,
  bool known_ = false;       // and they are known
  std::vector<AssignScratch> scratch_;
};

}  // namespace viewpass
