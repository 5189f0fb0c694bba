// The module _resampling: draws and adds up the counts of bootstrap resamples, and the random signs of randomisation
// tests. fallback/resampling.py does the same in numpy and documents the arguments and results.

#include <cfloat>
#include <cmath>
#include <vector>

#include "python_api.hpp"
#include "vector_registers.hpp"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define GOLDRANK_FMA
#endif

namespace goldrank {
namespace {

using std::uint8_t;

constexpr int kSigns = 16;    // signs in a word
constexpr int kColumns = 16;  // most resamples whose sums stay in registers
constexpr int kWeights = 12;  // most quantities whose sums stay in registers
constexpr Py_ssize_t kBlock = 128;  // rows converted to floats at a time; they fit into the first-level cache

// The random generator SFC64 by Chris Doty-Humphrey, as in numpy.
class Sfc64 {
 public:
  explicit Sfc64(const int64_t* state) {
    for (int i = 0; i < 4; ++i) state_[i] = static_cast<uint64_t>(state[i]);
  }
  void store(int64_t* state) const {
    for (int i = 0; i < 4; ++i) state[i] = static_cast<int64_t>(state_[i]);
  }
  GOLDRANK_INLINE uint64_t next() {
    const uint64_t result = state_[0] + state_[1] + state_[3]++;
    state_[0] = state_[1] ^ (state_[1] >> 11);
    state_[1] = state_[2] + (state_[2] << 3);
    state_[2] = ((state_[2] << 24) | (state_[2] >> 40)) + result;
    return result;
  }

