// The anchor graph and agglomeration as Python calls them.
#include "../agglomeration.hpp"
#include "../near_merges.hpp"
#include "../small_kmeans.hpp"
#include "../spectrum.hpp"
#include "arrays.hpp"

namespace viewpass {
namespace {

/// Where parts of an array of n values begin, and its end.
void expect_ranges(Span<const int64_t> starts, size_t n) {
  expect(starts[0] == 0 && size_t(starts[starts.size() - 1]) == n, "starts must be of all values");
  for (size_t k = 0; k + 1 < starts.size(); ++k) expect(starts[k] <= starts[k + 1], "starts must not fall");
}

/// The links between anchors, checked.
Links links_in(const Vector<const int64_t>& starts, const Vector<const int64_t>& columns,
               const Vector<const int64_t>& values) {
  expect(starts.shape(0) >= 2 && columns.shape(0) == values.shape(0), "links must be a sparse matrix");
  const Links links{span_of(starts), span_of(columns), span_of(values)};
  expect_ranges(links.starts, columns.shape(0));
  for (int64_t column : links.columns)
    expect(column >= 0 && size_t(column) < links.size(), "links must be square");
  return links;
}

nb::tuple tuple_of(OwnLinks made) {
  return nb::make_tuple(array_of(std::move(made.starts)), array_of(std::move(made.columns)),
                        array_of(std::move(made.values)));
}

nb::tuple links_of_rows(Table<const int32_t> near, Table<const int64_t> weights,
                        std::optional<Vector<const int64_t>> copies, size_t n_anchors) {
  expect(has_shape(weights, near.shape(0), near.shape(1)), "a weight per near anchor is needed");
  expect(!copies || copies->shape(0) == near.shape(0), "copies of every row are needed");
  for (int32_t anchor : Span<const int32_t>(near.data(), near.size()))
    expect(anchor >= 0 && size_t(anchor) < n_anchors, "near: an anchor that does not exist");
  const Mixtures rows{{near.data(), near.size()},
                      {weights.data(), weights.size()},
                      near.shape(1),
                      copies ? span_of(*copies) : Span<const int64_t>()};
  return tuple_of(without_lock(1, [&](Team&) { return links_of(rows, n_anchors); }));
}

nb::tuple spectrum(Vector<const int64_t> starts, Vector<const int64_t> columns, Vector<const int64_t> values,
                   size_t n_leading, int64_t tie) {
  const Links links = links_in(starts, columns, values);
  const size_t n_anchors = links.size();
  expect(n_leading >= 1 && n_leading <= n_anchors, "n_leading must be from 1 to the number of anchors");
  expect(tie >= 0, "tie must be at least 0");
  std::vector<double> vectors(n_anchors * n_leading);
  Spectrum found = without_lock(1, [&](Team&) { return leading_eigenpairs(links, n_leading, tie); });
  for (size_t k = 0; k < n_leading; ++k)
    for (size_t i = 0; i < n_anchors; ++i) vectors[i * n_leading + k] = found.vectors[k * n_anchors + i];
  return nb::make_tuple(array_of(std::move(found.values)),
                        array_of(std::move(vectors), {n_anchors, n_leading}));
}

nb::tuple kmeans(Table<const double> places, Vector<const double> weights, size_t n_clusters,
                 size_t n_restarts, uint64_t seed) {
  expect(places.shape(0) == weights.shape(0), "a weight per place is needed");
  expect(places.shape(0) >= 1 && n_clusters >= 1 && n_restarts >= 1,
         "places, clusters and restarts must be at least one");
  Clustering found = without_lock(1, [&](Team&) {
    return small_kmeans({grid_of(places), span_of(weights)}, n_clusters, n_restarts, seed);
  });
  return nb::make_tuple(array_of(std::vector<int64_t>(found.labels.begin(), found.labels.end())),
                        array_of(std::move(found.centres), {n_clusters, places.shape(1)}));
}

auto labels_of(Table<const int32_t> near, Table<const int64_t> weights, Table<const double> places,
               Table<const double> centres) {
  expect(has_shape(weights, near.shape(0), near.shape(1)), "a weight per near anchor is needed");
  expect(places.shape(1) == centres.shape(1) && centres.shape(0) >= 1,
         "places and centres must have the same width");
  for (int32_t anchor : Span<const int32_t>(near.data(), near.size()))
    expect(anchor >= 0 && size_t(anchor) < places.shape(0), "near: an anchor that does not exist");
  std::vector<int32_t> labels(near.shape(0));
  without_lock(1, [&](Team&) {
    graph_labels({grid_of(near), grid_of(weights)}, grid_of(places), grid_of(centres), labels);
  });
  return array_of(std::move(labels));
}

nb::tuple agglomerate_of(Table<const int64_t> counts, Array<double, 3> products, Vector<const double> alpha,
                         bool to_mean, size_t most) {
  const size_t n = counts.shape(1);
  expect(products.shape(0) == counts.shape(0) && products.shape(1) == n && products.shape(2) == n,
         "products must be views x clusters x clusters");
  expect(alpha.shape(0) == counts.shape(0), "an alpha per view is needed");
  std::vector<Grid<double>> grids;
  grids.reserve(counts.shape(0));
  for (size_t v = 0; v < counts.shape(0); ++v) grids.emplace_back(products.data() + v * n * n, n, n);
  MergeOrder order = without_lock(
      1, [&](Team&) { return agglomerate(grid_of(counts), grids, span_of(alpha), to_mean, most); });
  const size_t n_merges = order.prices.size();
  return nb::make_tuple(array_of(std::move(order.pairs), {n_merges, 2}), array_of(std::move(order.prices)),
                        order.n_empty);
}

nb::tuple eigenpairs(Table<const double> a) {
  const size_t n = a.shape(0);
  expect(a.shape(1) == n && n > 0, "a must be square");
  Matrix copy(n, n);
  for (size_t i = 0; i < n; ++i) std::copy_n(grid_of(a)[i].begin(), n, copy[i].begin());
  Eigenpairs found = without_lock(1, [&](Team&) { return all_eigenpairs(std::move(copy)); });
  std::vector<double> vectors(n * n);
  for (size_t k = 0; k < n; ++k) std::copy_n(found.vectors[k].begin(), n, vectors.begin() + ptrdiff_t(k * n));
  return nb::make_tuple(array_of(std::move(found.values)), array_of(std::move(vectors), {n, n}));
}

nb::tuple merge_near_of(Table<const int64_t> counts, std::vector<Table<double>> sums,
                        Vector<const double> ridges, Vector<const int64_t> starts,
                        Vector<const int64_t> others, size_t most) {
  const size_t n = counts.shape(1);
  expect(sums.size() == counts.shape(0) && ridges.shape(0) == sums.size(), "sums and a ridge per view");
  NearClusters clusters{grid_of(counts), {}, span_of(ridges), span_of(starts), span_of(others)};
  for (const Table<double>& of_view : sums) {
    expect(of_view.shape(0) == n, "sums must be clusters x columns");
    clusters.sums.push_back(grid_of(of_view));
  }
  expect(starts.shape(0) == n + 1, "candidates of each cluster are needed");
  expect_ranges(clusters.starts, others.shape(0));
  for (int64_t k : clusters.others) expect(k >= 0 && size_t(k) < n, "a candidate that does not exist");
  MergeOrder order = without_lock(1, [&](Team&) { return merge_near(clusters, most); });
  const size_t n_merges = order.prices.size();
  return nb::make_tuple(array_of(std::move(order.pairs), {n_merges, 2}), array_of(std::move(order.prices)));
}

auto products_of(Table<const double> a, Table<const double> b) {
  expect(a.shape(1) == b.shape(1), "a and b must have the same width");
  std::vector<double> out(a.shape(0) * b.shape(0));
  without_lock(1, [&](Team&) { products(grid_of(a), grid_of(b), {out.data(), a.shape(0), b.shape(0)}); });
  return array_of(std::move(out), {a.shape(0), b.shape(0)});
}

}  // namespace

void bind_graph(nb::module_& m) {
  m.def("links_of", &links_of_rows, "near"_a, "weights"_a, "copies"_a.none(), "n_anchors"_a);
  m.def("spectrum", &spectrum, "starts"_a, "columns"_a, "values"_a, "n_leading"_a, "tie"_a = 0);
  m.def("small_kmeans", &kmeans, "places"_a, "weights"_a, "n_clusters"_a, "n_restarts"_a, "seed"_a);
  m.def("graph_labels", &labels_of, "near"_a, "weights"_a, "places"_a, "centres"_a);
  m.def("agglomerate", &agglomerate_of, "counts"_a, "products"_a.noconvert(), "alpha"_a, "to_mean"_a,
        "most"_a = SIZE_MAX);
  m.def("eigenpairs", &eigenpairs, "a"_a);
  m.def("merge_near", &merge_near_of, "counts"_a, "sums"_a.noconvert(), "ridges"_a, "starts"_a, "others"_a,
        "most"_a);
  m.def("products", &products_of, "a"_a, "b"_a);
}

}  // namespace viewpass
