// Rows and centres as Python makes and reads them.
#include "objects.hpp"

namespace viewpass {
namespace {

template <class T>
bool take_dense(nb::handle array, PyRows& made, size_t n_rows) {
  Table<const T> rows;
  if (!nb::try_cast(array, rows, false)) return false;
  expect(rows.shape(0) == n_rows, "views must have as many rows");
  made.views.push_back(DenseRows<T>{rows.data(), n_rows, rows.shape(1)});
  return true;
}

template <class T, class Index>
bool take_csr(nb::tuple parts, PyRows& made, size_t n_rows) {
  Vector<const T> values;
  Vector<const Index> columns, starts;
  if (!nb::try_cast(parts[0], values, false) || !nb::try_cast(parts[1], columns, false) ||
      !nb::try_cast(parts[2], starts, false))
    return false;
  const auto width = nb::cast<size_t>(parts[3]);
  const Span<const Index> from = span_of(starts);
  expect(from.size() == n_rows + 1, "a CSR view must have as many rows as the others");
  const size_t n_stored = std::min(values.shape(0), columns.shape(0));
  bool sound = from[0] >= 0 && size_t(from[n_rows]) <= n_stored;
  for (size_t i = 0; i < n_rows; ++i) sound &= from[i] <= from[i + 1];
  expect(sound, "the row starts of a CSR view do not rise, or lie outside its values");
  made.views.push_back(CsrRows<T, Index>{values.data(), columns.data(), starts.data(), n_rows, width});
  return true;
}

void take_view(nb::handle view, PyRows& made, size_t n_rows) {
  if (view.is_none()) {
    made.views.push_back(NoRows{});
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

PyRows make_rows(nb::list views, std::optional<Table<const bool>> observed, std::vector<double> weights,
                 Table<double> inverse, Table<uint8_t> kinds, bool measured,
                 std::optional<Vector<const int64_t>> copies, std::vector<double> reaches) {
  PyRows made;
  made.n_rows = inverse.shape(1);
  made.weights = std::move(weights), made.reaches = std::move(reaches);
  made.measured = measured;
  expect(inverse.shape(0) == views.size() && has_shape(kinds, views.size(), made.n_rows) &&
             made.weights.size() == views.size() &&
             (made.reaches.empty() || made.reaches.size() == views.size()),
         "norms, kinds and weights of every view are needed");
  for (nb::handle view : views) take_view(view, made, made.n_rows);
  for (size_t v = 0; v < views.size(); ++v) {
    made.inverse.push_back(grid_of(inverse)[v]);
    made.kinds.emplace_back(reinterpret_cast<Kind*>(grid_of(kinds)[v].data()), made.n_rows);
  }
  if (observed) {
    expect(has_shape(*observed, made.n_rows, views.size()), "observed must be rows x views");
    made.observed = grid_of(*observed);
  }
  if (copies) {
    made.copies = span_of(*copies);
    expect(made.copies.size() == made.n_rows, "copies must have as many rows");
    for (int64_t n : made.copies) expect(n >= 0, "copies must not be negative");
  }
  made.copies_array = copies;
  made.observed_array = observed, made.inverse_array = inverse, made.kinds_array = kinds;
  return made;
}

uint8_t measure(PyRows& self, size_t n_threads) {
  return without_lock(n_threads, [&](Team& team) {
    std::vector<Kind> worst(team.size(), Kind::absent);
    team.each_range(self.n_rows, 256, [&](size_t begin, size_t end, size_t worker) {
      worst[worker] = std::max(worst[worker], self.measure(begin, end));
    });
    self.measured = true;
    return uint8_t(*std::max_element(worst.begin(), worst.end()));
  });
}

PyCentres make_centres(std::vector<std::optional<Table<const double>>> values, Table<const bool> known) {
  auto made = std::make_shared<Centres>();
  made->n_clusters = known.shape(1);
  expect(values.size() == known.shape(0), "values and known must have as many views");
  for (size_t v = 0; v < values.size(); ++v) {
    const size_t width = values[v] ? values[v]->shape(1) : 0;
    ViewCentres u(made->n_clusters, width, false);
    std::copy(grid_of(known)[v].begin(), grid_of(known)[v].end(), u.known.begin());
    if (values[v]) {
      expect(values[v]->shape(0) == made->n_clusters, "views must have as many centres");
      for (size_t k = 0; k < made->n_clusters; ++k) u.replace(k, grid_of(*values[v])[k]);
      u.lay_out();
      u.ready = true;
    }
    made->views.push_back(std::move(u));
  }
  return made;
}

/// A view's centres in the memory of `self`; None where there are none yet.
nb::object values_of(nb::handle self, size_t v) {
  const ViewCentres& u = nb::cast<Centres&>(self).views.at(v);
  if (!u.ready) return nb::none();
  return nb::cast(
      nb::ndarray<nb::numpy, const double, nb::ndim<2>>(u.values().data(), {u.n_clusters, u.width}, self));
}

}  // namespace

void bind_rows(nb::module_& m) {
  nb::class_<PyRows>(m, "Rows")
      .def(nb::new_(&make_rows), "views"_a, "observed"_a.none(), "weights"_a, "inverse"_a.noconvert(),
           "kinds"_a.noconvert(), "measured"_a, "copies"_a.none() = nb::none(),
           "reaches"_a = std::vector<double>())
      .def("measure", &measure, "n_threads"_a)
      .def("squares", [](const PyRows& self, size_t v) {
        expect(v < self.n_views(), "a view that does not exist");
        return array_of(squares_of(self, v));
      });
  nb::class_<Centres>(m, "Centres")
      .def(nb::new_(&make_centres), "values"_a, "known"_a)
      .def("values", &values_of)
      .def("known",
           [](const Centres& self, size_t v) {
             const std::vector<char>& known = self.views.at(v).known;
             return array_of(std::vector<uint8_t>(known.begin(), known.end()));
           })
      .def("squares", [](const Centres& self, size_t v) { return array_of(self.views.at(v).squares); })
      .def(
          "suited",
          [](PyCentres self, const PyRows& rows) {
            expect_fit(rows, *self, false);
            if (self->suits(rows)) return self;
            auto made = std::make_shared<Centres>(*self);
            made->suit(rows);
            return made;
          },
          "rows"_a);
}

}  // namespace viewpass
