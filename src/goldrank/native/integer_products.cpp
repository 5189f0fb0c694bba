// The module _integer_products: multiplies vectors that were rounded to 16-bit integers, with instructions that take two
// to four times as many of them at once as of float32 numbers, and compares the products with limits before they reach
// memory. The sums are exact, because vectors are scaled so that no sum leaves the range of 32 bits.
//
// Like the products with tiles (amx_tiles.cpp) these are never results: they separate pairs that are certainly above or
// below a limit from those that need a closer look, by a bound of what the rounding to integers costs
// (index/exact/products.py). Therefore there is no Python fallback; without these instructions BLAS multiplies.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "python_api.hpp"
#include "vector_registers.hpp"

#if defined(__x86_64__) && defined(__linux__) && (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)
#define GOLDRANK_INTEGERS 1
#include <cpuid.h>
#include <immintrin.h>

#include "comparison.hpp"
#endif

namespace goldrank {
namespace {

#ifdef GOLDRANK_INTEGERS

// Bytes of items that stay in the L2 cache, and 16-bit numbers in a line of any cache.
constexpr Py_ssize_t kCacheBytes = Py_ssize_t(1) << 18, kCacheLine = 32;

struct Operands {
  const int16_t* items;
  const int32_t* offsets;
  const int16_t* queries;
  Py_ssize_t width, rows, columns;
};

// The best items of each query so far, which _integer_products.pyi documents. An entry is a product and, in the lower
// half, the number of an item: entries are ordered by product, and equal products by number.
struct Selection {
  int64_t *entries, *counts, *floors;
  Py_ssize_t depth, capacity, first;

  void add(Py_ssize_t query, int32_t product, Py_ssize_t row) {
    const int64_t entry = static_cast<int64_t>(product) * (int64_t(1) << 32) + (first + row);
    if (entry <= floors[query]) return;
    int64_t* const own = entries + query * capacity;
    own[counts[query]++] = entry;
    if (counts[query] < capacity) return;
    std::nth_element(own, own + depth - 1, own + capacity, std::greater<int64_t>());
    counts[query] = depth;
    floors[query] = own[depth - 1];
  }
};

namespace avx2 {
#define GOLDRANK_KERNEL __attribute__((target("avx2")))
#include "integer_registers_256.hpp"
GOLDRANK_KERNEL inline Register multiply_add(Register sums, Register a, Register b) {
  return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
}
#include "integer_kernel.hpp"
#undef GOLDRANK_KERNEL
}  // namespace avx2

namespace avx_vnni {
#define GOLDRANK_KERNEL __attribute__((target("avx2,avxvnni")))
#include "integer_registers_256.hpp"
GOLDRANK_KERNEL inline Register multiply_add(Register sums, Register a, Register b) {
  return _mm256_dpwssd_avx_epi32(sums, a, b);
}
#include "integer_kernel.hpp"
#undef GOLDRANK_KERNEL
}  // namespace avx_vnni

namespace avx512_vnni {
#define GOLDRANK_KERNEL __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
using Register = __m512i;
constexpr Py_ssize_t kLanes = 16;
constexpr int kRowsAtOnce = 12;
GOLDRANK_KERNEL inline Register load(const void* numbers) { return _mm512_loadu_si512(numbers); }
GOLDRANK_KERNEL inline void store(void* numbers, Register values) { _mm512_storeu_si512(numbers, values); }
GOLDRANK_KERNEL inline Register repeat(int32_t number) { return _mm512_set1_epi32(number); }
GOLDRANK_KERNEL inline Register multiply_add(Register sums, Register a, Register b) {
  return _mm512_dpwssd_epi32(sums, a, b);
}
// Adds one to the count of each lane that is greater, and returns those lanes as bits.
GOLDRANK_KERNEL inline uint32_t count_greater(Register products, Register limits, Register& counts) {
  const __mmask16 greater = _mm512_cmpgt_epi32_mask(products, limits);
  counts = _mm512_mask_add_epi32(counts, greater, counts, _mm512_set1_epi32(1));
  return greater;
}
GOLDRANK_KERNEL inline uint32_t less_lanes(Register products, Register limits) {
  return _mm512_cmplt_epi32_mask(products, limits);
}
#include "integer_kernel.hpp"
#undef GOLDRANK_KERNEL
}  // namespace avx512_vnni

// A set of instructions: its name, whether the processor has it, and the number of queries of a panel.
struct Kernel {
  const char* name;
  bool (*is_supported)();
  Py_ssize_t panel;
  void (*count)(const Operands&, Comparison<int32_t>&);
  void (*select)(const Operands&, Selection&);
  void (*write)(const Operands&, int32_t* const&);
};

bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2");
}

bool has_avx_vnni() {
  unsigned eax, ebx, ecx, edx;
  constexpr unsigned kAvxVnni = 1u << 4;
  return has_avx2() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & kAvxVnni) != 0;
}

bool has_avx512_vnni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

