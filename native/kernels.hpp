// The innermost loops, one implementation per instruction set behind one table of functions.
//
// The float32 ones are a filter: their last bits may differ between instruction sets, which the error bounds
// in distances.hpp cover. All others are exact or add in a fixed order: every implementation gives the same
// bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace viewpass {

constexpr std::size_t kVector = 8;   // clusters per vector of floats: rows of distances are padded to it
constexpr std::size_t kPanel = 16;   // clusters whose centres lie side by side, column by column
constexpr std::size_t kTall = 6;     // rows multiplied with a panel at a time
constexpr std::size_t kBlock = 256;  // columns of one float32 sum: the shorter, the smaller its error
constexpr std::size_t kExact = 8;    // clusters side by side where products are exact
constexpr std::size_t kStripe = 12;  // columns of a weighted sum at a time,
constexpr std::size_t kWeights = 4;  // and weights
constexpr std::size_t kSolved = 24;  // columns that are solved for at a time

inline std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

/// Rows of a dense view and the centres they are multiplied with, some columns of both.
struct ProductTile {
  const float* const* rows;  // n_rows of them, padded with any row to a multiple of kTall
  float* const* lines;       // their distances (padded alike), of round_up(n_clusters, kVector) floats each
  const float* twice;        // what each row's products are taken times (padded alike)
  std::size_t n_rows, n_columns, n_clusters;
  const float* panels;       // of the first column
  std::size_t panel_stride;  // from a panel to the next
};

struct TwoNearest {
  float nearest, second;
};

struct Renewed {
  double square, shift;
};

/// Stored values of one CSR row.
template <class T, class Index>
struct SparseRow {
  const T* values;
  const Index* columns;
  std::size_t n;
};

template <class T>
struct DenseKernels {
  bool (*all_nan)(const T* row, std::size_t width);
  /// |x|^2 in the order of the lanes.
  double (*square)(const T* row, std::size_t width);
  /// a.b in the order of the lanes.
  double (*dot)(const T* a, const T* b, std::size_t width);
  /// Adds rows scaled to unit length (sign = -1: takes them away), in grid steps.  INOUT sums.
  void (*add_rows)(const T* const* rows, const double* scales, std::size_t n_rows, std::size_t width,
                   int sign, int64_t* sums);
  /// A scaled row in float32.  OUT to.
  void (*narrow)(const T* row, double scale, std::size_t width, float* to);
  /// A scaled row on the grid.  OUT to.
  void (*unit)(const T* row, double scale, std::size_t width, double* to);
};

template <class T, class Index>
using SubtractSparse = void (*)(SparseRow<T, Index> row, double scale, const float* table,
                                std::size_t n_padded, float* line);

struct Kernels {
  const char* name;

  // The filter.
  /// Takes twice the products of rows with all centres of a view from the distances.  INOUT tile.lines.
  void (*subtract_products)(const ProductTile& tile);
  /// The same of one CSR row; `table` is columns x n_padded centres.  INOUT line.
  SubtractSparse<float, int32_t> subtract_f32_i32;
  SubtractSparse<float, int64_t> subtract_f32_i64;
  SubtractSparse<double, int32_t> subtract_f64_i32;
  SubtractSparse<double, int64_t> subtract_f64_i64;
  /// Products of a row with two centres.  OUT products.
  void (*two_products)(const float* row, const float* a, const float* b, std::size_t width, double* products);
  TwoNearest (*two_nearest)(const float* line, std::size_t n_padded);
  /// Adds every list of changes to the distances; gives the least of them but `own`'s.  INOUT line.
  float (*lower)(float* line, std::size_t n_padded, const float* const* changes, std::size_t n_lists,
                 std::size_t own);
  /// Lists the clusters within `limit`, stopping once there are more than `most`; the least distance beyond
  /// it. OUT found (room for most + kVector), beyond. Gives their number.
  std::size_t (*within)(const float* line, std::size_t n_padded, float limit, std::size_t most,
                        uint32_t* found, float* beyond);

  // What is exact.
  DenseKernels<float> f32;
  DenseKernels<double> f64;
  /// |a - b|^2 in the order of the lanes.
  double (*distance)(const double* a, const double* b, std::size_t width);
  /// u.R in the order of the lanes, R in grid steps.
  double (*trace)(const double* centre, const int64_t* sums, std::size_t width);
  /// A centre becomes R times a factor.  INOUT centre; gives |u|^2 and how far it moved, squared, in lane
  /// order.
  Renewed (*renew_centre)(const int64_t* sums, double factor, std::size_t width, double* centre);
  /// x.u of one unit row with kExact centres side by side, column after column.  OUT products.
  void (*exact_products)(const double* row, const double* panel, std::size_t width, double* products);
  /// Adds, row after row, weights (rows x kWeights) times a stripe of values (rows x kStripe).
  /// INOUT sums (kWeights x kStripe).
  void (*weighted_sums)(const double* weights, const double* stripe, std::size_t n_rows, double* sums);
  /// Takes factors times the rows of a stripe (n x kSolved) from one more row, in order.  INOUT row.
  void (*subtract_rows)(const double* factors, const double* stripe, std::size_t n, double* row);
};

/// The implementation in use: the best the processor has, or the one named by VIEWPASS_KERNELS.
const Kernels& kernels();

extern const Kernels kPortableKernels;
/// Null where the processor, or the build, has none.
const Kernels* avx2_kernels();

inline const DenseKernels<float>& dense_kernels(const Kernels& of, const float*) { return of.f32; }
inline const DenseKernels<double>& dense_kernels(const Kernels& of, const double*) { return of.f64; }
inline auto subtract_sparse(const Kernels& of, const float*, const int32_t*) { return of.subtract_f32_i32; }
inline auto subtract_sparse(const Kernels& of, const float*, const int64_t*) { return of.subtract_f32_i64; }
inline auto subtract_sparse(const Kernels& of, const double*, const int32_t*) { return of.subtract_f64_i32; }
inline auto subtract_sparse(const Kernels& of, const double*, const int64_t*) { return of.subtract_f64_i64; }

}  // namespace viewpass
