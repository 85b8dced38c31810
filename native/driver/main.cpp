// Runs the core on made rows and prints a hash of every result: the same lines from any compiler, on any
// processor.
//
//   viewpass_driver 5           with five threads
//   viewpass_driver --kernels   the names that VIEWPASS_KERNELS can have here
//
// The margins of chunks and the number of comparisons are left out: they come from the float32 filter
// (kernels.hpp).
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "agglomeration.hpp"
#include "chunk_step.hpp"
#include "example.hpp"
#include "hash.hpp"
#include "links.hpp"
#include "nnls.hpp"
#include "scaling.hpp"
#include "seeds.hpp"
#include "small_kmeans.hpp"
#include "soft_assignment.hpp"
#include "soft_start.hpp"
#include "spectrum.hpp"

namespace viewpass {
namespace {

constexpr std::size_t kRows = 2400, kFirst = 600, kChunk = 700, kClusters = 43, kGroups = 9;

// ---- what is printed
// ---------------------------------------------------------------------------------------

template <class... Results>
void report(const char* name, const Results&... results) {
  Hash hash;
  (hash.add(results), ...);
  std::printf("%-30s %016" PRIx64 "\n", name, hash.get());
}

std::vector<double> drawn(std::size_t n, uint64_t seed) {
  Draws draws(seed);
  std::vector<double> found(n);
  for (double& x : found) x = draws.next();
  return found;
}

// ---- Algorithm 1
// -------------------------------------------------------------------------------------------

void report_state(const char* name, const State& state, const std::vector<int32_t>& labels,
                  const Progress& progress) {
  const std::string of = std::string(name) + ", ";
  report((of + "labels").c_str(), labels);
  report((of + "sums").c_str(), state.total.sums, state.total.counts);
  report((of + "centres").c_str(), state.centres);
  report((of + "losses").c_str(), progress.losses, progress.n_iter, progress.n_rows);
}

/// A ridge for each view.
std::vector<double> ridges(const Rows& rows) {
  std::vector<double> alpha(rows.n_views());
  for (std::size_t v = 0; v < alpha.size(); ++v) alpha[v] = 0.1 * double(v + 1);
  return alpha;
}

/// The published start and two passes; gives the centres in the end.
Centres soft_start_and_passes(Rows& rows, std::vector<int32_t>& labels, Team& team) {
  Rows first = rows.part(0, kFirst), rest = rows.part(kFirst, kRows);
  std::vector<double> memberships = drawn(kFirst * kClusters, 1);
  for (std::size_t i = 0; i < kFirst; ++i) memberships[i * kClusters + 5] = 0.0;  // nobody's: it is filled
  const Grid<const double> soft(memberships.data(), kFirst, kClusters);
  const std::vector<double> none(rows.n_views(), 0.0), alpha = ridges(rows);
  report("soft start, fewer rows",
         soft_centres(rows.part(0, 30), {soft.data(), 30, kClusters}, none, true, false, team));

  const OwnSums sums(kClusters, rows.widths());
  State state{sums.get(), soft_centres(first, soft, alpha, true, false, team)};
  report("soft start", state.centres);
  Rules rules;
  rules.alpha = alpha;
  ChunkStep step(state, rules, team);
  std::vector<double> margins(kRows);
  const Span<int32_t> all(labels);
  Progress done = step.run(first, kFirst, Begin::soft_centres, true, all.part(0, kFirst), margins);
  report_state("first chunk", state, labels, done);
  done = step.run(rest, kChunk, Begin::centres, false, all.part(kFirst, kRows - kFirst), margins);
  report_state("first pass", state, labels, done);
  done = step.run(rows, kChunk, Begin::counted, false, labels, margins);
  report_state("second pass", state, labels, done);
  return state.centres;
}

void seeds_and_labels(Rows& rows, Team& team) {
  const std::vector<double> points = drawn(kGroups * 3, 2);
  std::vector<int32_t> labels(3 * kRows, 0);
  draw_seeds(rows, {points.data(), kGroups, 3}, kGroups / 2, {labels.data(), 3, kRows}, team);
  report("seeds", labels);
  const OwnSums sums(kGroups + 2, rows.widths());  // two clusters have no rows
  State state{sums.get(), {}};
  state.centres.n_clusters = kGroups + 2;
  state.centres.views.resize(rows.n_views());
  Rules rules;
  rules.alpha = ridges(rows);
  rules.fill = false;
  ChunkStep step(state, rules, team);
  std::vector<double> margins(kRows);
  labels.resize(kRows);
  const Progress done = step.run(rows, kRows, Begin::labels, true, labels, margins);
  report_state("from labels", state, labels, done);
}

// ---- anchors, distances, and what stands by itself
// ---------------------------------------------------------

void graph(const Rows& rows, const Centres& anchors, Team& team) {
  SoftRows soft;
  soft_assign(rows, anchors, neighbours(anchors.n_clusters), soft, team);
  report("soft assignment", soft.near, soft.weights);
  const OwnLinks links = links_of({soft.near, soft.weights, soft.n_near, {}}, kClusters);
  report("links", links.starts, links.columns, links.values);
  const Spectrum spectrum = leading_eigenpairs({links.starts, links.columns, links.values}, kGroups);
  report("spectrum", spectrum.values, spectrum.vectors);
  std::vector<double> places(kClusters * kGroups), weights(kClusters, 0.0);
  for (std::size_t a = 0; a < kClusters; ++a) {
    for (std::size_t k = 0; k < kGroups; ++k) places[a * kGroups + k] = spectrum.vectors[k * kClusters + a];
    normalise(Span<double>(places).part(a * kGroups, kGroups));
    for (auto p = std::size_t(links.starts[a]); p < std::size_t(links.starts[a + 1]); ++p)
      weights[a] += double(links.values[p]);
  }
  const Grid<const double> where(places.data(), kClusters, kGroups);
  const Clustering found = small_kmeans({where, weights}, kGroups, 5, 3);
  report("small k-means", found.labels, found.centres, found.inertia);
  std::vector<int32_t> labels(kRows);
  graph_labels({{soft.near.data(), kRows, soft.n_near}, {soft.weights.data(), kRows, soft.n_near}}, where,
               {found.centres.data(), kGroups, kGroups}, labels);
  report("labels by the graph", labels);
}

void distances(const Rows& rows, const Centres& centres, Team& team) {
  std::vector<double> exact(kRows * kClusters), relative(kRows * kClusters);
  all_distances(rows, centres, false, {exact.data(), kRows, kClusters}, team);
  all_distances(rows, centres, true, {relative.data(), kRows, kClusters}, team);
  report("all distances", exact, relative);
  std::vector<int32_t> labels(kRows);
  std::vector<float> distance(kRows), margin(kRows);
  nearest_two(rows, centres, labels, distance, margin, team);
  report("nearest two", labels, distance, margin);
}

void merges_and_least_squares(Team& team) {
  const std::size_t n = 200, width = 12, n_terms = 77;
  std::vector<double> factors = drawn(width * n_terms, 4), rows = drawn(n * n_terms, 5);
  for (double& x : rows) x -= 0.5;  // about half of the unknowns are then 0
  std::vector<double> gram(width * width), right(n * width), out(n * width, 0.0);
  const Grid<const double> basis(factors.data(), width, n_terms);
  products(basis, basis, {gram.data(), width, width});
  products({rows.data(), n, n_terms}, basis, {right.data(), n, width});
  report("products", gram, right);
  std::vector<double> pairs(n * n);
  std::vector<int64_t> counts(2 * n);
  products({rows.data(), n, n_terms}, {rows.data(), n, n_terms}, {pairs.data(), n, n});
  for (std::size_t k = 0; k < 2 * n; ++k) counts[k] = int64_t(k * k % 7);
  std::vector<double> again = pairs;
  const std::vector<double> alpha{0.1, 0.3};
  const MergeOrder order =
      agglomerate({counts.data(), 2, n}, {{pairs.data(), n, n}, {again.data(), n, n}}, alpha, true);
  report("agglomeration", order.pairs, order.prices, double(order.n_empty));
  nnls({gram.data(), width, width}, {right.data(), n, width}, {out.data(), n, width}, team);
  report("nnls", out);
}

template <class T>
void scaled(const char* name, Grid<const T> rows, Team& team) {
  const std::vector<double> mean = drawn(rows.width(), 6), weights = drawn(rows.width(), 7);
  std::vector<T> out(rows.n_rows() * rows.width()), weighed(out.size());
  const auto wanted = std::make_unique<bool[]>(kRows), present = std::make_unique<bool[]>(kRows);
  for (std::size_t i = 0; i < kRows; ++i) wanted[i] = i % 5 != 0;
  standardise<T>(rows, {wanted.get(), kRows}, mean, weights, {out.data(), kRows, rows.width()},
                 {present.get(), kRows}, team);
  weigh_rows<T>(rows, weights, {weighed.data(), kRows, rows.width()}, team);
  report(name, out, Span<const bool>(present.get(), kRows), weighed);
}

void run(std::size_t n_threads) {
  Team team(n_threads);
  const Example example(kRows);
  Rows rows = example.rows;
  rows.measure(0, kRows);
  Hash kinds;
  for (const Span<Kind>& of : rows.kinds)
    for (Kind kind : of) kinds.add(uint8_t(kind));
  report("measured rows", rows.inverse, kinds.get());
  std::vector<int32_t> labels(kRows, -1);
  const Centres centres = soft_start_and_passes(rows, labels, team);
  seeds_and_labels(rows, team);
  graph(rows, centres, team);
  distances(rows, centres, team);
  merges_and_least_squares(team);
  scaled("scaled float32", example.narrow(), team);
  scaled("scaled float64", example.wide(), team);
  std::vector<float> weighed(example.entries().size());
  weigh_entries<float, int32_t>(example.entries(), example.entry_columns(), drawn(500, 8), weighed, team);
  report("weighed entries", weighed);
}

}  // namespace
}  // namespace viewpass

int main(int argc, char** argv) try {
  if (argc == 2 && std::strcmp(argv[1], "--kernels") == 0) {
    std::printf("%s%s\n", viewpass::kPortableKernels.name, viewpass::avx2_kernels() ? " avx2" : "");
    return 0;
  }
  viewpass::run(argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 1);
} catch (const std::exception& error) {
  std::fprintf(stderr, "viewpass_driver: %s\n", error.what());
  return 1;
}
