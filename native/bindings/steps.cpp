// The chunk step and its parts as Python calls them.
#include "../anchor_search.hpp"
#include "../chunk_step.hpp"
#include "../near_rows.hpp"
#include "objects.hpp"

namespace viewpass {
namespace {

nb::tuple run_chunks(PyRows& rows, size_t size, int begin, bool first, const Sums& sums, const Counts& counts,
                     const PyCentres& centres, const Rules& rules, Vector<int32_t> labels,
                     Vector<double> margins, size_t n_threads) {
  State state{sums_of(sums, counts), *centres};
  const size_t n_clusters = state.total.n_clusters;
  expect_fit(rows, state.total), expect_fit(rows, state.centres, false), expect_fit(*centres, state.total);
  expect_labels(span_of(labels), rows, n_clusters);
  expect(margins.shape(0) == rows.n_rows && size > 0, "a margin per row, and chunks of rows are needed");
  expect(rules.alpha.size() == rows.n_views(), "an alpha per view is needed");
  Progress done = without_lock(n_threads, [&](Team& team) {
    return ChunkStep(state, rules, team)
        .run(rows, size, Begin(begin), first, span_of(labels), span_of(margins));
  });
  return nb::make_tuple(done.n_rows, array_of(std::move(done.losses)), done.n_iter, done.n_compared,
                        std::make_shared<Centres>(std::move(state.centres)));
}

nb::tuple assign(PyRows& rows, const PyCentres& centres, Vector<int32_t> labels, size_t n_threads) {
  expect_fit(rows, *centres, true);
  expect(labels.shape(0) == rows.n_rows, "a label per row is needed");
  std::vector<double> margins;
  const Kind worst = without_lock(n_threads, [&](Team& team) {
    Assignment assignment;
    assignment.begin(rows, centres->n_clusters, span_of(labels), team, false);
    const Kind kind = assignment.assign(*centres);
    margins.assign(assignment.margins().begin(), assignment.margins().end());
    return kind;
  });
  rows.measured |= worst <= Kind::present;
  return nb::make_tuple(uint8_t(worst), array_of(std::move(margins)));
}

void accumulate(const PyRows& rows, std::optional<Vector<const uint32_t>> which, Vector<const int32_t> labels,
                int sign, const Sums& sums, const Counts& counts, size_t n_threads) {
  const ExactSums total = sums_of(sums, counts);
  expect_fit(rows, total);
  expect_labels(span_of(labels), rows, total.n_clusters);
  if (which)
    for (uint32_t i : span_of(*which)) expect(i < rows.n_rows, "a row that does not exist");
  without_lock(n_threads, [&](Team& team) {
    Groups groups;
    if (which)
      groups.sort(total.n_clusters, span_of(*which), [&](size_t i) { return labels.data()[i]; });
    else
      groups.sort(total.n_clusters, span_of(labels));
    team.each(total.n_clusters, [&](size_t k, size_t) {
      for (size_t v = 0; v < total.n_views(); ++v) total.add(rows, v, k, groups.of(k), sign);
    });
  });
}

PyCentres update_centres(const PyCentres& centres, const Sums& sums, const Counts& counts,
                         Vector<const bool> seen, Vector<const bool> changed, Vector<const double> alpha,
                         bool fill, std::vector<std::optional<Vector<const double>>> means) {
  const ExactSums total = sums_of(sums, counts);
  expect(seen.shape(0) == total.n_views() && means.size() == total.n_views() &&
             changed.shape(0) == total.n_clusters,
         "seen, changed and means must have as many views and clusters as the sums");
  expect(alpha.shape(0) == total.n_views(), "an alpha per view is needed");
  auto made = std::make_shared<Centres>(*centres);
  std::vector<std::vector<double>> filling(total.n_views());
  expect_fit(*made, total);
  for (size_t v = 0; v < total.n_views(); ++v) {
    const size_t width = total.sums[v].width();
    if (means[v]) filling[v].assign(means[v]->data(), means[v]->data() + means[v]->shape(0));
    if (!seen.data()[v]) continue;
    if (!made->views[v].ready) {
      ViewCentres u(total.n_clusters, width, made->views[v].sparse());
      u.known = made->views[v].known;
      made->views[v] = std::move(u);
    }
    for (size_t k = 0; k < total.n_clusters; ++k)
      if (fill && !total.counts[v][k] && !made->views[v].keeps(k, Fill::last_centre))
        expect(filling[v].size() == width, "a mean is needed to fill an empty cluster");
  }
  const std::vector<char> seen_views(seen.data(), seen.data() + seen.shape(0));
  const std::vector<char> changed_clusters(changed.data(), changed.data() + changed.shape(0));
  const Fill kind = fill ? Fill::last_centre : Fill::zero;
  CentreUpdate{total, seen_views, changed_clusters, filling, span_of(alpha), kind}.run(*made);
  return made;
}

/// `moved`: clusters whose sums changed since the centres were made from them; None: all.
double loss_of(const PyCentres& centres, const Sums& sums, const Counts& counts, Vector<const double> alpha,
               std::optional<Vector<const bool>> moved) {
  const ExactSums total = sums_of(sums, counts);
  expect_fit(*centres, total);
  expect(!moved || moved->shape(0) == total.n_clusters, "moved must have as many clusters as the sums");
  expect(alpha.shape(0) == total.n_views(), "an alpha per view is needed");
  double value = 0.0;
  for (size_t v = 0; v < centres->n_views(); ++v) {
    const ViewCentres& u = centres->views[v];
    for (size_t k = 0; u.ready && k < u.n_clusters; ++k) {
      const bool known = moved && !span_of(*moved)[k];
      value += u.loss(k, total.counts[v][k], span_of(alpha)[v],
                      known ? u.traces[k] : u.trace_of(k, total.sums[v][k]));
    }
  }
  return value;
}

nb::tuple soft_assign_rows(const PyRows& rows, const PyCentres& anchors, size_t n_near, size_t n_threads) {
  expect_fit(rows, *anchors, true);
  expect(n_near > 0 && n_near < std::max<size_t>(anchors->n_clusters, 2), "n_near is not below the anchors");
  SoftRows soft;
  without_lock(n_threads, [&](Team& team) { soft_assign(rows, *anchors, n_near, soft, team); });
  return nb::make_tuple(array_of(std::move(soft.near), {rows.n_rows, soft.n_near}),
                        array_of(std::move(soft.weights), {rows.n_rows, soft.n_near}));
}

/// More rows have the view than are wanted near each.
nb::object near_rows_of(const PyRows& rows, size_t v, size_t n_near, size_t n_threads) {
  expect(rows.measured && v < rows.n_views(), "rows must be measured, and have the view");
  size_t n_there = 0;
  for (size_t i = 0; i < rows.n_rows; ++i) n_there += rows.has(v, i);
  expect(n_near > 0 && n_near < n_there, "n_near is not below the number of rows that have the view");
  std::vector<int32_t> near(rows.n_rows * n_near, 0);
  without_lock(n_threads, [&](Team& team) { near_rows(rows, v, {near.data(), rows.n_rows, n_near}, team); });
  return nb::cast(array_of(std::move(near), {rows.n_rows, n_near}));
}

/// Groups of anchors, checked.
AnchorGroups groups_of(const PyRows& rows, const PyCentres& centres, const Vector<const int32_t>& group_of,
                       size_t fewest) {
  expect_fit(rows, *centres, true);
  for (int32_t g : span_of(group_of))
    expect(g >= 0 && size_t(g) < centres->n_clusters, "an anchor in a group that does not exist");
  expect(fewest <= group_of.shape(0), "more anchors to be met than there are");
  return {*centres, span_of(group_of), fewest};
}

nb::tuple search_anchors_of(const PyRows& rows, const PyCentres& anchors, const PyCentres& group_centres,
                            Vector<const int32_t> group_of, size_t fewest, size_t n_threads) {
  expect_fit(rows, *anchors, true);
  expect(group_of.shape(0) == anchors->n_clusters, "a group per anchor is needed");
  const AnchorGroups groups = groups_of(rows, group_centres, group_of, fewest);
  expect(fewest > neighbours(anchors->n_clusters), "too few anchors to be met");
  SoftRows soft;
  std::vector<float> distance(rows.n_rows);
  without_lock(n_threads, [&](Team& team) { search_anchors(rows, *anchors, groups, soft, distance, team); });
  return nb::make_tuple(array_of(std::move(soft.near), {rows.n_rows, soft.n_near}),
                        array_of(std::move(soft.weights), {rows.n_rows, soft.n_near}),
                        array_of(std::move(distance)));
}

auto all_distances_of(const PyRows& rows, const PyCentres& centres, bool relative, size_t n_threads) {
  expect_fit(rows, *centres, false);
  const size_t n_clusters = centres->n_clusters;
  std::vector<double> out(rows.n_rows * n_clusters);
  without_lock(n_threads, [&](Team& team) {
    all_distances(rows, *centres, relative, {out.data(), rows.n_rows, n_clusters}, team);
  });
  return array_of(std::move(out), {rows.n_rows, n_clusters});
}

nb::tuple nearest_two_of(const PyRows& rows, const PyCentres& centres, size_t n_threads) {
  expect_fit(rows, *centres, true);
  std::vector<int32_t> labels(rows.n_rows);
  std::vector<float> distance(rows.n_rows), margin(rows.n_rows);
  without_lock(n_threads, [&](Team& team) { nearest_two(rows, *centres, labels, distance, margin, team); });
  return nb::make_tuple(array_of(std::move(labels)), array_of(std::move(distance)),
                        array_of(std::move(margin)));
}

}  // namespace

void bind_steps(nb::module_& m) {
  nb::class_<Rules>(m, "Rules")
      .def(nb::new_([](Vector<const double> alpha, size_t max_iter, double tol, bool fill, bool zero_filled) {
             const Span<const double> each = span_of(alpha);
             return Rules{{each.begin(), each.end()}, max_iter, tol, fill, zero_filled};
           }),
           "alpha"_a, "max_iter"_a, "tol"_a, "fill"_a, "zero_filled"_a);
  m.def("run_chunks", &run_chunks, "rows"_a, "size"_a, "begin"_a, "first"_a, "sums"_a, "counts"_a.noconvert(),
        "centres"_a, "rules"_a, "labels"_a.noconvert(), "margins"_a.noconvert(), "n_threads"_a);
  m.def("assign", &assign, "rows"_a, "centres"_a, "labels"_a.noconvert(), "n_threads"_a);
  m.def("accumulate", &accumulate, "rows"_a, "which"_a.none(), "labels"_a, "sign"_a, "sums"_a,
        "counts"_a.noconvert(), "n_threads"_a);
  m.def("update_centres", &update_centres, "centres"_a, "sums"_a, "counts"_a, "seen"_a, "changed"_a,
        "alpha"_a, "fill"_a, "means"_a);
  m.def("loss", &loss_of, "centres"_a, "sums"_a, "counts"_a, "alpha"_a, "moved"_a.none());
  m.def("soft_assign", &soft_assign_rows, "rows"_a, "anchors"_a, "n_near"_a, "n_threads"_a);
  m.def("near_rows", &near_rows_of, "rows"_a, "v"_a, "n_near"_a, "n_threads"_a);
  m.def("search_anchors", &search_anchors_of, "rows"_a, "anchors"_a, "group_centres"_a, "group_of"_a,
        "fewest"_a, "n_threads"_a);
  m.def("all_distances", &all_distances_of, "rows"_a, "centres"_a, "relative"_a, "n_threads"_a);
  m.def("nearest_two", &nearest_two_of, "rows"_a, "centres"_a, "n_threads"_a);
}

}  // namespace viewpass
