// How far moving centres can have changed a row's distances: rows whose margin that cannot use up keep their
// label.
//
// With |x| <= r a view's distance |u|^2 - 2 x.u changes by (|u'|^2 - |u|^2) - 2 x.(u' - u), which lies within
// 2 r |u' - u| of its first part: at most a rise, at least a (negative) fall. r is 1 for unit rows.
#pragma once

#include "centres.hpp"

namespace viewpass {

/// What the updates of one chunk can have done to distances: in the last update, and since each of them.
class Drift {
 public:
  struct Lowest {  // the most any cluster has come nearer in the last update
    double least, second;
    size_t whose;
  };

  /// A new chunk. `remembered`: whether bounds since earlier updates are wanted.
  void begin(size_t n_views, size_t n_clusters, bool remembered);
  size_t n_updates() const { return n_updates_; }
  /// Whether another update can be remembered; if not, rows must be brought up to date first, then `forget`.
  bool full() const { return n_updates_ - first_ == kMostUpdates; }
  void forget() { first_ = n_updates_; }

  /// A centre of view v has moved: |u' - u|^2 (0: it stays) and |u'|^2 - |u|^2. `longest`: no row is longer.
  void move(size_t v, size_t k, double shift, double change, size_t width, double longest);
  void move_without_bound(size_t v, size_t k);
  /// After all moves of an update. `magnitude`: no distance was, or is, larger.
  void finish_update(double magnitude);

  double rise(size_t v, size_t k) const { return rise_[v][k]; }
  const Lowest& lowest(size_t v) const { return lowest_[v]; }
  /// Since an update, as float32 bounds on what is kept in float32.
  const float* rises(size_t since, size_t v) const { return history(rises_, since, v); }
  const float* falls(size_t since, size_t v) const { return history(falls_, since, v); }
  bool moved_after(size_t k, size_t update) const { return moved_[k] > update; }

 private:
  static constexpr size_t kMostUpdates = 31;

  const float* history(const std::vector<float>& all, size_t since, size_t v) const {
    return all.data() + ((since - first_) * n_views_ + v) * n_padded_;
  }
  void remember(size_t v, double guard);

  size_t n_views_ = 0, n_clusters_ = 0, n_padded_ = 0, n_updates_ = 0, first_ = 0;
  bool remembered_ = false;
  std::vector<std::vector<double>> rise_, fall_;  // of the last update, views x clusters
  std::vector<Lowest> lowest_;
  std::vector<float> rises_, falls_;  // updates x views x clusters (padded): from that update until now
  std::vector<size_t> moved_;         // the last update that moved a cluster
};

}  // namespace viewpass