// From the fastest to the slowest.
const Kernel kKernels[] = {
    {"avx512-vnni", has_avx512_vnni, avx512_vnni::kPanel, avx512_vnni::multiply_all<Comparison<int32_t>>,
     avx512_vnni::multiply_all<Selection>, avx512_vnni::multiply_all<int32_t* const>},
    {"avx-vnni", has_avx_vnni, avx_vnni::kPanel, avx_vnni::multiply_all<Comparison<int32_t>>,
     avx_vnni::multiply_all<Selection>, avx_vnni::multiply_all<int32_t* const>},
    {"avx2", has_avx2, avx2::kPanel, avx2::multiply_all<Comparison<int32_t>>, avx2::multiply_all<Selection>,
     avx2::multiply_all<int32_t* const>},
};

const Kernel& kernel_named(const char* name) {
  for (const Kernel& kernel : kKernels) {
    if (std::strcmp(kernel.name, name) == 0 && kernel.is_supported()) return kernel;
  }
  raise_value_error("this processor does not support these instructions");
}

// Rounds one row, and returns an upper bound of the length of what the rounding leaves over, in units of the integers.
GOLDRANK_INLINE double round_row(const float* row, Py_ssize_t count, float scale, int16_t* out) {
  constexpr Py_ssize_t kLanes = 16;
  // Adding and subtracting 1.5 * 2^23 rounds a float to the nearest integer.
  constexpr float kShift = 12582912.0f;
  float left_over[kLanes] = {};
  Py_ssize_t start = 0;
  for (; start + kLanes <= count; start += kLanes) {
    for (Py_ssize_t lane = 0; lane < kLanes; ++lane) {
      const float scaled = row[start + lane] * scale, rounded = (scaled + kShift) - kShift;
      out[start + lane] = static_cast<int16_t>(static_cast<int32_t>(rounded));
      left_over[lane] += (scaled - rounded) * (scaled - rounded);
    }
  }
  for (Py_ssize_t lane = 0; start + lane < count; ++lane) {
    const float scaled = row[start + lane] * scale, rounded = (scaled + kShift) - kShift;
    out[start + lane] = static_cast<int16_t>(static_cast<int32_t>(rounded));
    left_over[lane] += (scaled - rounded) * (scaled - rounded);
  }
  double total = 0;
  for (const float each : left_over) total += each;
  // A scaled number below 2^15 is off by at most 2^-10, and sums of squares by a millionth for each ten of them.
  return std::sqrt(total) * (1 + 1e-7 * static_cast<double>(count)) + 0x1p-10 * std::sqrt(static_cast<double>(count));
}

GOLDRANK_WIDEST_REGISTERS void round_rows(const float* rows, Py_ssize_t count, Py_ssize_t dimension, Py_ssize_t stride,
                                          const float* scales, int16_t* out, Py_ssize_t width, double* left_over) {
  for (Py_ssize_t row = 0; row < count; ++row) {
    left_over[row] = round_row(rows + row * stride, dimension, scales[row], out + row * width);
    std::fill(out + row * width + dimension, out + (row + 1) * width, int16_t(0));
  }
}

PyObject* round_vectors(PyObject* arguments) {
  PyObject *rows_object, *scales_object, *out_object, *left_over_object;
  parse_arguments(arguments, "OOOO:round_vectors", &rows_object, &scales_object, &out_object, &left_over_object);
  const Buffer rows(rows_object), scales(scales_object), out(out_object, Buffer::kWritableArray);
  const Buffer left_over(left_over_object, Buffer::kWritableArray);
  const auto* const numbers = rows.rows<const float>(2);
  const auto* const factors = scales.contiguous<const float>(1);
  auto* const target = out.contiguous<int16_t>(2);
  auto* const errors = left_over.contiguous<double>(1);
  const Py_ssize_t count = rows.length(0), dimension = rows.length(1), width = out.length(1);
  if (scales.length(0) != count || left_over.length(0) != count || out.length(0) != count || width < dimension) {
    raise_value_error("the shapes of the arrays do not fit each other");
  }
  {
    const ReleasedGil gil;
    round_rows(numbers, count, dimension, rows.row_stride(), factors, target, width, errors);
  }
  Py_RETURN_NONE;
}

Operands operands_of(const Kernel& kernel, const Buffer& items, const Buffer& offsets, const Buffer& queries,
                     Py_ssize_t columns) {
  const Operands operands = {items.contiguous<const int16_t>(2), offsets.contiguous<const int32_t>(1),
                             queries.contiguous<const int16_t>(2), items.length(1), items.length(0), columns};
  const Py_ssize_t panels = (columns + kernel.panel - 1) / kernel.panel;
  const bool fit = operands.width % 2 == 0 && offsets.length(0) == operands.rows && queries.length(0) == panels &&
                   queries.length(1) == operands.width * kernel.panel;
  if (!fit) raise_value_error("the shapes of the operands do not fit each other or the product");
  return operands;
}

