// The module _amx_tiles: multiplies blocks of float32 vectors with the bfloat16 tiles of processors that have AMX,
// several times as fast as a float32 product, and compares the products with limits before they reach memory. Every
// number is split into two bfloat16 numbers, x = high + low + rest with |rest| <= 2^-17 |x|; of the four partial
// products the smallest, low times low, is left out.
//
// Unlike the other modules this one has no Python fallback that agrees with it bit for bit, because the order in which
// the processor adds within an instruction is not specified. None is needed: the products are never results. They only
// separate pairs that are certainly above or below a limit from those that need an exact product, by an error bound
// that holds for every order of addition (derived in index/exact/products.py). The counts are therefore the same with
// and without tiles.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "python_api.hpp"
#include "vector_registers.hpp"

#if defined(__x86_64__) && defined(__linux__) && (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)
#define GOLDRANK_TILES 1
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comparison.hpp"

#define GOLDRANK_WIDE __attribute__((target("avx512f,avx512bw,avx512vl")))
#define GOLDRANK_TILED __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl")))
#endif

namespace goldrank {
namespace {

#ifdef GOLDRANK_TILES

// A tile holds 16 rows of 32 bfloat16 numbers. A panel is 32 rows (two tiles) of packed vectors, stored in steps of 32
// numbers of each row: first the high parts of both tiles, then their low parts.
constexpr Py_ssize_t kTileRows = 16, kStep = 32, kTile = kTileRows * kStep;
constexpr Py_ssize_t kPanelRows = 2 * kTileRows, kStepSize = 4 * kTile;
// The tiles sum up this many steps before their sum is added to the total, because a sum of sums has a smaller error.
constexpr Py_ssize_t kStepsPerSum = 16;
// As many panels of queries as fit into this size are multiplied with all items before the next: they stay in the L2
// cache.
constexpr Py_ssize_t kCacheBytes = Py_ssize_t(1) << 20;

Py_ssize_t panels_of(Py_ssize_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }
Py_ssize_t steps_of(Py_ssize_t width) { return (width + kStep - 1) / kStep; }

// The 16 bits of the nearest bfloat16 number, rounding half to even. NaN and numbers out of range are not supported.
GOLDRANK_INLINE uint32_t to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

GOLDRANK_INLINE float from_bfloat16(uint32_t number) {
  const uint32_t bits = number << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct Parts {
  uint16_t high[kStep], low[kStep];
};

GOLDRANK_INLINE void split(const float* numbers, Parts& parts) {
  for (Py_ssize_t i = 0; i < kStep; ++i) {
    const uint32_t high = to_bfloat16(numbers[i]);
    parts.high[i] = static_cast<uint16_t>(high);
    parts.low[i] = static_cast<uint16_t>(to_bfloat16(numbers[i] - from_bfloat16(high)));
  }
}

// Copies 32 numbers of a row into its tile. Items keep their rows; queries, the right-hand side, are laid out as the
// instruction expects them: first two numbers of every row, then the next two of every row.
GOLDRANK_INLINE void copy_row(const uint16_t* part, uint16_t* tile, Py_ssize_t row, bool is_right) {
  if (!is_right) {
    std::memcpy(tile + row * kStep, part, kStep * sizeof *part);
    return;
  }
  for (Py_ssize_t i = 0; i < kStep; i += 2) std::memcpy(tile + i * kTileRows + 2 * row, part + i, 2 * sizeof *part);
}

struct Rows {
  const float* numbers;
  Py_ssize_t count, width;
};

GOLDRANK_WIDE void pack_rows(const Rows& rows, uint16_t* packed, bool is_right) {
  const Py_ssize_t steps = steps_of(rows.width);
  for (Py_ssize_t row = 0; row < panels_of(rows.count) * kPanelRows; ++row) {
    uint16_t* const panel = packed + row / kPanelRows * steps * kStepSize;
    const Py_ssize_t tile = row % kPanelRows / kTileRows * kTile;
    for (Py_ssize_t step = 0; step < steps; ++step) {
      const Py_ssize_t first = step * kStep;
      Parts parts;
      if (row < rows.count && first + kStep <= rows.width) {
        split(rows.numbers + row * rows.width + first, parts);
      } else {
        float padded[kStep] = {};
        if (row < rows.count) std::copy_n(rows.numbers + row * rows.width + first, rows.width - first, padded);
        split(padded, parts);
      }
      uint16_t* const target = panel + step * kStepSize + tile;
      copy_row(parts.high, target, row % kTileRows, is_right);
      copy_row(parts.low, target + 2 * kTile, row % kTileRows, is_right);
    }
  }
}

struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
const TileShapes kShapes;

// The products of a panel of items (rows) with a panel of queries (columns).
struct alignas(64) Scores {
  float rows[kPanelRows][kPanelRows];
};

// Multiplies some steps. Every loaded tile is used for all its products before the next one is loaded in its place, and
// loads alternate with products so that the processor executes both at once.
GOLDRANK_TILED void multiply_steps(const uint16_t* items, const uint16_t* queries, Py_ssize_t steps, Scores& scores) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (Py_ssize_t step = 0; step < steps; ++step, items += kStepSize, queries += kStepSize) {
    _tile_loadd(4, items, 64);
    _tile_loadd(6, queries + 2 * kTile, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, queries + 3 * kTile, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, items + kTile, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_loadd(6, queries, 64);
    _tile_dpbf16ps(3, 5, 7);
    _tile_loadd(7, queries + kTile, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(4, items + 2 * kTile, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    _tile_loadd(5, items + 3 * kTile, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  constexpr Py_ssize_t kRowBytes = kPanelRows * sizeof(float);
  _tile_stored(0, scores.rows[0], kRowBytes);
  _tile_stored(1, scores.rows[0] + kTileRows, kRowBytes);
  _tile_stored(2, scores.rows[kTileRows], kRowBytes);
  _tile_stored(3, scores.rows[kTileRows] + kTileRows, kRowBytes);
}

GOLDRANK_TILED void multiply(const uint16_t* items, const uint16_t* queries, Py_ssize_t steps, Scores& scores) {
  multiply_steps(items, queries, std::min(kStepsPerSum, steps), scores);
  for (Py_ssize_t step = kStepsPerSum; step < steps; step += kStepsPerSum) {
    Scores more;
    const Py_ssize_t at = step * kStepSize;
    multiply_steps(items + at, queries + at, std::min(kStepsPerSum, steps - step), more);
    for (Py_ssize_t row = 0; row < kPanelRows; ++row) {
      for (Py_ssize_t i = 0; i < kPanelRows; ++i) scores.rows[row][i] += more.rows[row][i];
    }
  }
}

struct Operands {
  const uint16_t *items, *queries;
  Py_ssize_t steps, rows, columns;
};

// Calls use(scores, first row, first column) for every panel of items with every panel of queries. The scores of a pair
// of panels are used after the product of the next pair has been issued, so that the processor overlaps the two.
template <class Use>
GOLDRANK_TILED GOLDRANK_INLINE void for_each_panel(const Operands& operands, const Use& use) {
  const Py_ssize_t panel_size = operands.steps * kStepSize;
  const Py_ssize_t panel_bytes = std::max<Py_ssize_t>(1, panel_size * sizeof(uint16_t));
  const Py_ssize_t cached = std::max<Py_ssize_t>(1, kCacheBytes / panel_bytes);
  const Py_ssize_t item_panels = panels_of(operands.rows), query_panels = panels_of(operands.columns);
  Scores scores[2];
  Py_ssize_t turn = 0, waiting_row = 0, waiting_column = 0;
  _tile_loadconfig(&kShapes);
  for (Py_ssize_t first = 0; first < query_panels; first += cached) {
    for (Py_ssize_t items = 0; items < item_panels; ++items) {
      for (Py_ssize_t queries = first; queries < std::min(first + cached, query_panels); ++queries) {
        multiply(operands.items + items * panel_size, operands.queries + queries * panel_size, operands.steps,
                 scores[turn % 2]);
        if (turn > 0) use(scores[(turn - 1) % 2], waiting_row, waiting_column);
        waiting_row = items * kPanelRows;
        waiting_column = queries * kPanelRows;
        ++turn;
      }
    }
  }
  if (turn > 0) use(scores[(turn - 1) % 2], waiting_row, waiting_column);
  _tile_release();
}

GOLDRANK_TILED void write_products(const Operands& operands, float* out) {
  for_each_panel(operands, [&](const Scores& scores, Py_ssize_t row, Py_ssize_t column) {
    const Py_ssize_t rows = std::min(kPanelRows, operands.rows - row);
    const Py_ssize_t columns = std::min(kPanelRows, operands.columns - column);
    for (Py_ssize_t i = 0; i < rows; ++i) {
      std::copy_n(scores.rows[i], columns, out + (row + i) * operands.columns + column);
    }
  });
}

// Moves the item that each query leaves out below every limit.
GOLDRANK_INLINE void leave_out(const int64_t* left_out, Py_ssize_t row, Py_ssize_t columns,
                                                     Scores& scores) {
  bool any = false;
  for (Py_ssize_t i = 0; i < columns; ++i) any |= static_cast<uint64_t>(left_out[i] - row) < kPanelRows;
  if (!any) return;
  for (Py_ssize_t i = 0; i < columns; ++i) {
    const int64_t at = left_out[i] - row;
    if (at >= 0 && at < kPanelRows) scores.rows[at][i] = -std::numeric_limits<float>::infinity();
  }
}

// Compares up to 16 columns of the scores with the limits from `at` on.
GOLDRANK_TILED inline void compare(const Scores& scores, Py_ssize_t row, Py_ssize_t rows, Py_ssize_t column,
                                   Py_ssize_t lanes, Py_ssize_t at, Comparison<float>& comparison) {
  const auto used = static_cast<__mmask16>((1u << lanes) - 1);
  const __m512 low = _mm512_maskz_loadu_ps(used, comparison.low + at);
  const __m512 high = _mm512_maskz_loadu_ps(used, comparison.high + at);
  const __m512i one = _mm512_set1_epi32(1);
  __m512i above = _mm512_setzero_si512();
  for (Py_ssize_t i = 0; i < rows; ++i) {
    const __m512 products = _mm512_load_ps(scores.rows[i] + column);
    const __mmask16 greater = _mm512_cmp_ps_mask(products, high, _CMP_GT_OQ);
    const __mmask16 reached = _mm512_mask_cmp_ps_mask(used, products, low, _CMP_GE_OQ);
    above = _mm512_mask_add_epi32(above, greater, above, one);
    const uint32_t between = reached & ~greater;
    if (__builtin_expect(between != 0, 0)) comparison.add_near(between, row + i, at);
  }
  alignas(64) int32_t counts[kTileRows];
  _mm512_store_si512(counts, above);
  for (Py_ssize_t i = 0; i < lanes; ++i) comparison.above[at + i] += counts[i];
}

GOLDRANK_TILED void count_products(const Operands& operands, Comparison<float>& comparison) {
  for_each_panel(operands, [&](Scores& scores, Py_ssize_t row, Py_ssize_t column) {
    leave_out(comparison.left_out + column, row, std::min(kPanelRows, operands.columns - column), scores);
    const Py_ssize_t rows = std::min(kPanelRows, operands.rows - row);
    Py_ssize_t start = 0;
    for (Py_ssize_t round = 0; round < comparison.rounds; start += comparison.widths[round++]) {
      for (Py_ssize_t half = 0; half < kPanelRows; half += kTileRows) {
        const Py_ssize_t lanes = std::min(kTileRows, comparison.widths[round] - column - half);
        if (lanes > 0) compare(scores, row, rows, half, lanes, start + column + half, comparison);
      }
    }
  });
}

bool processor_has_tiles() {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE)) return false;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;
  if ((edx & (kBf16 | kTiles)) != (kBf16 | kTiles)) return false;
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

// Returns true if the operating system saves the tiles of interrupted threads and lets this process use them.
bool system_allows_tiles() {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned kTileState = 3u << 17;
  if ((low & kTileState) != kTileState) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool has_tiles() {
  static const bool has = processor_has_tiles() && system_allows_tiles();
  return has;
}

void expect_tiles() {
  if (!has_tiles()) raise_value_error("this processor or operating system does not support AMX tiles");
}

PyObject* pack(PyObject* arguments) {
  PyObject *rows_object, *packed_object;
  int is_right;
  parse_arguments(arguments, "OOp:pack", &rows_object, &packed_object, &is_right);
  const Buffer rows(rows_object), packed(packed_object, Buffer::kWritableArray);
  const Rows source = {rows.contiguous<const float>(2), rows.length(0), rows.length(1)};
  auto* const target = packed.contiguous<uint16_t>(2);
  if (packed.length(0) != panels_of(source.count) || packed.length(1) != steps_of(source.width) * kStepSize) {
    raise_value_error("the shape of the packed array does not fit the rows");
  }
  expect_tiles();
  {
    const ReleasedGil gil;
    pack_rows(source, target, is_right != 0);
  }
  Py_RETURN_NONE;
}

Operands operands_of(const Buffer& items, const Buffer& queries, Py_ssize_t rows, Py_ssize_t columns) {
  const auto *const left = items.contiguous<const uint16_t>(2), *const right = queries.contiguous<const uint16_t>(2);
  const bool fit = items.length(1) == queries.length(1) && items.length(1) % kStepSize == 0 &&
                   items.length(0) == panels_of(rows) && queries.length(0) == panels_of(columns);
  if (!fit) raise_value_error("the shapes of the packed arrays do not fit each other or the product");
  expect_tiles();
  return {left, right, items.length(1) / kStepSize, rows, columns};
}

PyObject* products(PyObject* arguments) {
  PyObject *items_object, *queries_object, *out_object;
  parse_arguments(arguments, "OOO:products", &items_object, &queries_object, &out_object);
  const Buffer items(items_object), queries(queries_object), out(out_object, Buffer::kWritableArray);
  auto* const target = out.contiguous<float>(2);
  const Operands operands = operands_of(items, queries, out.length(0), out.length(1));
  {
    const ReleasedGil gil;
    write_products(operands, target);
  }
  Py_RETURN_NONE;
}

PyObject* count(PyObject* arguments) {
  PyObject *items_object, *queries_object, *left_out, *widths, *low, *high, *above, *near, *places;
  Py_ssize_t rows;
  parse_arguments(arguments, "OOnOOOOOOO:count", &items_object, &queries_object, &rows, &left_out, &widths, &low, &high,
                  &above, &near, &places);
  const Buffer items(items_object), queries(queries_object);
  const ComparisonArrays<float> arrays(left_out, widths, low, high, above, near, places);
  const Operands operands = operands_of(items, queries, rows, arrays.columns());
  Comparison<float> comparison = arrays.start();
  {
    const ReleasedGil gil;
    count_products(operands, comparison);
  }
  return PyLong_FromSsize_t(comparison.near_total);
}

#else

bool has_tiles() { return false; }

PyObject* pack(PyObject*) { raise_value_error("this build does not support AMX tiles"); }

PyObject* products(PyObject*) { raise_value_error("this build does not support AMX tiles"); }

PyObject* count(PyObject*) { raise_value_error("this build does not support AMX tiles"); }

#endif

PyObject* available(PyObject*) { return PyBool_FromLong(has_tiles()); }

PyMethodDef methods[] = {
    method<available>("available", "Return True if tiles can be used; see _amx_tiles.pyi.", METH_NOARGS),
    method<pack>("pack", "Pack rows for one side of a product; see _amx_tiles.pyi."),
    method<count>("count", "Compare products with limits; see _amx_tiles.pyi."),
    method<products>("products", "Multiply packed items with packed queries; see _amx_tiles.pyi."),
    {},
};

#ifdef GOLDRANK_TILES
int add_constants(PyObject* module) {
  const bool added = PyModule_AddIntConstant(module, "PANEL_ROWS", kPanelRows) == 0 &&
                     PyModule_AddIntConstant(module, "STEP", kStep) == 0 &&
                     PyModule_AddIntConstant(module, "PACKED_STEP", kStepSize) == 0 &&
                     PyModule_AddIntConstant(module, "SUM_LENGTH", kStepsPerSum * kStep) == 0;
  return added ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(add_constants)}, {0, nullptr}};
#else
PyModuleDef_Slot slots[] = {{0, nullptr}};
#endif

PyModuleDef definition = module_definition("_amx_tiles", "Products of float32 blocks with AMX tiles.", methods, slots);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__amx_tiles() { return PyModuleDef_Init(&goldrank::definition); }