 private:
  uint64_t state_[4];
};

// counts[i] is the number of thresholds that a random byte reaches; the size is a multiple of 8.
GOLDRANK_WIDEST_REGISTERS void draw_reached(Sfc64& state, Py_ssize_t size, const uint8_t* thresholds,
                                            Py_ssize_t steps, uint8_t* counts) {
  constexpr Py_ssize_t kPart = 1 << 12;  // a part stays in the first-level cache for all thresholds
  uint8_t raw[kPart];
  Sfc64 random = state;  // a copy that stays in registers, because bytes may alias the state
  for (Py_ssize_t first = 0; first < size; first += kPart) {
    const Py_ssize_t part = std::min(size - first, kPart);
    for (Py_ssize_t i = 0; i < part; i += 8) {
      const uint64_t word = random.next();
      for (int byte = 0; byte < 8; ++byte) raw[i + byte] = uint8_t(word >> (8 * byte));
    }
    uint8_t* const out = counts + first;
    std::fill_n(out, part, uint8_t(0));
    for (Py_ssize_t step = 0; step < steps; ++step) {
      const uint8_t threshold = thresholds[step];
      for (Py_ssize_t i = 0; i < part; ++i) out[i] = uint8_t(out[i] + uint8_t(raw[i] >= threshold));
    }
  }
  state = random;
}

// counts[i] is the number of set bits of a random 16-bit word; the size is a multiple of 4.
GOLDRANK_WIDEST_REGISTERS void draw_bits(Sfc64& state, Py_ssize_t size, uint8_t* counts) {
  constexpr Py_ssize_t kPart = 1 << 11;
  uint16_t raw[kPart];
  Sfc64 random = state;
  for (Py_ssize_t first = 0; first < size; first += kPart) {
    const Py_ssize_t part = std::min(size - first, kPart);
    for (Py_ssize_t i = 0; i < part; i += 4) {
      const uint64_t word = random.next();
      for (int at = 0; at < 4; ++at) raw[i + at] = uint16_t(word >> (16 * at));
    }
    for (Py_ssize_t i = 0; i < part; ++i) {
      uint16_t bits = raw[i];
      bits = uint16_t(bits - ((bits >> 1) & 0x5555));
      bits = uint16_t((bits & 0x3333) + ((bits >> 2) & 0x3333));
      bits = uint16_t((bits + (bits >> 4)) & 0x0f0f);
      counts[first + i] = uint8_t(bits + (bits >> 8));
    }
  }
  state = random;
}

// Adds up the columns of a matrix. Rows that are narrower than a register are added several at a time.
GOLDRANK_WIDEST_REGISTERS void add_rows(const uint8_t* counts, Py_ssize_t rows, Py_ssize_t columns, int64_t* totals) {
  constexpr Py_ssize_t kRegister = 64, kMost = 256;  // 256 bytes add up to less than 2^16
  std::fill_n(totals, columns, int64_t(0));
  if (columns == 0) return;
  const Py_ssize_t together = std::max(Py_ssize_t(1), kRegister / columns), width = together * columns;
  std::vector<uint16_t> part(static_cast<size_t>(width));
  uint16_t* const sums = part.data();
  for (Py_ssize_t row = 0; row < rows;) {
    std::fill_n(sums, width, uint16_t(0));
    for (Py_ssize_t step = 0; step < kMost && row < rows; ++step, row += together) {
      const uint8_t* const bytes = counts + row * columns;
      const Py_ssize_t size = std::min(width, (rows - row) * columns);
      for (Py_ssize_t i = 0; i < size; ++i) sums[i] = uint16_t(sums[i] + bytes[i]);
    }
    for (Py_ssize_t i = 0; i < width; ++i) totals[i % columns] += sums[i];
  }
}

// A block of rows of counts as floats, kColumns columns wide; columns beyond the last are 0.
using Wide = const double (*)[kColumns];

GOLDRANK_WIDEST_REGISTERS void widen(const uint8_t* counts, Py_ssize_t stride, Py_ssize_t rows, Py_ssize_t width,
                                     double (*wide)[kColumns]) {
  if (width == kColumns) {
    for (Py_ssize_t row = 0; row < rows; ++row) {
      for (int i = 0; i < kColumns; ++i) wide[row][i] = static_cast<double>(counts[row * stride + i]);
    }
    return;
  }
  if (width == kColumns / 2) {
    for (Py_ssize_t row = 0; row < rows; ++row) {
      for (int i = 0; i < kColumns / 2; ++i) wide[row][i] = static_cast<double>(counts[row * stride + i]);
    }
    return;
  }
  for (Py_ssize_t row = 0; row < rows; ++row) {
    for (int i = 0; i < kColumns; ++i) wide[row][i] = i < width ? static_cast<double>(counts[row * stride + i]) : 0.0;
  }
}

// Adds the products of a block with some columns of weights to `sums`, (quantities, kColumns).
using Multiply = void (*)(Wide wide, Py_ssize_t rows, const double* weights, Py_ssize_t stride, double* sums);

// Multiplies that many columns of a block; functions[i] takes i + 1 quantities.
struct Kernel {
  Py_ssize_t columns;
  Py_ssize_t quantities;
  const Multiply* functions;
};

template <int quantities>
void multiply(Wide wide, Py_ssize_t rows, const double* weights, Py_ssize_t stride, double* sums) {
  for (Py_ssize_t row = 0; row < rows; ++row) {
    for (int at = 0; at < quantities; ++at) {
      const double weight = weights[row * stride + at];
      for (int i = 0; i < kColumns / 2; ++i) sums[at * kColumns + i] += weight * wide[row][i];
    }
  }
}

#ifdef GOLDRANK_FMA
// The same with all sums in registers. Lanes are sums over parts of the rows: a few sums alone would wait for the
// additions before. Fused additions round once, which makes no difference to sums of integers. The loops are unrolled
// because only then the compiler keeps the sums in registers.
template <int quantities, int lanes>
__attribute__((target("avx2,fma"))) void multiply_fused(Wide wide, Py_ssize_t rows, const double* weights,
                                                        Py_ssize_t stride, double* sums) {
  __m256d low[lanes * quantities], high[lanes * quantities];
#pragma GCC unroll 16
  for (int at = 0; at < lanes * quantities; ++at) low[at] = high[at] = _mm256_setzero_pd();
  Py_ssize_t row = 0;
  for (; row + lanes <= rows; row += lanes) {
#pragma GCC unroll 16
    for (int lane = 0; lane < lanes; ++lane) {
      const __m256d first = _mm256_load_pd(wide[row + lane]), last = _mm256_load_pd(wide[row + lane] + 4);
#pragma GCC unroll 16
      for (int at = 0; at < quantities; ++at) {
        const __m256d weight = _mm256_broadcast_sd(weights + (row + lane) * stride + at);
        low[lane * quantities + at] = _mm256_fmadd_pd(weight, first, low[lane * quantities + at]);
        high[lane * quantities + at] = _mm256_fmadd_pd(weight, last, high[lane * quantities + at]);
      }
    }
  }
#pragma GCC unroll 16
  for (int at = 0; at < lanes * quantities; ++at) {
    double* const sum = sums + at % quantities * kColumns;
    _mm256_storeu_pd(sum, _mm256_add_pd(_mm256_loadu_pd(sum), low[at]));
    _mm256_storeu_pd(sum + 4, _mm256_add_pd(_mm256_loadu_pd(sum + 4), high[at]));
  }
  if (row < rows) multiply<quantities>(wide + row, rows - row, weights + row * stride, stride, sums);
}

// The same for twice as many columns, in the larger and more numerous registers of AVX-512.
template <int quantities>
__attribute__((target("avx512f"))) void multiply_wide(Wide wide, Py_ssize_t rows, const double* weights,
                                                      Py_ssize_t stride, double* sums) {
  __m512d low[quantities], high[quantities];
#pragma GCC unroll 16
  for (int at = 0; at < quantities; ++at) low[at] = high[at] = _mm512_setzero_pd();
  for (Py_ssize_t row = 0; row < rows; ++row) {
    const __m512d first = _mm512_load_pd(wide[row]), last = _mm512_load_pd(wide[row] + 8);
#pragma GCC unroll 16
    for (int at = 0; at < quantities; ++at) {
      const __m512d weight = _mm512_set1_pd(weights[row * stride + at]);
      low[at] = _mm512_fmadd_pd(weight, first, low[at]);
      high[at] = _mm512_fmadd_pd(weight, last, high[at]);
    }
  }
#pragma GCC unroll 16
  for (int at = 0; at < quantities; ++at) {
    double* const sum = sums + at * kColumns;
    _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), low[at]));
    _mm512_storeu_pd(sum + 8, _mm512_add_pd(_mm512_loadu_pd(sum + 8), high[at]));
  }
}
#endif

