#include "distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "exact.hpp"
#include "threads.hpp"

namespace viewpass {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kRounding = 0x1p-24;  // of a float32 operation, relative
constexpr double kUnderflow = 1e-20;   // what products too small for float32 can add up to
constexpr double kSafe = 1e18;         // lengths beyond it, or their inverse, take float32 rows out of range
constexpr std::size_t kTileBytes = std::size_t(1) << 20, kLeastTile = 64, kMostTile = 192;

double n_blocks(double n) { return std::ceil(n / double(kBlock)); }

/// Values of a row in a view that are multiplied.
std::size_t n_values(const View& view, std::size_t i) {
  return std::visit(
      [i](const auto& rows) -> std::size_t {
        using Of = std::decay_t<decltype(rows)>;
        if constexpr (is_none<Of> || is_dense<Of>)
          return rows.width;
        else
          return rows[i].n;
      },
      view);
}

/// Float32 rows are multiplied as they are: whether that keeps them in range.
bool in_range(const View& view, double scale) {
  const bool narrow = std::holds_alternative<DenseRows<float>>(view) ||
                      std::holds_alternative<CsrRows<float, int32_t>>(view) ||
                      std::holds_alternative<CsrRows<float, int64_t>>(view);
  return !narrow || (1.0 / kSafe < scale && scale < kSafe);
}

}  // namespace

ErrorBounds::ErrorBounds(const Centres& centres) : magnitude(1e-30) {
  for (const ViewCentres& u : centres.views) {
    longest_.push_back(u.longest());
    magnitude += 1.001 * (longest_.back() + 2.0) * longest_.back();
  }
  for (std::size_t v = 0; v < centres.n_views(); ++v) {
    const auto width = double(centres.views[v].width);
    dense_pass_.push_back(pass(v, width));
    dense_pairs_.push_back(product(v, width / (2.0 * double(kVector)) + 24.0, width) +
                           3.0 * kRounding * magnitude);
  }
}

// The product of a row (|x| <= 1, values and centres rounded to float32) with a centre, summed in chains of
// n_added: each of the n_added + 4 roundings loses at most 2^-24 of |x| |u|. Twice that, for 2 x.u; and the
// row that decides is rounded to the grid, which moves it by at most sqrt(n) 2^-34.
double ErrorBounds::product(std::size_t v, double n_added, double n) const {
  const double relative = (n_added + 4.0) * kRounding;
  if (relative > 0.1) return kInfinity;
  return 2.002 * longest_[v] * (relative / (1.0 - relative) + std::sqrt(n) * 0x1p-34) + kUnderflow;
}

// A block of columns is multiplied and taken away, |u|^2 rounded and added: distances are float32.
double ErrorBounds::pass(std::size_t v, double n) const {
  return product(v, std::min(n, double(kBlock)), n) + (2.0 * n_blocks(n) + 3.0) * kRounding * magnitude;
}

double ErrorBounds::of_pass(const Rows& rows, std::size_t i, const Centres& centres) const {
  double off = 0.0;
  for (std::size_t v = 0; v < rows.n_views(); ++v)
    if (const double scale = rows.scale(v, i); scale > 0.0 && centres.views[v].ready) {
      if (!in_range(rows.views[v], scale)) return kInfinity;
      off += is_sparse(rows.views[v]) ? pass(v, double(n_values(rows.views[v], i))) : dense_pass_[v];
    }
  return off;
}

double ErrorBounds::of_pairs(const Rows& rows, std::size_t i, const Centres& centres) const {
  double off = 0.0;
  for (std::size_t v = 0; v < rows.n_views(); ++v)
    if (const double scale = rows.scale(v, i); scale > 0.0 && centres.views[v].ready) {
      if (!in_range(rows.views[v], scale)) return kInfinity;
      const bool sparse = is_sparse(rows.views[v]);  // summed in float64
      off += sparse ? product(v, 0.0, double(n_values(rows.views[v], i))) + 3.0 * kRounding * magnitude
                    : dense_pairs_[v];
    }
  return off;
}

