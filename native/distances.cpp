#include "distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact.hpp"

namespace viewpass {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kRounding = 0x1p-24;  // of a float32 operation, relative
constexpr double kUnderflow = 1e-20;   // what products too small for float32 can add up to
constexpr double kSafe = 1e18;         // lengths beyond it, or their inverse, take float32 rows out of range
constexpr size_t kTileBytes = size_t(1) << 20, kLeastTile = 64, kMostTile = 192;

/// Float32 rows are multiplied as they are: whether that keeps them in range.
bool in_range(const View& view, double scale) {
  const bool narrow = std::holds_alternative<DenseRows<float>>(view) ||
                      std::holds_alternative<CsrRows<float, int32_t>>(view) ||
                      std::holds_alternative<CsrRows<float, int64_t>>(view);
  return !narrow || (1.0 / kSafe < scale && scale < kSafe);
}

}  // namespace

ErrorBounds::ErrorBounds(const Centres& centres, const Rows& rows) : magnitude(1e-30) {
  for (size_t v = 0; v < centres.n_views(); ++v) {
    longest_.push_back(centres.views[v].longest());
    reach_.push_back(rows.reach(v));
    magnitude += 1.001 * (longest_.back() + 2.0 * reach_.back()) * longest_.back();
  }
  for (size_t v = 0; v < centres.n_views(); ++v) {
    const auto width = double(centres.views[v].width);
    dense_pass_.push_back(pass(v, width));
    dense_pairs_.push_back(pair(v, width / (2.0 * double(kVector)) + 24.0, width));
  }
}

// The product of a row (|x| <= reach, values and centres rounded to float32) with a centre, summed in chains
// of n_added: each of the n_added + 4 roundings loses at most 2^-24 of |x| |u|. Twice that, for 2 x.u; and
// the row that decides is rounded to the grid, which moves it by at most sqrt(n) 2^-34.
double ErrorBounds::product(size_t v, double n_added, double n) const {
  const double relative = (n_added + 4.0) * kRounding;
  if (relative > 0.1) return kInfinity;
  return 2.002 * longest_[v] * (reach_[v] * relative / (1.0 - relative) + std::sqrt(n) * 0x1p-34) +
         kUnderflow;
}

// A block of columns is multiplied and subtracted, |u|^2 rounded and added: distances are float32.
double ErrorBounds::pass(size_t v, double n) const {
  const double n_blocks = std::ceil(n / double(kBlock));
  return product(v, std::min(n, double(kBlock)), n) + (2.0 * n_blocks + 3.0) * kRounding * magnitude;
}

double ErrorBounds::pair(size_t v, double n_added, double n) const {
  return product(v, n_added, n) + 3.0 * kRounding * magnitude;
}

double ErrorBounds::of(const Rows& rows, size_t i, const Centres& centres, bool pairs) const {
  double off = 0.0;
  for (size_t v = 0; v < rows.n_views(); ++v)
    if (const double scale = rows.scale(v, i); scale > 0.0 && centres.views[v].ready) {
      if (!in_range(rows.views[v], scale)) return kInfinity;
      if (!is_sparse(rows.views[v]))
        off += (pairs ? dense_pairs_ : dense_pass_)[v];
      else
        with_rows(rows.views[v], [&](const auto& view) {  // pairs are summed in float64
          off += pairs ? pair(v, 0.0, double(view[i].n)) : pass(v, double(view[i].n));
        });
    }
  return off;
}