PyObject* products(PyObject* arguments) {
  const char* name;
  PyObject *items_object, *offsets_object, *queries_object, *out_object;
  parse_arguments(arguments, "sOOOO:products", &name, &items_object, &offsets_object, &queries_object, &out_object);
  const Kernel& kernel = kernel_named(name);
  const Buffer items(items_object), offsets(offsets_object), queries(queries_object);
  const Buffer out(out_object, Buffer::kWritableArray);
  int32_t* const target = out.contiguous<int32_t>(2);
  const Operands operands = operands_of(kernel, items, offsets, queries, out.length(1));
  if (out.length(0) != operands.rows) raise_value_error("the shapes of the operands do not fit the product");
  {
    const ReleasedGil gil;
    kernel.write(operands, target);
  }
  Py_RETURN_NONE;
}

PyObject* count(PyObject* arguments) {
  const char* name;
  PyObject *items_object, *offsets_object, *queries_object, *left_out, *widths, *low, *high, *above, *near, *places;
  parse_arguments(arguments, "sOOOOOOOOOO:count", &name, &items_object, &offsets_object, &queries_object, &left_out,
                  &widths, &low, &high, &above, &near, &places);
  const Kernel& kernel = kernel_named(name);
  const Buffer items(items_object), offsets(offsets_object), queries(queries_object);
  const ComparisonArrays<int32_t> arrays(left_out, widths, low, high, above, near, places);
  const Operands operands = operands_of(kernel, items, offsets, queries, arrays.columns());
  Comparison<int32_t> comparison = arrays.start();
  {
    const ReleasedGil gil;
    kernel.count(operands, comparison);
  }
  return PyLong_FromSsize_t(comparison.near_total);
}

PyObject* select(PyObject* arguments) {
  const char* name;
  PyObject *items_object, *offsets_object, *queries_object, *entries_object, *counts_object, *floors_object;
  Py_ssize_t first, depth;
  parse_arguments(arguments, "sOOOnnOOO:select", &name, &items_object, &offsets_object, &queries_object, &first, &depth,
                  &entries_object, &counts_object, &floors_object);
  const Kernel& kernel = kernel_named(name);
  const Buffer items(items_object), offsets(offsets_object), queries(queries_object);
  const Buffer entries(entries_object, Buffer::kWritableArray), counts(counts_object, Buffer::kWritableArray);
  const Buffer floors(floors_object, Buffer::kWritableArray);
  Selection selection = {entries.contiguous<int64_t>(2), counts.contiguous<int64_t>(1), floors.contiguous<int64_t>(1),
                         depth, entries.length(1), first};
  const Operands operands = operands_of(kernel, items, offsets, queries, entries.length(0));
  if (counts.length(0) != operands.columns || floors.length(0) != operands.columns) {
    raise_value_error("there must be one count and one floor for each query");
  }
  if (depth < 1 || selection.capacity <= depth) raise_value_error("there must be room for more than the depth");
  const auto fits = [&](int64_t count) { return count >= 0 && count < selection.capacity; };
  if (!std::all_of(selection.counts, selection.counts + operands.columns, fits)) {
    raise_value_error("a count is out of range");
  }
  if (first < 0 || first > (Py_ssize_t(1) << 32) - operands.rows) raise_value_error("an item number has over 32 bits");
  {
    const ReleasedGil gil;
    kernel.select(operands, selection);
  }
  Py_RETURN_NONE;
}

PyObject* kernels(PyObject*) {
  Reference list = owned(PyList_New(0));
  for (const Kernel& kernel : kKernels) {
    if (!kernel.is_supported()) continue;
    const Reference entry = owned(Py_BuildValue("(sn)", kernel.name, kernel.panel));
    if (PyList_Append(list.get(), entry.get()) != 0) throw PythonError{};
  }
  return list.release();
}

#else

PyObject* kernels(PyObject*) { return PyList_New(0); }

PyObject* round_vectors(PyObject*) { raise_value_error("this build does not support integer products"); }

PyObject* products(PyObject*) { raise_value_error("this build does not support integer products"); }

PyObject* select(PyObject*) { raise_value_error("this build does not support integer products"); }

PyObject* count(PyObject*) { raise_value_error("this build does not support integer products"); }

#endif

PyMethodDef methods[] = {
    method<kernels>("kernels", "Return the usable instructions; see _integer_products.pyi.", METH_NOARGS),
    method<round_vectors>("round_vectors", "Round scaled vectors to integers; see _integer_products.pyi."),
    method<count>("count", "Compare products with limits; see _integer_products.pyi."),
    method<select>("select", "Select the items with the largest products; see _integer_products.pyi."),
    method<products>("products", "Multiply items with packed queries; see _integer_products.pyi."),
    {},
};

PyModuleDef definition = module_definition("_integer_products", "Products of 16-bit integer vectors.", methods);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__integer_products() { return PyModuleDef_Init(&goldrank::definition); }
