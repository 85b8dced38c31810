// The chunk step and its parts as Python calls them.
#include "../chunk_step.hpp"
#include "../shard.hpp"
#include "objects.hpp"

namespace viewpass {

namespace {

using Sums = std::vector<Matrix2<int64_t>>;
using Counts = Matrix2<int64_t>;

Rules rules_of(double alpha, std::size_t max_iter, double tol, bool fill, bool zero_filled) {
  return {alpha, max_iter, tol, fill, zero_filled};
}

nb::tuple run_chunks(PyRows& rows, std::size_t size, int begin, bool first, const Sums& sums,
                     const Counts& counts, const PyCentres& centres, std::optional<Matrix2<int64_t>> links,
                     const Rules& rules, Vector<int32_t> labels, Vector<double> margins,
                     std::size_t n_threads) {
  State state{sums_of(sums, counts), *centres, {}};
  expect_fit(rows.rows, state.total), expect_fit(rows.rows, state.centres);
  expect(state.total.n_clusters == state.centres.n_clusters,
         "sums and centres of as many clusters are needed");
  expect(labels.shape(0) == rows.rows.n_rows && margins.shape(0) == rows.rows.n_rows && size > 0,
         "a label and a margin per row are needed");
  if (links) {
    state.links = grid_of(*links);
    expect(links->shape(0) == state.total.n_clusters && links->shape(1) == state.total.n_clusters,
           "links: clusters x clusters");
  }
  for (int32_t label : span_of(labels))
    expect(label < int32_t(state.total.n_clusters), "there is no such label");
  const Progress done = without_lock(n_threads, [&](Team& team) {
    ChunkStep step(state, rules, team);
    return step.run(rows.rows, size, Begin(begin), first, span_of(labels), span_of(margins));
  });
  const std::size_t n_losses = done.losses.size();
  return nb::make_tuple(done.n_rows, array_of(std::vector<double>(done.losses), {n_losses}), done.n_iter,
                        done.n_compared, std::make_shared<Centres>(std::move(state.centres)));
}

nb::tuple assign(PyRows& rows, const PyCentres& centres, Vector<int32_t> labels, std::size_t n_threads) {
  expect_fit(rows.rows, *centres);
  expect(suits(rows.rows, *centres) && labels.shape(0) == rows.rows.n_rows,
         "suited centres, and a label per row");
  std::vector<double> margins;
  const Kind worst = without_lock(n_threads, [&](Team& team) {
    Assignment assignment;
    assignment.begin(rows.rows, centres->n_clusters, span_of(labels), team, false);
    const Kind kind = assignment.assign(*centres, [](std::size_t, std::size_t, std::size_t) {});
    margins.assign(assignment.margins().begin(), assignment.margins().end());
    return kind;
  });
  rows.rows.measured |= worst <= Kind::present;
  const std::size_t n = margins.size();
  return nb::make_tuple(uint8_t(worst), array_of(std::move(margins), {n}));
}

void accumulate(const PyRows& rows, std::optional<Vector<const uint32_t>> which, Vector<const int32_t> labels,
                int sign, const Sums& sums, const Counts& counts, std::size_t n_threads) {
  const ExactSums total = sums_of(sums, counts);
  expect_fit(rows.rows, total);
  expect(labels.shape(0) == rows.rows.n_rows, "a label per row is needed");
  std::vector<uint32_t> some;
  for (std::size_t i = 0; i < (which ? which->shape(0) : rows.rows.n_rows); ++i) {
    some.push_back(which ? span_of(*which)[i] : uint32_t(i));
    expect(some.back() < rows.rows.n_rows, "there is no such row");
    expect(labels.data()[some.back()] < int32_t(total.n_clusters), "there is no such label");
  }
  without_lock(n_threads, [&](Team& team) {
    Groups groups;
    groups.sort(total.n_clusters, some, [&](std::size_t i) { return labels.data()[i]; });
    team.each(total.n_clusters, [&](std::size_t k, std::size_t) {
      for (std::size_t v = 0; v < total.n_views(); ++v) total.add(rows.rows, v, k, groups.of(k), sign);
    });
    return 0;
  });
}

PyCentres updated_centres(const PyCentres& centres, const Sums& sums, const Counts& counts,
                          Vector<const bool> seen, Vector<const bool> changed, double alpha, bool fill,
                          std::vector<std::optional<Vector<const double>>> means) {
  const ExactSums total = sums_of(sums, counts);
  expect(centres->n_views() == total.n_views() && centres->n_clusters == total.n_clusters &&
             seen.shape(0) == total.n_views() && means.size() == total.n_views() &&
             changed.shape(0) == total.n_clusters,
         "sums, centres, seen, changed and means must fit");
  auto made = std::make_shared<Centres>(*centres);
  std::vector<std::vector<double>> filling(total.n_views());
  for (std::size_t v = 0; v < total.n_views(); ++v) {
    const std::size_t width = total.sums[v].width();
    if (means[v]) filling[v].assign(means[v]->data(), means[v]->data() + means[v]->shape(0));
    if (!seen.data()[v]) continue;
    if (!made->views[v].ready) {
      ViewCentres u(total.n_clusters, width, made->views[v].sparse());
      u.known = made->views[v].known;
      made->views[v] = std::move(u);
    }
    expect(made->views[v].width == width, "sums and centres of the same widths are needed");
    for (std::size_t k = 0; k < total.n_clusters; ++k)
      if (fill && !total.counts[v][k] && !made->views[v].keeps(k, Fill::last_centre))
        expect(filling[v].size() == width, "a mean is needed to fill an empty cluster");
  }
  const std::vector<char> seen_too(seen.data(), seen.data() + seen.shape(0));
  const std::vector<char> changed_too(changed.data(), changed.data() + changed.shape(0));
  update_centres(*made, total, seen_too, changed_too, alpha, fill, filling);
  return made;
}

/// `moved`: clusters whose sums changed since the centres were made from them; none given: all.
double loss_of(const PyCentres& centres, const Sums& sums, const Counts& counts, double alpha,
               std::optional<Vector<const bool>> moved) {
  const ExactSums total = sums_of(sums, counts);
  expect(centres->n_views() == total.n_views() && centres->n_clusters == total.n_clusters &&
             (!moved || moved->shape(0) == total.n_clusters),
         "centres, sums and clusters that moved must fit");
  double value = 0.0;
  for (std::size_t v = 0; v < centres->n_views(); ++v) {
    const ViewCentres& u = centres->views[v];
    expect(!u.ready || u.width == total.sums[v].width(), "sums and centres of the same widths are needed");
    for (std::size_t k = 0; u.ready && k < u.n_clusters; ++k)
      value += u.squares[k] * (double(total.counts[v][k]) + alpha) -
               2.0 * (!moved || span_of(*moved)[k] ? u.trace_of(k, total.sums[v][k]) : u.traces[k]);
  }
  return value;
}

/// A shard, and the Python objects it works on.
struct PyShard {
  nb::object rows;
  Vector<int32_t> labels;
  std::unique_ptr<Shard> shard;
};

nb::tuple soft_assign_rows(const PyRows& rows, const PyCentres& anchors, std::size_t n_threads) {
  expect_fit(rows.rows, *anchors);
  expect(suits(rows.rows, *anchors), "suited centres are needed");
  SoftRows soft;
  without_lock(n_threads, [&](Team& team) { return soft_assign(rows.rows, *anchors, soft, team), 0; });
  const std::size_t n = rows.rows.n_rows, n_near = soft.n_near;
  return nb::make_tuple(array_of(std::move(soft.near), {n, n_near}),
                        array_of(std::move(soft.weights), {n, n_near}));
}

void add_links_of(Matrix2<const int32_t> near, Matrix2<const int64_t> weights, Matrix2<int64_t> links) {
  expect(near.shape(0) == weights.shape(0) && near.shape(1) == weights.shape(1),
         "a weight per neighbour is needed");
  const Span<const int32_t> all(near.data(), near.size());
  for (int32_t k : all)
    expect(k >= 0 && std::size_t(k) < links.shape(0) && links.shape(0) == links.shape(1), "links");
  add_links(all, {weights.data(), weights.size()}, near.shape(1), grid_of(links));
}

nb::ndarray<nb::numpy, double> all_distances_of(const PyRows& rows, const PyCentres& centres, bool relative,
                                                std::size_t n_threads) {
  expect_fit(rows.rows, *centres);
  const std::size_t n = rows.rows.n_rows, n_clusters = centres->n_clusters;
  std::vector<double> out(n * n_clusters);
  without_lock(n_threads, [&](Team& team) {
    return all_distances(rows.rows, *centres, relative, {out.data(), n, n_clusters}, team), 0;
  });
  return array_of(std::move(out), {n, n_clusters});
}

nb::tuple own_distances_of(const PyRows& rows, const PyCentres& centres, Vector<const int32_t> labels,
                           std::size_t n_threads) {
  expect_fit(rows.rows, *centres);
  expect(suits(rows.rows, *centres) && labels.shape(0) == rows.rows.n_rows,
         "suited centres, and a label per row");
  for (int32_t label : span_of(labels))
    expect(label < int32_t(centres->n_clusters), "there is no such label");
  const std::size_t n = rows.rows.n_rows;
  std::vector<float> distance(n), margin(n);
  without_lock(n_threads, [&](Team& team) {
    return own_distances(rows.rows, *centres, span_of(labels), distance, margin, team), 0;
  });
  return nb::make_tuple(array_of(std::move(distance), {n}), array_of(std::move(margin), {n}));
}

}  // namespace

void bind_steps(nb::module_& m) {
  nb::class_<Rules>(m, "Rules")
      .def(
          "__init__",
          [](Rules* self, double alpha, std::size_t max_iter, double tol, bool fill, bool zero_filled) {
            new (self) Rules(rules_of(alpha, max_iter, tol, fill, zero_filled));
          },
          nb::arg("alpha"), nb::arg("max_iter"), nb::arg("tol"), nb::arg("fill"), nb::arg("zero_filled"));
  m.def("run_chunks", &run_chunks, nb::arg("rows"), nb::arg("size"), nb::arg("begin"), nb::arg("first"),
        nb::arg("sums"), nb::arg("counts").noconvert(), nb::arg("centres"), nb::arg("links").none(),
        nb::arg("rules"), nb::arg("labels").noconvert(), nb::arg("margins").noconvert(),
        nb::arg("n_threads"));
  m.def("assign", &assign, nb::arg("rows"), nb::arg("centres"), nb::arg("labels").noconvert(),
        nb::arg("n_threads"));
  m.def("accumulate", &accumulate, nb::arg("rows"), nb::arg("which").none(), nb::arg("labels"),
        nb::arg("sign"), nb::arg("sums"), nb::arg("counts").noconvert(), nb::arg("n_threads"));
  m.def("update_centres", &updated_centres, nb::arg("centres"), nb::arg("sums"), nb::arg("counts"),
        nb::arg("seen"), nb::arg("changed"), nb::arg("alpha"), nb::arg("fill"), nb::arg("means"));
  m.def("loss", &loss_of, nb::arg("centres"), nb::arg("sums"), nb::arg("counts"), nb::arg("alpha"),
        nb::arg("moved").none());
  m.def("soft_assign", &soft_assign_rows, nb::arg("rows"), nb::arg("anchors"), nb::arg("n_threads"));
  m.def("add_links", &add_links_of, nb::arg("near"), nb::arg("weights"), nb::arg("links").noconvert());
  m.def("all_distances", &all_distances_of, nb::arg("rows"), nb::arg("centres"), nb::arg("relative"),
        nb::arg("n_threads"));
  m.def("own_distances", &own_distances_of, nb::arg("rows"), nb::arg("centres"), nb::arg("labels"),
        nb::arg("n_threads"));
  nb::class_<PyShard>(m, "Shard")
      .def(
          "__init__",
          [](PyShard* self, nb::object rows, Vector<int32_t> labels) {
            const PyRows& held = nb::cast<const PyRows&>(rows);
            expect(labels.shape(0) == held.rows.n_rows, "a label per row is needed");
            new (self) PyShard{rows, labels, std::make_unique<Shard>(held.rows, span_of(labels))};
          },
          nb::arg("rows"), nb::arg("labels").noconvert())
      .def(
          "assign",
          [](PyShard& self, const PyCentres& centres, std::size_t n_threads) {
            expect_fit(nb::cast<const PyRows&>(self.rows).rows, *centres);
            const Kind worst =
                without_lock(n_threads, [&](Team& team) { return self.shard->assign(*centres, team); });
            if (worst <= Kind::present) nb::cast<PyRows&>(self.rows).rows.measured = true;
            return uint8_t(worst);
          },
          nb::arg("centres"), nb::arg("n_threads"))
      .def(
          "follow",
          [](PyShard& self, const PyCentres& centres, std::size_t n_threads) {
            expect_fit(nb::cast<const PyRows&>(self.rows).rows, *centres);
            without_lock(n_threads, [&](Team& team) { return self.shard->follow(*centres, team), 0; });
          },
          nb::arg("centres"), nb::arg("n_threads"));
}

}  // namespace viewpass