// The fastest kernel for columns that fill half a block at most, and for more.
Kernel choose_kernel(bool is_narrow) {
  static const Multiply plain[] = {multiply<1>, multiply<2>, multiply<3>, multiply<4>, multiply<5>, multiply<6>};
#ifdef GOLDRANK_FMA
  static const Multiply fused[] = {multiply_fused<1, 4>, multiply_fused<2, 2>, multiply_fused<3, 2>,
                                   multiply_fused<4, 1>, multiply_fused<5, 1>, multiply_fused<6, 1>};
  static const Multiply wide[] = {multiply_wide<1>, multiply_wide<2>,  multiply_wide<3>,  multiply_wide<4>,
                                  multiply_wide<5>, multiply_wide<6>,  multiply_wide<7>,  multiply_wide<8>,
                                  multiply_wide<9>, multiply_wide<10>, multiply_wide<11>, multiply_wide<12>};
  if (!is_narrow && __builtin_cpu_supports("avx512f")) return {kColumns, kWeights, wide};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {kColumns / 2, 6, fused};
#endif
  return {kColumns / 2, 6, plain};
}

// counts is (rows, columns), weights (rows, quantities), and their products are added to sums, (quantities, columns).
void add_products(const uint8_t* counts, Py_ssize_t stride, Py_ssize_t rows, Py_ssize_t columns, const double* weights,
                  Py_ssize_t quantities, double* sums) {
  const Kernel kernels[] = {choose_kernel(false), choose_kernel(true)};
  alignas(64) double wide[kBlock][kColumns], part[kWeights * kColumns];
  for (Py_ssize_t first = 0; first < rows; first += kBlock) {
    const Py_ssize_t block = std::min(kBlock, rows - first);
    for (Py_ssize_t column = 0, width; column < columns; column += width) {
      const Kernel& kernel = kernels[columns - column <= kColumns / 2];
      width = std::min(kernel.columns, columns - column);
      widen(counts + first * stride + column, stride, block, width, wide);
      for (Py_ssize_t from = 0; from < quantities; from += kernel.quantities) {
        const Py_ssize_t together = std::min(kernel.quantities, quantities - from);
        std::fill_n(part, together * kColumns, 0.0);
        kernel.functions[together - 1](wide, block, weights + first * quantities + from, quantities, part);
        for (Py_ssize_t at = 0; at < together; ++at) {
          double* const out = sums + (from + at) * columns + column;
          for (Py_ssize_t i = 0; i < width; ++i) out[i] += part[at * kColumns + i];
        }
      }
    }
  }
}

// Floats added up with the rounding errors of all additions, eight sums at a time.
struct ExactSum {
  static constexpr int kLanes = 8;
  double total[kLanes] = {}, error[kLanes] = {}, error_size[kLanes] = {};

  // Knuth's TwoSum: sum + value = rounded + rounding, exactly.
  GOLDRANK_INLINE void add(int lane, double value) {
    const double sum = total[lane], rounded = sum + value, moved = rounded - sum;
    const double rounding = (sum - (rounded - moved)) + (value - moved);
    total[lane] = rounded;
    error[lane] += rounding;
    error_size[lane] += std::fabs(rounding);
  }
};