namespace {

template <class T>
void pass_in_view(const DenseRows<T>& view, Span<const double> inverse, Span<const uint32_t> which,
                  const ViewCentres& u, Span<float* const> lines, PassScratch& scratch) {
  constexpr bool kNarrowed = sizeof(T) > sizeof(float);  // float32 rows are read where they lie
  const Kernels& use = kernels();
  scratch.taken.clear(), scratch.lines.clear(), scratch.twice.clear();
  for (std::size_t r = 0; r < which.size(); ++r)
    if (const double scale = inverse[which[r]]; scale > 0.0) {
      scratch.taken.push_back(which[r]);
      scratch.lines.push_back(lines[r]);
      scratch.twice.push_back(kNarrowed ? 2.0f : float(2.0 * scale));
    }
  const std::size_t n = scratch.taken.size(), n_tall = round_up(n, kTall);
  if (n == 0) return;
  scratch.rows.resize(n_tall), scratch.twice.resize(n_tall, 0.0f);
  scratch.lines.resize(n_tall, scratch.spare.room(u.n_padded()).data());
  float* narrow = kNarrowed ? scratch.narrow.room(n * kBlock).data() : nullptr;
  for (std::size_t column = 0; column < view.width; column += kBlock) {
    const std::size_t n_columns = std::min(kBlock, view.width - column);
    for (std::size_t r = 0; r < n; ++r) {
      const uint32_t i = scratch.taken[r];
      if constexpr (kNarrowed) {
        use.f64.narrow(view[i] + column, inverse[i], n_columns, narrow + r * kBlock);
        scratch.rows[r] = narrow + r * kBlock;
      } else {
        scratch.rows[r] = view[i] + column;
      }
    }
    std::fill(scratch.rows.begin() + std::ptrdiff_t(n), scratch.rows.end(), scratch.rows[n - 1]);
    use.subtract_products({scratch.rows.data(), scratch.lines.data(), scratch.twice.data(), n, n_columns,
                           u.n_clusters, u.layout() + column * kPanel, u.panel_stride()});
  }
}

template <class T, class Index>
void pass_in_view(const CsrRows<T, Index>& view, Span<const double> inverse, Span<const uint32_t> which,
                  const ViewCentres& u, Span<float* const> lines, PassScratch&) {
  const auto subtract = subtract_sparse(kernels(), view.values, view.columns);
  for (std::size_t r = 0; r < which.size(); ++r)
    if (const double scale = inverse[which[r]]; scale > 0.0)
      subtract(view[which[r]], scale, u.layout(), u.n_padded(), lines[r]);
}

}  // namespace

void distance_pass(const Rows& rows, Span<const uint32_t> which, const Centres& centres,
                   Span<float* const> lines, PassScratch& scratch) {
  const std::size_t n_padded = centres.n_padded();
  for (std::size_t r = 0; r < which.size(); ++r) {
    float* line = lines[r];
    bool begun = false;
    for (std::size_t v = 0; v < rows.n_views(); ++v)
      if (rows.has(v, which[r]) && centres.views[v].ready) {
        const float* base = centres.views[v].base.data();
        if (begun)
          for (std::size_t k = 0; k < n_padded; ++k) line[k] += base[k];
        else
          std::copy_n(base, n_padded, line);
        begun = true;
      }
    if (!begun) {
      std::fill_n(line, centres.n_clusters, 0.0f);
      std::fill(line + centres.n_clusters, line + n_padded, std::numeric_limits<float>::infinity());
    }
  }
  for (std::size_t v = 0; v < rows.n_views(); ++v)
    if (centres.views[v].ready)
      std::visit(
          [&](const auto& view) {
            if constexpr (!is_none<std::decay_t<decltype(view)>>)
              pass_in_view(view, rows.inverse[v], which, centres.views[v], lines, scratch);
          },
          rows.views[v]);
}