namespace {

template <class T>
void pass_in_view(const DenseRows<T>& view, Span<const double> inverse, Span<const uint32_t> which,
                  const ViewCentres& u, Span<float* const> lines, PassScratch& scratch) {
  constexpr bool kNarrowed = sizeof(T) > sizeof(float);  // float32 rows are multiplied as they are
  scratch.taken.clear(), scratch.row_lines.clear(), scratch.twice.clear();
  for (size_t r = 0; r < which.size(); ++r)
    if (const double scale = inverse[which[r]]; scale > 0.0) {
      scratch.taken.push_back(which[r]);
      scratch.row_lines.push_back(lines[r]);
      scratch.twice.push_back(kNarrowed ? 2.0f : float(2.0 * scale));
    }
  const size_t n = scratch.taken.size(), n_tall = round_up(n, kTall);
  if (n == 0) return;
  scratch.rows.resize(n_tall), scratch.twice.resize(n_tall, 0.0f);
  scratch.row_lines.resize(n_tall, scratch.spare.reserve(u.n_padded()));
  float* narrow = kNarrowed ? scratch.narrow.reserve(n * kBlock) : nullptr;
  for (size_t column = 0; column < view.width; column += kBlock) {
    const size_t n_columns = std::min(kBlock, view.width - column);
    for (size_t r = 0; r < n; ++r) {
      const uint32_t i = scratch.taken[r];
      if constexpr (kNarrowed) {
        kernels().f64.narrow(view[i].values + column, inverse[i], n_columns, narrow + r * kBlock);
        scratch.rows[r] = narrow + r * kBlock;
      } else {
        scratch.rows[r] = view[i].values + column;
      }
    }
    std::fill(scratch.rows.begin() + std::ptrdiff_t(n), scratch.rows.end(), scratch.rows[n - 1]);
    kernels().subtract_products({scratch.rows.data(), scratch.row_lines.data(), scratch.twice.data(), n,
                                 n_columns, u.n_clusters, u.layout() + column * kPanel, u.panel_stride()});
  }
}

template <class T, class Index>
void pass_in_view(const CsrRows<T, Index>& view, Span<const double> inverse, Span<const uint32_t> which,
                  const ViewCentres& u, Span<float* const> lines, PassScratch&) {
  const RowKernels<T>& use = kernels().of(view.values);
  for (size_t r = 0; r < which.size(); ++r)
    if (const double scale = inverse[which[r]]; scale > 0.0) {
      if constexpr (sizeof(Index) == 4)
        use.subtract_csr32(view[which[r]], scale, u.layout(), u.n_padded(), lines[r]);
      else
        use.subtract_csr64(view[which[r]], scale, u.layout(), u.n_padded(), lines[r]);
    }
}

/// x.u of one dense row with pairs of centres, in float32.
template <class T>
void pairs_in_view(DenseRow<T> row, double scale, const ViewCentres& u, Span<const uint32_t> clusters,
                   std::vector<double>& found, PassScratch& scratch) {
  const double factor = sizeof(T) == sizeof(float) ? 2.0 * scale : 2.0;
  const float* x;
  if constexpr (sizeof(T) == sizeof(float)) {
    x = row.values;
  } else {
    float* narrow = scratch.narrow.reserve(row.n);
    kernels().f64.narrow(row.values, scale, row.n, narrow);
    x = narrow;
  }
  for (size_t p = 0; p < clusters.size(); p += 2) {
    const size_t q = std::min(p + 1, clusters.size() - 1);
    double products[2];
    kernels().two_products(x, u.narrow(clusters[p]), u.narrow(clusters[q]), row.n, products);
    found[p] += u.squares[clusters[p]] - factor * products[0];
    if (q > p) found[q] += u.squares[clusters[q]] - factor * products[1];
  }
}

template <class T, class Index>
void pairs_in_view(SparseRow<T, Index> row, double scale, const ViewCentres& u, Span<const uint32_t> clusters,
                   std::vector<double>& found, PassScratch&) {
  for (size_t p = 0; p < clusters.size(); ++p) {
    const float* centre = u.layout() + clusters[p];
    double sum = 0.0;
    for (size_t e = 0; e < row.n; ++e)
      sum += double(row.values[e]) * double(centre[row.column(e) * u.n_padded()]);
    found[p] += u.squares[clusters[p]] - 2.0 * scale * sum;
  }
}

/// Exact products of a row with kChains centres side by side: each addition waits for the last.  INOUT sums.
template <size_t kChains, class Row>
void add_products(Row row, double scale, const double* const* centres, double* sums) {
  double totals[kChains] = {};
  for (size_t p = 0; p < row.n; ++p) {
    const double x = on_grid(double(row.values[p]) * scale);
    for (size_t c = 0; c < kChains; ++c) totals[c] += x * centres[c][row.column(p)];
  }
  std::copy_n(totals, kChains, sums);
}

/// work(row, scale, centres) for every view that a row has and that has centres.
template <class Work>
void for_views(const Rows& rows, size_t i, const Centres& centres, const Work& work) {
  for (size_t v = 0; v < rows.n_views(); ++v)
    if (rows.has(v, i) && centres.views[v].ready)
      with_rows(rows.views[v], [&](const auto& view) { work(view[i], rows.scale(v, i), centres.views[v]); });
}

/// Centres side by side, kExact of them, column by column.
std::vector<double> exact_panels(const ViewCentres& u) {
  std::vector<double> panels(round_up(u.n_clusters, kExact) * u.width, 0.0);
  for (size_t k = 0; k < u.n_clusters; ++k) {
    double* panel = panels.data() + k / kExact * kExact * u.width + k % kExact;
    const Span<const double> centre = u.centre(k);
    for (size_t j = 0; j < u.width; ++j) panel[j * kExact] = centre[j];
  }
  return panels;
}

/// Adds the exact distances of one row in one view; `values` are the row's on the grid.  INOUT out.
template <class Row>
void add_distances(Row row, const double* values, const ViewCentres& u, Span<const double> panels,
                   Span<double> out) {
  for (size_t k = 0; k < u.n_clusters; k += kExact) {
    const double* panel = panels.data() + k * u.width;
    double sums[kExact] = {};
    if constexpr (std::is_same_v<Row, DenseRow<float>> || std::is_same_v<Row, DenseRow<double>>)
      kernels().exact_products(values, panel, row.n, sums);
    else
      for (size_t p = 0; p < row.n; ++p)
        for (size_t c = 0; c < kExact; ++c) sums[c] += values[p] * panel[row.column(p) * kExact + c];
    for (size_t c = 0; c < std::min(kExact, u.n_clusters - k); ++c)
      out[k + c] += u.squares[k + c] - 2.0 * sums[c];
  }
}

}  // namespace

