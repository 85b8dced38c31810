// Eq. 15-16 for the rows of one chunk: every row to its nearest centre, and again after centres moved.
#pragma once

#include "bounds.hpp"
#include "distances.hpp"

namespace viewpass {

/// The working memory of one thread.
struct AssignScratch {
  PassScratch pass;
  std::vector<uint32_t> which, doubtful, moved, near, near_moved, moved_clusters;
  std::vector<int32_t> labels_before;
  std::vector<double> found;
  std::vector<const float*> changes;
  Centres picked;           // those of moved_clusters
  double n_compared = 0.0;  // rows; fractions of one where not with all clusters
  Kind worst = Kind::present;
};

/// The labels of a chunk's rows, and by how much each row's own cluster is nearest, at least.
class Assignment {
 public:
  /// New rows, not assigned yet. `again`: they will be reassigned.  OUT labels.
  void begin(const Rows& rows, size_t n_clusters, Span<int32_t> labels, Team& team, bool again = true);

  /// Assigns all rows, measuring them first if they are not; `then(worker)` is called for every tile while it
  /// is in cache: its rows are those of assigned(worker). Gives the worst kind of row met.
  using Then = std::function<void(size_t worker)>;
  Kind assign(const Centres& centres, const Then& then = {});

  /// Takes given labels: nothing is known of how near the rows are.
  void take_labels();

  /// Moves of the centres since rows were last assigned; reported by the caller that moves them.
  Drift& drift() { return drift_; }
  /// Reassigns rows whose label the last update may have changed: `moved`, whose label was `before`.
  void reassign(const Centres& centres);
  const std::vector<uint32_t>& moved() const { return moved_; }
  int32_t before(size_t i) const { return before_[i]; }

  const Rows& rows() const { return rows_; }
  Span<int32_t> labels() const { return labels_; }
  Span<const double> margins() const { return margins_; }
  Span<const uint32_t> assigned(size_t worker) const { return scratch_[worker].which; }
  double n_compared() const;

  /// Runs tasks on the team, or on one thread where the chunk is small.
  void for_tasks(size_t n_tasks, const Team::Work& work) {
    alone_ ? team_->each_alone(n_tasks, work) : team_->each(n_tasks, work);
  }
  bool alone() const { return alone_; }
  size_t n_workers() const { return alone_ ? 1 : team_->size(); }

 private:
  float* line(size_t i) const { return distances_.data() + i * n_padded_; }
  void assign_rows(Span<const uint32_t> which, const Centres& centres, AssignScratch& mine);
  void compare_with_moved(Span<const uint32_t> which, const Centres& centres, AssignScratch& mine);
  void choose(size_t i, const float* line, const Centres& centres, AssignScratch& mine);
  void reassign_span(size_t begin, size_t end, const Centres& centres, AssignScratch& mine);
  bool may_have_moved(size_t i, AssignScratch& mine);
  void lower(size_t i, AssignScratch& mine);
  bool compare_with_few(size_t i, const Centres& centres, AssignScratch& mine);
  bool pick_moved(const Centres& centres, AssignScratch& mine);
  void note(uint32_t i, int32_t before, AssignScratch& mine);

  Rows rows_;
  Team* team_ = nullptr;
  bool alone_ = true;
  size_t n_clusters_ = 0, n_padded_ = 0;
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
  bool kept_ = false;        // whether the distances are kept,
  bool known_ = false;       // and they are known
  std::vector<AssignScratch> scratch_;
};

}  // namespace viewpass