namespace {

template <class T>
void pairs_in_view(const DenseRows<T>& view, std::size_t i, double scale, const ViewCentres& u,
                   Span<const uint32_t> clusters, std::vector<double>& found, PassScratch& scratch) {
  const Kernels& use = kernels();
  double factor = 2.0;
  const float* x;
  if constexpr (sizeof(T) == sizeof(float)) {
    x = view[i];
    factor = 2.0 * scale;
  } else {
    float* narrow = scratch.narrow.room(view.width).data();
    use.f64.narrow(view[i], scale, view.width, narrow);
    x = narrow;
  }
  for (std::size_t p = 0; p < clusters.size(); p += 2) {
    const std::size_t q = std::min(p + 1, clusters.size() - 1);
    double products[2];
    use.two_products(x, u.narrow(clusters[p]), u.narrow(clusters[q]), view.width, products);
    found[p] += u.squares[clusters[p]] - factor * products[0];
    if (q > p) found[q] += u.squares[clusters[q]] - factor * products[1];
  }
}

template <class T, class Index>
void pairs_in_view(const CsrRows<T, Index>& view, std::size_t i, double scale, const ViewCentres& u,
                   Span<const uint32_t> clusters, std::vector<double>& found, PassScratch&) {
  const SparseRow<T, Index> row = view[i];
  for (std::size_t p = 0; p < clusters.size(); ++p) {
    const float* column = u.layout() + clusters[p];
    double sum = 0.0;
    for (std::size_t e = 0; e < row.n; ++e)
      sum += double(row.values[e]) * double(column[std::size_t(row.columns[e]) * u.n_padded()]);
    found[p] += u.squares[clusters[p]] - 2.0 * scale * sum;
  }
}

constexpr std::size_t kChains = 8;  // sums that run side by side: each addition waits for the last

template <class Row, class At>
void exact_products_of(Row value_of, At centre_at, std::size_t n, Span<const uint32_t> clusters,
                       const ViewCentres& u, std::vector<double>& found) {
  for (std::size_t p = 0; p < clusters.size(); p += kChains) {
    const std::size_t n_here = std::min(kChains, clusters.size() - p);
    const double* centres[kChains];
    double sums[kChains] = {};
    for (std::size_t c = 0; c < kChains; ++c)
      centres[c] = u.centre(clusters[p + std::min(c, n_here - 1)]).data();
    if (n_here > 4)
      for (std::size_t j = 0; j < n; ++j) {
        const double x = value_of(j);
        for (std::size_t c = 0; c < kChains; ++c) sums[c] += x * centre_at(centres[c], j);
      }
    else if (n_here > 2)
      for (std::size_t j = 0; j < n; ++j) {
        const double x = value_of(j);
        for (std::size_t c = 0; c < 4; ++c) sums[c] += x * centre_at(centres[c], j);
      }
    else
      for (std::size_t j = 0; j < n; ++j) {
        const double x = value_of(j);
        for (std::size_t c = 0; c < 2; ++c) sums[c] += x * centre_at(centres[c], j);
      }
    for (std::size_t c = 0; c < n_here; ++c) found[p + c] += u.squares[clusters[p + c]] - 2.0 * sums[c];
  }
}

template <class T>
void exact_in_view(const DenseRows<T>& view, std::size_t i, double scale, const ViewCentres& u,
                   Span<const uint32_t> clusters, std::vector<double>& found) {
  const T* row = view[i];
  exact_products_of([row, scale](std::size_t j) { return on_grid(double(row[j]) * scale); },
                    [](const double* centre, std::size_t j) { return centre[j]; }, view.width, clusters, u,
                    found);
}

template <class T, class Index>
void exact_in_view(const CsrRows<T, Index>& view, std::size_t i, double scale, const ViewCentres& u,
                   Span<const uint32_t> clusters, std::vector<double>& found) {
  const SparseRow<T, Index> row = view[i];
  exact_products_of(
      [row, scale](std::size_t p) { return on_grid(double(row.values[p]) * scale); },
      [row](const double* centre, std::size_t p) { return centre[std::size_t(row.columns[p])]; }, row.n,
      clusters, u, found);
}

}  // namespace

void pair_distances(const Rows& rows, std::size_t i, const Centres& centres, Span<const uint32_t> clusters,
                    std::vector<double>& found, PassScratch& scratch) {
  found.assign(clusters.size(), 0.0);
  for (std::size_t v = 0; v < rows.n_views(); ++v)
    if (rows.has(v, i) && centres.views[v].ready)
      std::visit(
          [&](const auto& view) {
            if constexpr (!is_none<std::decay_t<decltype(view)>>)
              pairs_in_view(view, i, rows.scale(v, i), centres.views[v], clusters, found, scratch);
          },
          rows.views[v]);
}