void distance_pass(const Rows& rows, Span<const uint32_t> which, const Centres& centres,
                   Span<float* const> lines, PassScratch& scratch) {
  const size_t n_padded = centres.n_padded();
  for (size_t r = 0; r < which.size(); ++r) {
    float* line = lines[r];
    bool begun = false;
    for (size_t v = 0; v < rows.n_views(); ++v)
      if (rows.has(v, which[r]) && centres.views[v].ready) {
        const float* base = centres.views[v].base.data();
        if (begun)
          for (size_t k = 0; k < n_padded; ++k) line[k] += base[k];
        else
          std::copy_n(base, n_padded, line);
        begun = true;
      }
    if (!begun) {
      std::fill_n(line, centres.n_clusters, 0.0f);
      std::fill(line + centres.n_clusters, line + n_padded, std::numeric_limits<float>::infinity());
    }
  }
  for (size_t v = 0; v < rows.n_views(); ++v)
    if (centres.views[v].ready)
      with_rows(rows.views[v], [&](const auto& view) {
        pass_in_view(view, rows.inverse[v], which, centres.views[v], lines, scratch);
      });
}

void pair_distances(const Rows& rows, size_t i, const Centres& centres, Span<const uint32_t> clusters,
                    std::vector<double>& found, PassScratch& scratch) {
  found.assign(clusters.size(), 0.0);
  for_views(rows, i, centres, [&](auto row, double scale, const ViewCentres& u) {
    pairs_in_view(row, scale, u, clusters, found, scratch);
  });
}

void exact_distances(const Rows& rows, size_t i, const Centres& centres, Span<const uint32_t> clusters,
                     std::vector<double>& found) {
  constexpr size_t kMost = 8;
  found.assign(clusters.size(), 0.0);
  for_views(rows, i, centres, [&](auto row, double scale, const ViewCentres& u) {
    for (size_t p = 0; p < clusters.size(); p += kMost) {
      const size_t n = std::min(kMost, clusters.size() - p);
      const double* near[kMost];
      double sums[kMost];
      for (size_t c = 0; c < kMost; ++c) near[c] = u.centre(clusters[p + std::min(c, n - 1)]).data();
      if (n > 4)
        add_products<kMost>(row, scale, near, sums);
      else if (n > 2)
        add_products<4>(row, scale, near, sums);
      else
        add_products<2>(row, scale, near, sums);
      for (size_t c = 0; c < n; ++c) found[p + c] += u.squares[clusters[p + c]] - 2.0 * sums[c];
    }
  });
}

