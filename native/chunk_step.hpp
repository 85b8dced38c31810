// One chunk of Algorithm 1: assign its rows, then update centres and labels in turn until they converge (Eq.
// 11-16).
#pragma once

#include "assignment.hpp"

namespace viewpass {

/// The settings of the inner loop.
struct Rules {
  std::vector<double> alpha;  // the ridge of each view
  size_t max_iter = 20;
  double tol = 1e-6;
  bool fill = true;          // clusters without rows have a centre all the same
  bool zero_filled = false;  // absent rows count as zeros in the mean that fills a first chunk's centres
};

/// How a chunk begins.
enum class Begin {
  centres,       // new rows, assigned by the centres so far
  soft_centres,  // the very first rows; the centres are those of a soft V and count as the first update
  labels,        // the very first rows; their labels are given, and not in the sums yet
  counted        // rows read before; their labels are given, and in the sums
};

/// The state before and after a chunk.
struct State {
  ExactSums total;
  Centres centres;
};

struct Progress {
  size_t n_rows = 0;  // in chunks that are done; fewer than given if a row must be repaired or refused
  std::vector<double> losses;
  size_t n_iter = 0;
  double n_compared = 0.0;  // rows x distance passes
};

class ChunkStep {
 public:
  ChunkStep(State& state, const Rules& rules, Team& team) : state_(state), rules_(rules), team_(team) {}

  /// Runs chunks of `size` rows, one after another.  INOUT labels; OUT margins.
  Progress run(Rows& rows, size_t size, Begin begin, bool first, Span<int32_t> labels, Span<double> margins);

 private:
  bool run_chunk(const Rows& rows, Begin begin, bool first, Span<int32_t> labels, Progress& progress);
  bool assign_and_add();
  void add_came(bool sparse_only);
  void iterate(bool first, size_t n_done, double last_loss, Progress& progress);
  void update(bool first, bool begins);
  void find_means(Fill fill);
  void move_rows();
  void renew_traces();

  State& state_;
  const Rules& rules_;
  Team& team_;
  Assignment assignment_;
  std::vector<OwnSums> parts_;  // of each thread but the first: sums of the rows it read
  std::vector<Groups> groups_;  // of each thread
  Groups left_, came_;          // rows by the cluster they left, and by the one they came to
  std::vector<char> changed_;   // clusters whose sums differ from those the centres were made from
  std::vector<char> seen_;      // views that some row has that counts
  std::vector<std::vector<double>> means_;
};

}  // namespace viewpass