void exact_distances(const Rows& rows, std::size_t i, const Centres& centres, Span<const uint32_t> clusters,
                     std::vector<double>& found) {
  found.assign(clusters.size(), 0.0);
  for (std::size_t v = 0; v < rows.n_views(); ++v)
    if (rows.has(v, i) && centres.views[v].ready)
      std::visit(
          [&](const auto& view) {
            if constexpr (!is_none<std::decay_t<decltype(view)>>)
              exact_in_view(view, i, rows.scale(v, i), centres.views[v], clusters, found);
          },
          rows.views[v]);
}

uint32_t nearest_exactly(const Rows& rows, std::size_t i, const Centres& centres,
                         Span<const uint32_t> clusters, std::vector<double>& found) {
  exact_distances(rows, i, centres, clusters, found);
  return clusters[std::size_t(std::min_element(found.begin(), found.end()) - found.begin())];
}

double square_of_row(const Rows& rows, std::size_t i, const Centres& centres) {
  double square = 0.0;
  for (std::size_t v = 0; v < rows.n_views(); ++v)
    if (rows.has(v, i) && centres.views[v].ready) square += rows.weights[v];
  return square;
}

// ---- distances that are reported
// ---------------------------------------------------------------------------

namespace {

/// Adds one view's exact distances of rows begin ... end.  INOUT out.
template <class T>
void add_distances(const DenseRows<T>& view, Span<const double> inverse, std::size_t begin, std::size_t end,
                   const ViewCentres& u, Span<const double> panels, Grid<double> out, PassScratch& scratch) {
  const Kernels& use = kernels();
  double* unit = scratch.unit.room(view.width).data();
  for (std::size_t i = begin; i < end; ++i)
    if (const double scale = inverse[i]; scale > 0.0) {
      dense_kernels(use, view.data).unit(view[i], scale, view.width, unit);
      for (std::size_t k = 0; k < u.n_clusters; k += kExact) {
        double products[kExact];
        use.exact_products(unit, panels.data() + k * view.width, view.width, products);
        for (std::size_t c = 0; c < std::min(kExact, u.n_clusters - k); ++c)
          out[i][k + c] += u.squares[k + c] - 2.0 * products[c];
      }
    }
}

template <class T, class Index>
void add_distances(const CsrRows<T, Index>& view, Span<const double> inverse, std::size_t begin,
                   std::size_t end, const ViewCentres& u, Span<const double> panels, Grid<double> out,
                   PassScratch& scratch) {
  double* sums = scratch.unit.room(kExact).data();
  for (std::size_t i = begin; i < end; ++i)
    if (const double scale = inverse[i]; scale > 0.0) {
      const SparseRow<T, Index> row = view[i];
      for (std::size_t k = 0; k < u.n_clusters; k += kExact) {
        const double* panel = panels.data() + k * view.width;
        std::fill_n(sums, kExact, 0.0);
        for (std::size_t p = 0; p < row.n; ++p) {
          const double x = on_grid(double(row.values[p]) * scale);
          const double* at = panel + std::size_t(row.columns[p]) * kExact;
          for (std::size_t c = 0; c < kExact; ++c) sums[c] += x * at[c];
        }
        for (std::size_t c = 0; c < std::min(kExact, u.n_clusters - k); ++c)
          out[i][k + c] += u.squares[k + c] - 2.0 * sums[c];
      }
    }
}

/// Centres side by side, kExact of them, column by column.
std::vector<double> exact_panels(const ViewCentres& u) {
  std::vector<double> panels(round_up(u.n_clusters, kExact) * u.width, 0.0);
  for (std::size_t k = 0; k < u.n_clusters; ++k) {
    double* panel = panels.data() + k / kExact * kExact * u.width + k % kExact;
    const Span<const double> centre = u.centre(k);
    for (std::size_t j = 0; j < u.width; ++j) panel[j * kExact] = centre[j];
  }
  return panels;
}

}  // namespace

