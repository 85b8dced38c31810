#include "near_rows.hpp"

#include <algorithm>

namespace viewpass {
namespace {

struct Entry {
  uint32_t row;
  double value;
};

/// The values of each column, by row.
struct Columns {
  std::vector<size_t> starts;
  std::vector<Entry> entries;
  std::vector<double> squares;  // |x|^2 of each row

  template <class View>
  Columns(const View& view, const Rows& rows, size_t v)
      : starts(view.width + 2, 0), squares(rows.n_rows, 0.0) {
    const auto each = [&](auto use) {
      for (size_t i = 0; i < rows.n_rows; ++i)
        if (const double scale = rows.scale(v, i); scale > 0.0) {
          const auto row = view[i];
          for (size_t p = 0; p < row.n; ++p) use(i, size_t(row.column(p)), double(row.values[p]) * scale);
        }
    };
    each([&](size_t, size_t column, double) { ++starts[column + 2]; });
    for (size_t c = 2; c < starts.size(); ++c) starts[c] += starts[c - 1];
    entries.resize(starts.back());
    each([&](size_t i, size_t column, double x) {
      entries[starts[column + 1]++] = {uint32_t(i), x};
      squares[i] += x * x;
    });
  }
};

}  // namespace

void near_rows(const Rows& rows, size_t v, Grid<int32_t> near, Team& team) {
  with_rows(rows.views[v], [&](const auto& view) {
    const Columns columns(view, rows, v);
    std::vector<uint32_t> there;
    for (uint32_t i = 0; i < rows.n_rows; ++i)
      if (rows.has(v, i)) there.push_back(i);
    team.each_range(rows.n_rows, 64, [&](size_t begin, size_t end, size_t) {
      std::vector<double> products(rows.n_rows);
      std::vector<std::pair<double, uint32_t>> order;
      for (size_t i = begin; i < end; ++i) {
        const double scale = rows.scale(v, i);
        if (!(scale > 0.0)) continue;
        std::fill(products.begin(), products.end(), 0.0);
        const auto row = view[i];
        for (size_t p = 0; p < row.n; ++p) {
          const double x = double(row.values[p]) * scale;
          const size_t c = size_t(row.column(p));
          for (size_t e = columns.starts[c]; e < columns.starts[c + 1]; ++e)
            products[columns.entries[e].row] += x * columns.entries[e].value;
        }
        order.clear();
        for (uint32_t j : there)
          if (j != i) order.emplace_back(columns.squares[j] - 2.0 * products[j], j);
        const auto last = order.begin() + std::ptrdiff_t(near.width());
        std::nth_element(order.begin(), last - 1, order.end());
        std::sort(order.begin(), last);
        for (size_t n = 0; n < near.width(); ++n) near[i][n] = int32_t(order[n].second);
      }
    });
  });
}

}  // namespace viewpass
