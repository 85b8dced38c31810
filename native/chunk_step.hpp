// One chunk of Algorithm 1: assign its rows, then centres and labels in turn until they settle (Eq. 11-16).
#pragma once

#include "assignment.hpp"
#include "soft_assignment.hpp"

namespace viewpass {

/// The settings of the inner loop.
struct Rules {
  double alpha = 0.1;  // the ridge
  std::size_t max_iter = 20;
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

/// Where chunks are told to start, and what they leave.
struct State {
  ExactSums total;
  Centres centres;
  Grid<int64_t> links;  // what anchors have in common; empty: not asked for
};

struct Progress {
  std::size_t n_rows = 0;  // in chunks that are done; fewer than there are if a row must be mended or refused
  std::vector<double> losses;
  std::size_t n_iter = 0;
  double n_compared = 0.0;  // rows x distance passes
};

class ChunkStep {
 public:
  /// `state`: what is known before, and after.
  ChunkStep(State& state, const Rules& rules, Team& team) : state_(state), rules_(rules), team_(team) {}

  /// Chunks of `size` rows, one after another. INOUT labels; OUT margins.
  Progress run(Rows& rows, std::size_t size, Begin begin, bool first, Span<int32_t> labels,
               Span<double> margins);

 private:
  bool run_chunk(const Rows& rows, Begin begin, bool first, Span<int32_t> labels, Progress& progress);
  bool assign_and_add();
  void add_given();
  void add_sparse();
  void settle(bool first, std::size_t n_done, double last_loss, Progress& progress);
  void update(bool first, bool begins);
  void update_cluster(std::size_t v, std::size_t k, Fill fill, bool begins, std::vector<double>& scratch);
  void find_means(Fill fill);
  void move_rows();
  void renew_traces();

  State& state_;
  const Rules& rules_;
  Team& team_;
  Assignment assignment_;
  std::vector<OwnSums> parts_;  // of each thread but the first: sums of the rows it read
  std::vector<Groups> groups_;  // of each thread
  Groups left_, came_;
  std::vector<std::vector<double>> scratch_;  // of each thread
  std::vector<char> changed_;  // clusters whose sums differ from those the centres were made from
  std::vector<char> seen_;     // views that some row has
  std::vector<std::vector<double>> means_;
  SoftRows soft_;
};

/// Eq. 13 by itself, from whole statistics: for centres made elsewhere than in a chunk step. `seen`: views
/// whose centres are to be made; `means`: what fills a view's centres where a cluster never had one.  INOUT
/// centres.
void update_centres(Centres& centres, const ExactSums& total, Span<const char> seen, Span<const char> changed,
                    double alpha, bool fill, const std::vector<std::vector<double>>& means);

}  // namespace viewpass