uint32_t nearest_exactly(const Rows& rows, size_t i, const Centres& centres, Span<const uint32_t> clusters,
                         std::vector<double>& found) {
  exact_distances(rows, i, centres, clusters, found);
  return clusters[size_t(std::min_element(found.begin(), found.end()) - found.begin())];
}

void all_distances(const Rows& rows, const Centres& centres, bool relative, Grid<double> out, Team& team) {
  std::vector<std::vector<double>> panels(rows.n_views());
  team.each(rows.n_views(), [&](size_t v, size_t) {
    if (centres.views[v].ready && rows.seen(v)) panels[v] = exact_panels(centres.views[v]);
  });
  std::vector<PassScratch> scratch(team.size());
  team.each_range(rows.n_rows, tile_rows(rows), [&](size_t begin, size_t end, size_t worker) {
    for (size_t i = begin; i < end; ++i) std::fill(out[i].begin(), out[i].end(), 0.0);
    for (size_t v = 0; v < rows.n_views(); ++v)
      with_rows(rows.views[v], [&](const auto& view) {
        for (size_t i = begin; !panels[v].empty() && i < end; ++i) {
          if (!rows.has(v, i)) continue;
          const auto row = view[i];
          double* values = scratch[worker].unit.reserve(row.n);
          kernels().of(row.values).unit(row.values, rows.scale(v, i), row.n, values);
          add_distances(row, values, centres.views[v], panels[v], out[i]);
          const double square = relative ? 0.0 : rows.square(v, i);
          if (!relative)
            for (double& distance : out[i]) distance += square;
        }
      });
    for (size_t i = begin; !relative && i < end; ++i) {
      const bool any = rows.has_any(i);
      for (double& distance : out[i]) distance = any ? std::max(distance, 0.0) : kNaN;
    }
  });
}

/// With float32 distances off by at most e each, the two nearest clusters are among those whose distance is
/// at most 2 e above the second least: the second least of all is at most (second in float32) + e.
void nearest_two(const Rows& rows, const Centres& centres, Span<int32_t> labels, Span<float> distance,
                 Span<float> margin, Team& team) {
  struct Scratch {
    PassScratch pass;
    std::vector<uint32_t> which, near;
    std::vector<double> found;
  };
  const ErrorBounds errors(centres, rows);
  const size_t n_padded = centres.n_padded();
  std::vector<Scratch> scratch(team.size());
  team.each_range(rows.n_rows, tile_rows(rows), [&](size_t begin, size_t end, size_t worker) {
    auto& [pass, which, near, found] = scratch[worker];
    which.clear();
    for (size_t i = begin; i < end; ++i) {
      labels[i] = -1;
      distance[i] = margin[i] = float(kNaN);
      if (rows.has_any(i)) which.push_back(uint32_t(i));
    }
    pass.make_lines(which.size(), n_padded);
    distance_pass(rows, which, centres, pass.line_of, pass);
    for (size_t r = 0; r < which.size(); ++r) {
      const uint32_t i = which[r];
      const float* line = pass.line_of[r];
      const double doubt = 2.0 * errors.of_pass(rows, i, centres);
      const double reach = double(kernels().two_nearest(line, n_padded).second) + doubt;
      near.clear();
      for (size_t k = 0; k < centres.n_clusters; ++k)
        if (!(double(line[k]) > reach)) near.push_back(uint32_t(k));
      exact_distances(rows, i, centres, near, found);
      const auto best = size_t(std::min_element(found.begin(), found.end()) - found.begin());
      const double own = found[best];
      double square = 0.0;  // |x|^2
      for (size_t v = 0; v < rows.n_views(); ++v)
        if (rows.has(v, i) && centres.views[v].ready) square += rows.square(v, i);
      labels[i] = int32_t(near[best]);
      distance[i] = float(std::max(own + square, 0.0));
      found[best] = std::numeric_limits<double>::infinity();
      if (near.size() > 1)
        margin[i] = float(std::max(*std::min_element(found.begin(), found.end()) - own, 0.0));
    }
  });
}

size_t tile_rows(const Rows& rows) {
  size_t n_bytes = 1;
  for (const View& view : rows.views) n_bytes += row_bytes(view);
  return std::min(std::max(kLeastTile, kTileBytes / n_bytes), kMostTile);
}

}  // namespace viewpass