GOLDRANK_WIDEST_REGISTERS void add_exactly(const double* values, Py_ssize_t size, ExactSum& result) {
  constexpr int kLanes = ExactSum::kLanes;
  ExactSum sums;
  Py_ssize_t first = 0;
  for (; first + kLanes <= size; first += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sums.add(lane, values[first + lane]);
  }
  for (; first < size; ++first) sums.add(0, values[first]);
  for (int lane = 1; lane < kLanes; ++lane) {
    sums.add(0, sums.total[lane]);
    sums.error[0] += sums.error[lane];
    sums.error_size[0] += sums.error_size[lane];
  }
  result = sums;
}

// The exactly rounded sum, or None if the errors, which are added up with rounding, do not decide it.
PyObject* certified_sum(PyObject* arguments) {
  PyObject* values;
  parse_arguments(arguments, "O:certified_sum", &values);
  const Buffer value_buffer(values);
  const Py_ssize_t size = value_buffer.length(0);
  ExactSum sums;
  add_exactly(value_buffer.contiguous<const double>(1), size, sums);
  const double leading = sums.total[0], error = sums.error[0], total = leading + error;
  const double rest = (leading - total) + error;  // exact if the error is the smaller of the two
  const double uncertain = std::fabs(rest) + 4 * static_cast<double>(size + 8) * DBL_EPSILON * sums.error_size[0];
  // The sum rounds to the total if it is nearer than half way to the next float on either side.
  const double magnitude = std::fabs(total), below = magnitude - std::nextafter(magnitude, 0.0);
  if (std::isfinite(total) && total != 0 && std::fabs(error) <= std::fabs(leading) && uncertain < below / 2) {
    return PyFloat_FromDouble(total);
  }
  Py_RETURN_NONE;
}

// The sums of eight sizes under every pattern of signs.
void tabulate(const double* sizes, double* table) {
  table[0] = 0;
  for (int bit = 0, filled = 1; bit < 8; ++bit, filled *= 2) {
    for (int i = 0; i < filled; ++i) {
      const double sum = table[i];
      table[i] = sum - sizes[bit];
      table[filled + i] = sum + sizes[bit];
    }
  }
}

// The four numbers of the state of a generator.
class RandomState {
 public:
  explicit RandomState(PyObject* state) : buffer_(state, Buffer::kWritableArray), numbers_(buffer_.contiguous<int64_t>(1)) {
    if (buffer_.length(0) != 4) raise_value_error("the state of SFC64 has four numbers");
  }
  Sfc64 open() const { return Sfc64(numbers_); }
  void store(const Sfc64& random) const { random.store(numbers_); }

 private:
  const Buffer buffer_;
  int64_t* const numbers_;
};

void draw_counts(PyObject* arguments) {
  PyObject *state, *thresholds, *counts;
  parse_arguments(arguments, "OOO:draw_counts", &state, &thresholds, &counts);
  const RandomState random_state(state);
  const Buffer threshold_buffer(thresholds), count_buffer(counts, Buffer::kWritableArray);
  const auto* const steps = threshold_buffer.contiguous<const uint8_t>(1);
  auto* const out = count_buffer.contiguous<uint8_t>(1);
  if (count_buffer.length(0) % 8 != 0) raise_value_error("the size of counts must be a multiple of 8");
  const ReleasedGil gil;
  Sfc64 random = random_state.open();
  draw_reached(random, count_buffer.length(0), steps, threshold_buffer.length(0), out);
  random_state.store(random);
}

void draw_bit_counts(PyObject* arguments) {
  PyObject *state, *counts;
  parse_arguments(arguments, "OO:draw_bit_counts", &state, &counts);
  const RandomState random_state(state);
  const Buffer count_buffer(counts, Buffer::kWritableArray);
  auto* const out = count_buffer.contiguous<uint8_t>(1);
  if (count_buffer.length(0) % 4 != 0) raise_value_error("the size of counts must be a multiple of 4");
  const ReleasedGil gil;
  Sfc64 random = random_state.open();
  draw_bits(random, count_buffer.length(0), out);
  random_state.store(random);
}

void sum_columns(PyObject* arguments) {
  PyObject *counts, *totals;
  parse_arguments(arguments, "OO:sum_columns", &counts, &totals);
  const Buffer count_buffer(counts), total_buffer(totals, Buffer::kWritableArray);
  const auto* const numbers = count_buffer.contiguous<const uint8_t>(2);
  auto* const out = total_buffer.contiguous<int64_t>(1);
  if (total_buffer.length(0) != count_buffer.length(1)) raise_value_error("totals must hold one number for each column");
  const ReleasedGil gil;
  add_rows(numbers, count_buffer.length(0), count_buffer.length(1), out);
}