void all_distances(const Rows& rows, const Centres& centres, bool relative, Grid<double> out, Team& team) {
  std::vector<std::vector<double>> panels(rows.n_views());
  team.each(rows.n_views(), [&](std::size_t v, std::size_t) {
    if (centres.views[v].ready && rows.seen(v)) panels[v] = exact_panels(centres.views[v]);
  });
  std::vector<PassScratch> scratch(team.size());
  const std::size_t size = tile_rows(rows), n_tiles = (rows.n_rows + size - 1) / size;
  team.each(n_tiles, [&](std::size_t tile, std::size_t worker) {
    const std::size_t begin = tile * size, end = std::min(begin + size, rows.n_rows);
    for (std::size_t i = begin; i < end; ++i) std::fill(out[i].begin(), out[i].end(), 0.0);
    for (std::size_t v = 0; v < rows.n_views(); ++v) {
      if (panels[v].empty()) continue;
      std::visit(
          [&](const auto& view) {
            if constexpr (!is_none<std::decay_t<decltype(view)>>)
              add_distances(view, rows.inverse[v], begin, end, centres.views[v], panels[v], out,
                            scratch[worker]);
          },
          rows.views[v]);
      const double square = rows.weights[v];
      for (std::size_t i = begin; !relative && i < end; ++i)
        if (rows.has(v, i))
          for (double& distance : out[i]) distance += square;
    }
    for (std::size_t i = begin; !relative && i < end; ++i) {
      const bool any = rows.has_any(i);
      for (double& distance : out[i]) distance = any ? std::max(distance, 0.0) : kNaN;
    }
  });
}

void own_distances(const Rows& rows, const Centres& centres, Span<const int32_t> labels, Span<float> distance,
                   Span<float> margin, Team& team) {
  struct Scratch {
    PassScratch pass;
    Buffer<float> lines;
    std::vector<float*> line_of;
    std::vector<uint32_t> which, near;
    std::vector<double> found;
  };
  const ErrorBounds errors(centres);
  const std::size_t n_padded = centres.n_padded(), size = tile_rows(rows);
  std::vector<Scratch> scratch(team.size());
  team.each((rows.n_rows + size - 1) / size, [&](std::size_t tile, std::size_t worker) {
    Scratch& mine = scratch[worker];
    mine.which.clear();
    for (std::size_t i = tile * size; i < std::min((tile + 1) * size, rows.n_rows); ++i) {
      distance[i] = margin[i] = float(kNaN);
      if (labels[i] >= 0 && rows.has_any(i)) mine.which.push_back(uint32_t(i));
    }
    float* lines = mine.lines.room(mine.which.size() * n_padded).data();
    mine.line_of.clear();
    for (std::size_t r = 0; r < mine.which.size(); ++r) mine.line_of.push_back(lines + r * n_padded);
    distance_pass(rows, mine.which, centres, mine.line_of, mine.pass);
    for (std::size_t r = 0; r < mine.which.size(); ++r) {
      const uint32_t i = mine.which[r], own = uint32_t(labels[i]);
      float* line = mine.line_of[r];
      line[own] = std::numeric_limits<float>::infinity();
      const double off = errors.of_pass(rows, i, centres);
      const double reach = double(kernels().two_nearest(line, n_padded).nearest) + 2.0 * off;
      mine.near.assign(1, own);
      for (std::size_t k = 0; k < centres.n_clusters; ++k)
        if (k != own && !(double(line[k]) > reach)) mine.near.push_back(uint32_t(k));
      exact_distances(rows, i, centres, mine.near, mine.found);
      distance[i] = float(std::max(mine.found[0] + square_of_row(rows, i, centres), 0.0));
      if (mine.near.size() > 1)
        margin[i] =
            float(std::max(*std::min_element(mine.found.begin() + 1, mine.found.end()) - mine.found[0], 0.0));
    }
  });
}

std::size_t tile_rows(const Rows& rows) {
  std::size_t n_bytes = 1;
  for (const View& view : rows.views) n_bytes += row_bytes(view);
  return std::min(std::max(kLeastTile, kTileBytes / n_bytes), kMostTile);
}

}  // namespace viewpass
