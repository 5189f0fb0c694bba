// Multiplies blocks of float32 vectors with the bfloat16 tiles of processors that have AMX, several times as fast as a
// float32 product, and compares the scores with limits while they are at hand, so that they never reach memory. Every
// number is split into two bfloat16 ones, x = high + low + rest with |rest| <= 2^-17 |x|, and of the four partial
// products the smallest, low times low, is left out.
//
// No function in numpy agrees with this product bit for bit, unlike the other compiled functions: in which order the
// processor adds within an instruction is not for us to know. That is safe because the product is never a result. It
// only tells pairs that need a closer look from those that do not, by a bound that holds for every order of addition
// (exact_products.py derives it), so that the counts are those of real arithmetic with tiles and without.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#if defined(__x86_64__) && defined(__linux__) && (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)
#define GOLDRANK_TILES 1
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#define GOLDRANK_WIDE __attribute__((target("avx512f,avx512bw,avx512vl")))
#define GOLDRANK_TILED __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl")))
#endif

namespace {

using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;

// Thrown when a Python exception is set already.
struct PythonError {};

[[noreturn]] void raise(const char* message) {
  PyErr_SetString(PyExc_ValueError, message);
  throw PythonError{};
}

#ifdef GOLDRANK_TILES

// A tile holds 16 rows of 32 bfloat16 numbers; a panel is two tiles of rows, for as many steps of 32 numbers as the
// vectors need. Each step lies together: the high parts of both tiles, then their low parts.
constexpr Py_ssize_t kTileRows = 16, kStep = 32, kTile = kTileRows * kStep;
constexpr Py_ssize_t kPanelRows = 2 * kTileRows, kStepSize = 4 * kTile;
// So many steps are added up in the tiles before the sum joins that of the steps before: sums of sums err less.
constexpr Py_ssize_t kStepsPerSum = 16;
// Panels of queries that are gone through with one panel of items after the other, to be found in the second cache.
constexpr Py_ssize_t kNearBytes = Py_ssize_t(1) << 20;

Py_ssize_t panels_of(Py_ssize_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }
Py_ssize_t steps_of(Py_ssize_t width) { return (width + kStep - 1) / kStep; }

class Array {
 public:
  Array(PyObject* object, int dimensions, char kind, int flags) {
    if (PyObject_GetBuffer(object, &view_, flags | PyBUF_FORMAT | PyBUF_STRIDES) != 0) throw PythonError{};
    if (view_.ndim != dimensions || !holds(kind) || !is_dense()) {
      PyBuffer_Release(&view_);
      raise("an array has another type, number of dimensions or layout than expected");
    }
  }
  ~Array() { PyBuffer_Release(&view_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  template <class Number>
  Number* data() const {
    return static_cast<Number*>(view_.buf);
  }
  Py_ssize_t side(int axis) const { return view_.shape[axis]; }

 private:
  bool holds(char kind) const {
    const std::string_view format = view_.format;
    return format.size() == 1 && (format[0] == kind || (kind == 'q' && format[0] == 'l' && view_.itemsize == 8));
  }
  bool is_dense() const { return PyBuffer_IsContiguous(&view_, 'C') != 0; }

  Py_buffer view_;
};

// The nearest bfloat16 number, to even where two are as near, as its 16 bits; not for NaN or beyond its range.
inline __attribute__((always_inline)) uint32_t nearest(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

inline __attribute__((always_inline)) float widened(uint32_t number) {
  const uint32_t bits = number << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct Parts {
  uint16_t high[kStep], low[kStep];
};

inline __attribute__((always_inline)) void split(const float* numbers, Parts& parts) {
  for (Py_ssize_t i = 0; i < kStep; ++i) {
    const uint32_t high = nearest(numbers[i]);
    parts.high[i] = static_cast<uint16_t>(high);
    parts.low[i] = static_cast<uint16_t>(nearest(numbers[i] - widened(high)));
  }
}

// Items keep their rows within a tile. Queries are laid out as the right-hand side must be: pairs of numbers of one
// row after those of the next.
inline __attribute__((always_inline)) void place(const uint16_t* part, uint16_t* tile, Py_ssize_t row, bool is_right) {
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
      uint16_t* const here = panel + step * kStepSize + tile;
      place(parts.high, here, row % kTileRows, is_right);
      place(parts.low, here + 2 * kTile, row % kTileRows, is_right);
    }
  }
}

struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
const TileShapes kShapes;

// The scores of a panel of items, row by row, with a panel of queries.
struct alignas(64) Scores {
  float rows[kPanelRows][kPanelRows];
};

// The products over some steps. Each loaded part is used for all it can be before the next takes its tile, and loads
// stand between products so that both run at once.
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

// Calls use(scores, first row, first column) for every panel of items with every panel of queries. The scores of one
// pair of panels are used while those of the next are on their way through the tiles.
template <class Use>
GOLDRANK_TILED inline __attribute__((always_inline)) void for_each_panel(const Operands& given, const Use& use) {
  const Py_ssize_t panel_size = given.steps * kStepSize;
  const Py_ssize_t near = std::max<Py_ssize_t>(1, kNearBytes / std::max<Py_ssize_t>(1, panel_size * sizeof(uint16_t)));
  const Py_ssize_t item_panels = panels_of(given.rows), query_panels = panels_of(given.columns);
  Scores scores[2];
  Py_ssize_t turn = 0, waiting_row = 0, waiting_column = 0;
  _tile_loadconfig(&kShapes);
  for (Py_ssize_t first = 0; first < query_panels; first += near) {
    for (Py_ssize_t items = 0; items < item_panels; ++items) {
      for (Py_ssize_t queries = first; queries < std::min(first + near, query_panels); ++queries) {
        multiply(given.items + items * panel_size, given.queries + queries * panel_size, given.steps, scores[turn % 2]);
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

GOLDRANK_TILED void write_products(const Operands& given, float* out) {
  for_each_panel(given, [&](const Scores& scores, Py_ssize_t row, Py_ssize_t column) {
    const Py_ssize_t rows = std::min(kPanelRows, given.rows - row);
    const Py_ssize_t columns = std::min(kPanelRows, given.columns - column);
    for (Py_ssize_t i = 0; i < rows; ++i) {
      std::copy_n(scores.rows[i], columns, out + (row + i) * given.columns + column);
    }
  });
}

// What the scores are compared with. There are several rounds of limits, each for the first so many columns, and the
// limits and counts of all rounds lie one after the other.
struct Comparison {
  const int64_t* left_out;
  const int64_t* widths;
  Py_ssize_t rounds, total;
  const float *low, *high;
  int64_t *above, *near, *places;
  Py_ssize_t most_places, found;

  void note(uint32_t open, Py_ssize_t row, Py_ssize_t first) {
    for (; open != 0; open &= open - 1) {
      const Py_ssize_t at = first + __builtin_ctz(open);
      ++near[at];
      if (found < most_places) places[found] = row * total + at;
      ++found;
    }
  }
};

// The items that their queries leave out lie below every limit.
inline __attribute__((always_inline)) void leave_out(const int64_t* left_out, Py_ssize_t row, Py_ssize_t columns,
                                                     Scores& scores) {
  bool any = false;
  for (Py_ssize_t i = 0; i < columns; ++i) any |= static_cast<uint64_t>(left_out[i] - row) < kPanelRows;
  if (!any) return;
  for (Py_ssize_t i = 0; i < columns; ++i) {
    const int64_t at = left_out[i] - row;
    if (at >= 0 && at < kPanelRows) scores.rows[at][i] = -std::numeric_limits<float>::infinity();
  }
}

// Compares up to 16 columns of the scores with the limits from *at* on.
GOLDRANK_TILED inline void compare(const Scores& scores, Py_ssize_t row, Py_ssize_t rows, Py_ssize_t column,
                                   Py_ssize_t lanes, Py_ssize_t at, Comparison& with) {
  const auto used = static_cast<__mmask16>((1u << lanes) - 1);
  const __m512 low = _mm512_maskz_loadu_ps(used, with.low + at), high = _mm512_maskz_loadu_ps(used, with.high + at);
  const __m512i one = _mm512_set1_epi32(1);
  __m512i above = _mm512_setzero_si512();
  for (Py_ssize_t i = 0; i < rows; ++i) {
    const __m512 here = _mm512_load_ps(scores.rows[i] + column);
    const __mmask16 greater = _mm512_cmp_ps_mask(here, high, _CMP_GT_OQ);
    const __mmask16 reached = _mm512_mask_cmp_ps_mask(used, here, low, _CMP_GE_OQ);
    above = _mm512_mask_add_epi32(above, greater, above, one);
    const uint32_t open = reached & ~greater;
    if (__builtin_expect(open != 0, 0)) with.note(open, row + i, at);
  }
  alignas(64) int32_t counts[kTileRows];
  _mm512_store_si512(counts, above);
  for (Py_ssize_t i = 0; i < lanes; ++i) with.above[at + i] += counts[i];
}

GOLDRANK_TILED void count_products(const Operands& given, Comparison& with) {
  for_each_panel(given, [&](Scores& scores, Py_ssize_t row, Py_ssize_t column) {
    leave_out(with.left_out + column, row, std::min(kPanelRows, given.columns - column), scores);
    const Py_ssize_t rows = std::min(kPanelRows, given.rows - row);
    Py_ssize_t start = 0;
    for (Py_ssize_t round = 0; round < with.rounds; start += with.widths[round++]) {
      for (Py_ssize_t half = 0; half < kPanelRows; half += kTileRows) {
        const Py_ssize_t lanes = std::min(kTileRows, with.widths[round] - column - half);
        if (lanes > 0) compare(scores, row, rows, half, lanes, start + column + half, with);
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

// Whether the system saves the tiles of a thread that it interrupts, and lets this process use them.
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

PyObject* pack(PyObject*, PyObject* args) {
  PyObject *rows, *packed;
  int is_right;
  if (!PyArg_ParseTuple(args, "OOp:pack", &rows, &packed, &is_right)) throw PythonError{};
  const Array from(rows, 2, 'f', PyBUF_SIMPLE), to(packed, 2, 'H', PyBUF_WRITABLE);
  if (to.side(0) != panels_of(from.side(0)) || to.side(1) != steps_of(from.side(1)) * kStepSize) {
    raise("the packed array has another size than its rows need");
  }
  if (!has_tiles()) raise("this processor or system has no tiles");
  Py_BEGIN_ALLOW_THREADS;
  pack_rows({from.data<const float>(), from.side(0), from.side(1)}, to.data<uint16_t>(), is_right != 0);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

Operands operands_of(const Array& items, const Array& queries, Py_ssize_t rows, Py_ssize_t columns) {
  const bool fit = items.side(1) == queries.side(1) && items.side(1) % kStepSize == 0 &&
                   items.side(0) == panels_of(rows) && queries.side(0) == panels_of(columns);
  if (!fit) raise("the packed arrays do not fit each other or the product");
  if (!has_tiles()) raise("this processor or system has no tiles");
  return {items.data<const uint16_t>(), queries.data<const uint16_t>(), items.side(1) / kStepSize, rows, columns};
}

PyObject* products(PyObject*, PyObject* args) {
  PyObject *items, *queries, *out;
  if (!PyArg_ParseTuple(args, "OOO:products", &items, &queries, &out)) throw PythonError{};
  const Array left(items, 2, 'H', PyBUF_SIMPLE), right(queries, 2, 'H', PyBUF_SIMPLE), to(out, 2, 'f', PyBUF_WRITABLE);
  const Operands given = operands_of(left, right, to.side(0), to.side(1));
  Py_BEGIN_ALLOW_THREADS;
  write_products(given, to.data<float>());
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyObject* count(PyObject*, PyObject* args) {
  PyObject *items, *queries, *left_out, *widths, *low, *high, *above, *near, *places;
  Py_ssize_t rows;
  if (!PyArg_ParseTuple(args, "OOnOOOOOOO:count", &items, &queries, &rows, &left_out, &widths, &low, &high, &above,
                        &near, &places)) {
    throw PythonError{};
  }
  const Array left(items, 2, 'H', PyBUF_SIMPLE), right(queries, 2, 'H', PyBUF_SIMPLE);
  const Array outside(left_out, 1, 'q', PyBUF_SIMPLE), sizes(widths, 1, 'q', PyBUF_SIMPLE);
  const Array lows(low, 1, 'f', PyBUF_SIMPLE), highs(high, 1, 'f', PyBUF_SIMPLE);
  const Array aboves(above, 1, 'q', PyBUF_WRITABLE), nears(near, 1, 'q', PyBUF_WRITABLE);
  const Array found(places, 1, 'q', PyBUF_WRITABLE);
  const Operands given = operands_of(left, right, rows, outside.side(0));
  Py_ssize_t total = 0;
  for (Py_ssize_t round = 0; round < sizes.side(0); ++round) {
    const int64_t width = sizes.data<const int64_t>()[round];
    if (width < 0 || width > given.columns) raise("a round is for as many columns as there are, or fewer");
    total += width;
  }
  for (const Array* each : {&lows, &highs, &aboves, &nears}) {
    if (each->side(0) != total) raise("there is one limit and count of each kind for every column of every round");
  }
  std::fill_n(aboves.data<int64_t>(), total, 0);
  std::fill_n(nears.data<int64_t>(), total, 0);
  Comparison with = {outside.data<const int64_t>(), sizes.data<const int64_t>(), sizes.side(0), total,
                     lows.data<const float>(),      highs.data<const float>(),   aboves.data<int64_t>(),
                     nears.data<int64_t>(),         found.data<int64_t>(),       found.side(0), 0};
  Py_BEGIN_ALLOW_THREADS;
  count_products(given, with);
  Py_END_ALLOW_THREADS;
  return PyLong_FromSsize_t(with.found);
}

#else

bool has_tiles() { return false; }

PyObject* pack(PyObject*, PyObject*) { raise("this build has no tiles"); }

PyObject* products(PyObject*, PyObject*) { raise("this build has no tiles"); }

PyObject* count(PyObject*, PyObject*) { raise("this build has no tiles"); }

#endif

PyObject* available(PyObject*, PyObject*) { return PyBool_FromLong(has_tiles()); }

template <PyObject* (*function)(PyObject*, PyObject*)>
PyObject* guarded(PyObject* module, PyObject* args) noexcept {
  try {
    return function(module, args);
  } catch (const PythonError&) {
    return nullptr;
  }
}

PyMethodDef methods[] = {
    {"available", guarded<available>, METH_NOARGS, "Whether this processor and system let the process use tiles."},
    {"pack", guarded<pack>, METH_VARARGS, "Split rows into the tiles of one side of a product; see _tiles.pyi."},
    {"count", guarded<count>, METH_VARARGS, "Multiply and compare with limits; see _tiles.pyi."},
    {"products", guarded<products>, METH_VARARGS, "Multiply packed items with packed queries; see _tiles.pyi."},
    {nullptr, nullptr, 0, nullptr},
};

#ifdef GOLDRANK_TILES
// Sizes that callers need: rows of a panel, numbers of a row in one step, bfloat16 numbers of a packed step, and
// numbers of a row that are added up in the tiles at a time.
int add_sizes(PyObject* module) {
  const bool added = PyModule_AddIntConstant(module, "PANEL_ROWS", kPanelRows) == 0 &&
                     PyModule_AddIntConstant(module, "STEP", kStep) == 0 &&
                     PyModule_AddIntConstant(module, "PACKED_STEP", kStepSize) == 0 &&
                     PyModule_AddIntConstant(module, "SUM_LENGTH", kStepsPerSum * kStep) == 0;
  return added ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(add_sizes)}, {0, nullptr}};
#else
PyModuleDef_Slot slots[] = {{0, nullptr}};
#endif

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_tiles",
    "Products of float32 blocks with the bfloat16 tiles of AMX; only ever the first look of a certified count.",
    0,
    methods,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__tiles() { return PyModuleDef_Init(&definition); }