void add_draws(PyObject* arguments) {
  PyObject *counts, *numbers, *uniforms;
  parse_arguments(arguments, "OOO:add_draws", &counts, &numbers, &uniforms);
  const Buffer count_buffer(counts, Buffer::kWritableArray), number_buffer(numbers), uniform_buffer(uniforms);
  auto* const out = count_buffer.contiguous<uint8_t>(2);
  const auto* const draws = number_buffer.contiguous<const int64_t>(1);
  const auto* uniform = uniform_buffer.contiguous<const double>(1);
  const Py_ssize_t rows = count_buffer.length(0), columns = count_buffer.length(1);
  if (number_buffer.length(0) != columns) raise_value_error("numbers must hold one number for each column of counts");
  const double* const end = uniform + uniform_buffer.length(0);
  for (Py_ssize_t column = 0; column < columns; ++column) {
    if (draws[column] < 0 || draws[column] > end - uniform) raise_value_error("there are too few uniforms");
    for (const double* const last = uniform + draws[column]; uniform != last; ++uniform) {
      if (!(*uniform >= 0 && *uniform < 1)) raise_value_error("a uniform is not in [0, 1)");
      ++out[static_cast<Py_ssize_t>(*uniform * static_cast<double>(rows)) * columns + column];
    }
  }
}

void add_weighted_sums(PyObject* arguments) {
  PyObject *counts, *weights, *sums;
  parse_arguments(arguments, "OOO:add_weighted_sums", &counts, &weights, &sums);
  const Buffer count_buffer(counts), weight_buffer(weights), sum_buffer(sums, Buffer::kWritableArray);
  const auto* const numbers = count_buffer.rows<const uint8_t>(2);
  const auto* const factors = weight_buffer.contiguous<const double>(2);
  auto* const out = sum_buffer.contiguous<double>(2);
  const Py_ssize_t rows = count_buffer.length(0), columns = count_buffer.length(1);
  const Py_ssize_t quantities = weight_buffer.length(1);
  if (weight_buffer.length(0) != rows) raise_value_error("weights must have one row for each row of counts");
  if (sum_buffer.length(0) != quantities || sum_buffer.length(1) != columns) {
    raise_value_error("sums must have a row for each column of weights and a column for each column of counts");
  }
  const ReleasedGil gil;
  add_products(numbers, count_buffer.row_stride(), rows, columns, factors, quantities, out);
}

void add_signed_sums(PyObject* arguments) {
  PyObject *words, *places, *sizes, *sums;
  parse_arguments(arguments, "OOOO:add_signed_sums", &words, &places, &sizes, &sums);
  const Buffer word_buffer(words), place_buffer(places), size_buffer(sizes);
  const Buffer sum_buffer(sums, Buffer::kWritableArray);
  const auto* const signs = word_buffer.contiguous<const uint16_t>(1);
  const auto* const chosen = place_buffer.contiguous<const int64_t>(1);
  const auto* const numbers = size_buffer.contiguous<const double>(1);
  auto* const out = sum_buffer.contiguous<double>(1);
  const Py_ssize_t count = place_buffer.length(0), available = word_buffer.length(0);
  if (size_buffer.length(0) != kSigns) raise_value_error("sizes must hold 16 numbers");
  if (sum_buffer.length(0) != count) raise_value_error("sums must hold one number for each place");
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (chosen[i] < 0 || chosen[i] >= available) raise_value_error("a place is outside the words");
  }
  const ReleasedGil gil;
  double low[256], high[256];
  tabulate(numbers, low);
  tabulate(numbers + 8, high);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const uint16_t pattern = signs[chosen[i]];
    out[i] += low[pattern & 255] + high[pattern >> 8];
  }
}

template <void (*function)(PyObject*)>
PyObject* returning_none(PyObject* arguments) {
  function(arguments);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    method<returning_none<draw_counts>>("draw_counts", "See fallback.resampling.draw_counts."),
    method<returning_none<sum_columns>>("sum_columns", "See fallback.resampling.sum_columns."),
    method<returning_none<add_draws>>("add_draws", "See fallback.resampling.add_draws."),
    method<returning_none<add_weighted_sums>>("add_weighted_sums", "See fallback.resampling.add_weighted_sums."),
    method<certified_sum>("certified_sum", "See fallback.resampling.certified_sum."),
    method<returning_none<draw_bit_counts>>("draw_bit_counts", "See fallback.resampling.draw_bit_counts."),
    method<returning_none<add_signed_sums>>("add_signed_sums", "See fallback.resampling.add_signed_sums."),
    {},
};

PyModuleDef definition = module_definition("_resampling", "Compiled parts of resampling tests and intervals.", methods);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__resampling() { return PyModuleDef_Init(&goldrank::definition); }
