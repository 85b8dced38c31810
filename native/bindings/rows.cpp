// Rows and centres as Python makes and reads them.
#include "objects.hpp"

namespace viewpass {

namespace {

template <class T>
bool take_dense(nb::handle array, PyRows& made, std::size_t n_rows) {
  Matrix2<const T> rows;
  if (!nb::try_cast(array, rows, false)) return false;
  expect(rows.shape(0) == n_rows, "a view has another number of rows");
  made.rows.views.push_back(DenseRows<T>{rows.data(), n_rows, rows.shape(1)});
  return true;
}

template <class T, class Index>
bool take_csr(nb::tuple parts, PyRows& made, std::size_t n_rows) {
  Vector<const T> values;
  Vector<const Index> columns, starts;
  if (!nb::try_cast(parts[0], values, false) || !nb::try_cast(parts[1], columns, false) ||
      !nb::try_cast(parts[2], starts, false))
    return false;
  const auto width = nb::cast<std::size_t>(parts[3]);
  const Span<const Index> from = span_of(starts);
  expect(from.size() == n_rows + 1, "a CSR view has another number of rows");
  const std::size_t n_stored = std::min(values.shape(0), columns.shape(0));
  bool sound = from[0] >= 0 && std::size_t(from[n_rows]) <= n_stored;
  for (std::size_t i = 0; i < n_rows; ++i) sound &= from[i] <= from[i + 1];
  expect(sound, "the row starts of a CSR view do not rise, or lie outside its values");
  made.rows.views.push_back(CsrRows<T, Index>{values.data(), columns.data(), starts.data(), n_rows, width});
  return true;
}

void take_view(nb::handle view, PyRows& made, std::size_t n_rows) {
  if (view.is_none()) {
    made.rows.views.push_back(NoRows{});
    return;
  }
  made.held.push_back(nb::borrow(view));
  bool taken;
  if (nb::isinstance<nb::tuple>(view)) {
    const auto parts = nb::cast<nb::tuple>(view);
    taken = take_csr<float, int32_t>(parts, made, n_rows) || take_csr<float, int64_t>(parts, made, n_rows) ||
            take_csr<double, int32_t>(parts, made, n_rows) || take_csr<double, int64_t>(parts, made, n_rows);
  } else {
    taken = take_dense<float>(view, made, n_rows) || take_dense<double>(view, made, n_rows);
  }
  if (!taken)
    throw nb::type_error("views must be C-contiguous float32 or float64, or CSR parts of one index type");
}

PyRows make_rows(nb::list views, std::optional<Matrix2<const bool>> observed, std::vector<double> weights,
                 Matrix2<double> inverse, Matrix2<uint8_t> kinds, bool measured) {
  PyRows made;
  Rows& rows = made.rows;
  rows.n_rows = inverse.shape(1);
  rows.weights = std::move(weights);
  rows.measured = measured;
  expect(inverse.shape(0) == views.size() && kinds.shape(0) == views.size() &&
             kinds.shape(1) == rows.n_rows && rows.weights.size() == views.size(),
         "norms, kinds and weights of every view are needed");
  for (nb::handle view : views) take_view(view, made, rows.n_rows);
  for (std::size_t v = 0; v < views.size(); ++v) {
    rows.inverse.push_back(grid_of(inverse)[v]);
    rows.kinds.emplace_back(reinterpret_cast<Kind*>(grid_of(kinds)[v].data()), rows.n_rows);
  }
  if (observed) {
    expect(observed->shape(0) == rows.n_rows && observed->shape(1) == views.size(), "observed: rows x views");
    rows.observed = grid_of(*observed);
    made.observed = observed;
  }
  made.inverse = inverse, made.kinds = kinds;
  return made;
}

uint8_t measure(PyRows& self, std::size_t n_threads) {
  return without_lock(n_threads, [&](Team& team) {
    constexpr std::size_t kTaskRows = 256;
    std::vector<Kind> worst(team.size(), Kind::absent);
    team.each((self.rows.n_rows + kTaskRows - 1) / kTaskRows, [&](std::size_t task, std::size_t worker) {
      const std::size_t begin = task * kTaskRows, end = std::min(begin + kTaskRows, self.rows.n_rows);
      worst[worker] = std::max(worst[worker], self.rows.measure(begin, end));
    });
    self.rows.measured = true;
    return uint8_t(*std::max_element(worst.begin(), worst.end()));
  });
}

PyCentres make_centres(std::vector<std::optional<Matrix2<const double>>> values, Matrix2<const bool> known) {
  auto made = std::make_shared<Centres>();
  made->n_clusters = known.shape(1);
  expect(values.size() == known.shape(0), "values and known of as many views are needed");
  for (std::size_t v = 0; v < values.size(); ++v) {
    const std::size_t width = values[v] ? values[v]->shape(1) : 0;
    ViewCentres u(made->n_clusters, width, false);
    std::copy(grid_of(known)[v].begin(), grid_of(known)[v].end(), u.known.begin());
    if (values[v]) {
      expect(values[v]->shape(0) == made->n_clusters, "every view needs as many centres");
      for (std::size_t k = 0; k < made->n_clusters; ++k) u.replace(k, grid_of(*values[v])[k]);
      u.lay_out();
      u.ready = true;
    }
    made->views.push_back(std::move(u));
  }
  return made;
}

nb::object values_of(nb::handle self, std::size_t v) {
  ViewCentres& u = nb::cast<Centres&>(self).views.at(v);
  if (!u.ready) return nb::none();
  nb::ndarray<nb::numpy, const double, nb::ndim<2>> view(u.values().data(), {u.n_clusters, u.width}, self);
  return nb::cast(view);
}

}  // namespace

void bind_rows(nb::module_& m) {
  nb::class_<PyRows>(m, "Rows")
      .def(
          "__init__",
          [](PyRows* self, nb::list views, std::optional<Matrix2<const bool>> observed,
             std::vector<double> weights, Matrix2<double> inverse, Matrix2<uint8_t> kinds, bool measured) {
            new (self) PyRows(make_rows(views, observed, std::move(weights), inverse, kinds, measured));
          },
          nb::arg("views"), nb::arg("observed").none(), nb::arg("weights"), nb::arg("inverse").noconvert(),
          nb::arg("kinds").noconvert(), nb::arg("measured"))
      .def("measure", &measure, nb::arg("n_threads"))
      .def_prop_ro("measured", [](const PyRows& self) { return self.rows.measured; });
  nb::class_<Centres>(m, "Centres")
      .def(nb::new_(&make_centres), nb::arg("values"), nb::arg("known"))
      .def("values", [](nb::handle self, std::size_t v) { return values_of(self, v); })
      .def("known",
           [](const Centres& self, std::size_t v) {
             const std::vector<char>& known = self.views.at(v).known;
             return array_of(std::vector<uint8_t>(known.begin(), known.end()), {known.size()});
           })
      .def("squares",
           [](const Centres& self, std::size_t v) {
             return array_of(std::vector<double>(self.views.at(v).squares), {self.n_clusters});
           })
      .def_ro("n_clusters", &Centres::n_clusters)
      .def("take",
           [](const Centres& self, Vector<const uint32_t> clusters) {
             for (uint32_t k : span_of(clusters)) expect(k < self.n_clusters, "there is no such cluster");
             return std::make_shared<Centres>(self.take(span_of(clusters)));
           })
      .def(
          "suited",
          [](PyCentres self, const PyRows& rows) {
            expect_fit(rows.rows, *self);
            if (suits(rows.rows, *self)) return self;
            auto made = std::make_shared<Centres>(*self);
            made->suit(rows.rows);
            return made;
          },
          nb::arg("rows"));
}

}  // namespace viewpass
