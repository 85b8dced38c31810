// The innermost loops, one implementation per instruction set behind one table of functions.
//
// The float32 ones are a filter: their last bits may differ between instruction sets, which the error bounds
// in distances.hpp cover. All others are exact or add in a fixed order: every implementation gives the same
// bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace viewpass {

constexpr size_t kVector = 8;  // clusters per vector of floats: rows of distances are padded to it
constexpr size_t kMostBounded = 2 * kVector;  // nearest of a row that nth_bound bounds: a lane for each
constexpr size_t kPanel = 16;                 // clusters whose centres lie side by side, column by column
constexpr size_t kTall = 6;                   // rows multiplied with a panel at a time
constexpr size_t kBlock = 256;  // columns of one float32 sum: the shorter, the smaller its error
constexpr size_t kExact = 8;    // clusters side by side where products are exact
constexpr size_t kStripe = 24;  // columns of which weighted rows are subtracted at a time

inline size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/// Rows of a dense view and the centres they are multiplied with, some columns of both.
struct ProductTile {
  const float* const* rows;  // n_rows of them, padded with any row to a multiple of kTall
  float* const* lines;       // their distances (padded alike), of round_up(n_clusters, kVector) floats each
  const float* twice;        // what each row's products are taken times (padded alike)
  size_t n_rows, n_columns, n_clusters;
  const float* panels;  // of the first column
  size_t panel_stride;  // from a panel to the next
};

struct TwoNearest {
  float nearest, second;
};

struct Renewed {
  double square, shift;
};

/// The stored values of one CSR row.
template <class T, class Index>
struct SparseRow {
  const T* values;
  const Index* columns;
  size_t n;
  size_t column(size_t p) const { return size_t(columns[p]); }
};

/// What depends on the number type of rows.
template <class T>
struct RowKernels {
  /// |x|^2 in fixed order (exact.hpp).
  double (*square)(const T* row, size_t width);
  /// a.b in fixed order.
  double (*dot)(const T* a, const T* b, size_t width);
  /// Adds rows scaled to unit length (sign = -1: subtracts them), in grid steps.  INOUT sums.
  void (*add_rows)(const T* const* rows, const double* scales, size_t n_rows, size_t width, int sign,
                   int64_t* sums);
  /// A scaled row in float32.  OUT to.
  void (*narrow)(const T* row, double scale, size_t width, float* to);
  /// A scaled row on the grid.  OUT to.
  void (*unit)(const T* row, double scale, size_t width, double* to);
  /// Part of the filter: subtract_products of one CSR row; `table` is columns x n_padded centres.  INOUT
  /// line.
  void (*subtract_csr32)(SparseRow<T, int32_t> row, double scale, const float* table, size_t n_padded,
                         float* line);
  void (*subtract_csr64)(SparseRow<T, int64_t> row, double scale, const float* table, size_t n_padded,
                         float* line);
};

struct Kernels {
  const char* name;

  // The filter.
  /// Subtracts twice the products of rows with all centres of a view from the distances.  INOUT tile.lines.
  void (*subtract_products)(const ProductTile& tile);
  /// Products of a row with two centres.  OUT products.
  void (*two_products)(const float* row, const float* a, const float* b, size_t width, double* products);
  TwoNearest (*two_nearest)(const float* line, size_t n_padded);
  /// A distance that at least n of them do not exceed, n no more than kMostBounded.
  float (*nth_bound)(const float* line, size_t n_padded, size_t n);
  /// Adds every list of changes to the distances; gives the least of them but `own`'s.  INOUT line.
  float (*lower)(float* line, size_t n_padded, const float* const* changes, size_t n_lists, size_t own);
  /// Lists the clusters within `limit`, stopping once there are more than `most`, and the least distance
  /// beyond it.  OUT found (most + kVector of them), beyond. Gives their number.
  size_t (*within)(const float* line, size_t n_padded, float limit, size_t most, uint32_t* found,
                   float* beyond);

  // What is exact.
  RowKernels<float> f32;
  RowKernels<double> f64;
  template <class T>
  const RowKernels<T>& of(const T*) const {
    if constexpr (std::is_same_v<T, float>)
      return f32;
    else
      return f64;
  }
  /// |a - b|^2 in fixed order.
  double (*distance)(const double* a, const double* b, size_t width);
  /// u.R in fixed order, R in grid steps.
  double (*trace)(const double* centre, const int64_t* sums, size_t width);
  /// A centre becomes R times a factor.  INOUT centre; gives |u|^2 and how far it moved, squared, in fixed
  /// order.
  Renewed (*renew_centre)(const int64_t* sums, double factor, size_t width, double* centre);
  /// x.u of one unit row with kExact centres side by side, column after column.  OUT products.
  void (*exact_products)(const double* row, const double* panel, size_t width, double* products);
  /// The same of two rows.  OUT products (2 x kExact).
  void (*exact_products2)(const double* a, const double* b, const double* panel, size_t width,
                          double* products);
  /// Takes factors times the rows of a stripe (n x kStripe) from one more row, in order.  INOUT row.
  void (*subtract_rows)(const double* factors, const double* stripe, size_t n, double* row);
};

/// The implementation in use: the best the processor has, or the one named by VIEWPASS_KERNELS.
const Kernels& kernels();

extern const Kernels kPortableKernels;
/// Null where the processor, or the build, has none.
const Kernels* avx2_kernels();

}  // namespace viewpass
