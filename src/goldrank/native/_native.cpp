// Where each judged item landed in a run, read from TREC text or from dictionaries in one pass. fallback.py is the
// same in Python and says what each function returns.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#if defined(_WIN32) || (defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define GOLDRANK_LITTLE_ENDIAN 1
#endif
#if defined(__SSE2__) || defined(_M_X64)
#define GOLDRANK_SSE2 1
#include <emmintrin.h>
#if defined(_MSC_VER)
#include <intrin.h>
#endif
#endif

namespace {

using std::int64_t;
using std::size_t;
using std::string_view;
using std::uint32_t;
using std::uint64_t;

constexpr size_t kNone = static_cast<size_t>(-1);
constexpr Py_ssize_t kTextLimit = 80;

// Thrown when a Python exception is set already.
struct PythonError {};

struct DropReference {
  void operator()(PyObject* object) const { Py_XDECREF(object); }
};
using Ref = std::unique_ptr<PyObject, DropReference>;

Ref owned(PyObject* object) {
  if (object == nullptr) throw PythonError{};
  return Ref(object);
}

[[noreturn]] void raise(PyObject* type, const char* message) {
  PyErr_SetString(type, message);
  throw PythonError{};
}

class Buffer {
 public:
  Buffer(PyObject* object, int flags) {
    if (PyObject_GetBuffer(object, &view_, flags) != 0) throw PythonError{};
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  string_view bytes() const { return {static_cast<const char*>(view_.buf), static_cast<size_t>(view_.len)}; }

  int64_t* integers(std::initializer_list<Py_ssize_t> shape) const {
    const string_view format = view_.format == nullptr ? "B" : view_.format;
    const bool is_int64 = view_.itemsize == 8 && (format.back() == 'l' || format.back() == 'q');
    if (!is_int64 || !std::equal(shape.begin(), shape.end(), view_.shape, view_.shape + view_.ndim)) {
      raise(PyExc_ValueError, "the arrays of the gold are int64, C-contiguous and as long as the gold");
    }
    return static_cast<int64_t*>(view_.buf);
  }

 private:
  Py_buffer view_;
};

class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() { PyEval_RestoreThread(state_); }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

  template <class Body>
  auto held(Body body) {
    PyEval_RestoreThread(state_);
    const auto result = body();
    state_ = PyEval_SaveThread();
    return result;
  }

 private:
  PyThreadState* state_;
};

struct ModuleState {
  PyObject* row_fault;
  PyObject* mapping;
};

ModuleState& state_of(PyObject* module) { return *static_cast<ModuleState*>(PyModule_GetState(module)); }

[[noreturn]] void raise_row_fault(PyObject* module, Ref arguments) {
  PyErr_SetObject(state_of(module).row_fault, arguments.get());
  throw PythonError{};
}

Ref shortened(Ref text) { return owned(PyUnicode_Substring(text.get(), 0, kTextLimit)); }

Ref lenient_text(string_view bytes) {
  return owned(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

Ref type_name(PyObject* object) {
  return owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
}

enum class FaultKind { columns, comment, number, nonfinite, duplicate, encoding };

// Lines are counted only when a fault is raised, so it is its place in the data that says which of two comes first.
struct Fault {
  const char* at;
  FaultKind kind;
  string_view token = {};
  string_view query = {};
  Py_ssize_t found = 0;
};

void keep_earlier(std::optional<Fault>& kept, const Fault& other) {
  if (!kept || other.at < kept->at) kept = other;
}

[[noreturn]] void raise_fault(PyObject* module, string_view data, const Fault& fault, Py_ssize_t width) {
  const auto line = static_cast<Py_ssize_t>(1 + std::count(data.data(), fault.at, '\n'));
  const auto about_token = [&](const char* kind) {
    return owned(Py_BuildValue("nsN", line, kind, shortened(lenient_text(fault.token)).release()));
  };
  switch (fault.kind) {
    case FaultKind::columns:
      raise_row_fault(module, owned(Py_BuildValue("nsnn", line, "columns", fault.found, width)));
    case FaultKind::comment:
      raise_row_fault(module, owned(Py_BuildValue("nsnn", line, "comment", fault.found, width)));
    case FaultKind::number:
      raise_row_fault(module, about_token("number"));
    case FaultKind::nonfinite:
      raise_row_fault(module, about_token("nonfinite"));
    case FaultKind::duplicate: {
      Ref item = lenient_text(fault.token);
      Ref query = lenient_text(fault.query);
      raise_row_fault(module, owned(Py_BuildValue("nsOO", line, "duplicate", item.get(), query.get())));
    }
    case FaultKind::encoding:
      break;
  }
  raise_row_fault(module, owned(Py_BuildValue("ns", line, "encoding")));
}

template <class Word>
Word load(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The upper and the lower half of the product of two words, as one word.
uint64_t folded_product(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
  uint64_t high;
  const uint64_t low = _umul128(a, b, &high);
  return low ^ high;
#else
  const uint64_t half = 0xFFFFFFFFu;
  const uint64_t low = (a & half) * (b & half), cross = (a >> 32) * (b & half), other = (a & half) * (b >> 32);
  const uint64_t middle = (low >> 32) + (cross & half) + other;
  return (middle << 32 | (low & half)) ^ ((a >> 32) * (b >> 32) + (cross >> 32) + (middle >> 32));
#endif
}

// Random in every process, so that no file can be made whose ids all share their slots; no result depends on them.
uint64_t hash_mask = 0x9E3779B97F4A7C15u, hash_factor = 0xD6E8FEB86659FD93u;

uint32_t hash_of(string_view text) {
  const char* const bytes = text.data();
  const size_t size = text.size();
  uint64_t hash = hash_mask ^ size, tail = 0;
  if (size >= 8) {
    for (size_t at = 0; at + 8 < size; at += 8) {
      hash = folded_product(hash ^ load<uint64_t>(bytes + at), hash_factor) ^ hash_mask;
    }
    tail = load<uint64_t>(bytes + size - 8);
  } else if (size >= 4) {
    tail = uint64_t{load<uint32_t>(bytes)} << 32 | load<uint32_t>(bytes + size - 4);
  } else if (size > 0) {
    const auto byte = [&](size_t at) { return uint64_t{static_cast<unsigned char>(bytes[at])}; };
    tail = byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
  }
  hash = folded_product(hash ^ tail, hash_factor);
  return static_cast<uint32_t>(hash >> 32);
}

bool same(string_view a, string_view b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

bool is_utf8(string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (end - at >= 8 && (load<uint64_t>(at) & 0x8080808080808080u) == 0) at += 8;
  const auto byte = [&](int offset) { return static_cast<unsigned char>(at[offset]); };
  while (at != end) {
    const unsigned lead = byte(0);
    const int length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length > 1) {
      // The range of the second byte shuts out overlong forms, surrogates and what lies beyond U+10FFFF.
      const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
      if (lead < 0xC2 || lead > 0xF4 || end - at < length || byte(1) < low || byte(1) > high) return false;
      for (int offset = 2; offset < length; ++offset) {
        if ((byte(offset) & 0xC0) != 0x80) return false;
      }
    }
    at += length;
  }
  return true;
}

enum class Number { finite, nonfinite, malformed };

bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

bool names_nonfinite(string_view token) {
  if (token.front() == '+' || token.front() == '-') token.remove_prefix(1);
  const auto is = [&](string_view name) {
    const auto fold = [](char a, char b) { return (a | 0x20) == b; };
    return std::equal(token.begin(), token.end(), name.begin(), name.end(), fold);
  };
  return is("nan") || is("inf") || is("infinity");
}

// The double nearest to a well-formed unsigned decimal, whatever its length.
double nearest_double(string_view decimal, ReleasedGil& gil) {
#if defined(__cpp_lib_to_chars)
  double value = 0;
  const auto parsed = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
  if (parsed.ec == std::errc{}) return value;
#endif
  // from_chars says "out of range" for what is too small as well as for what is too large; Python tells them apart.
  const std::string terminated(decimal);
  return gil.held([&] { return PyOS_string_to_double(terminated.c_str(), nullptr, nullptr); });
}

// The number that the last one to eight bytes before `end` write, if they are all digits. Reads eight bytes in any
// case, and masks what comes before the digits.
std::optional<uint32_t> last_digits(const char* end, std::ptrdiff_t count) {
#if defined(GOLDRANK_LITTLE_ENDIAN)
  constexpr uint64_t zeros = 0x3030303030303030u, high_halves = 0xF0F0F0F0F0F0F0F0u;
  const uint64_t wanted = ~uint64_t{0} << (64 - 8 * count);
  uint64_t word = (load<uint64_t>(end - 8) & wanted) | (zeros & ~wanted);
  if (((word & high_halves) | (((word + 0x0606060606060606u) & high_halves) >> 4)) != 0x3333333333333333u) return {};
  // Digits become pairs, and the four pairs one number, each pair times its power of a hundred.
  word -= zeros;
  word = word * 10 + (word >> 8);
  constexpr uint64_t every_other_pair = 0x000000FF000000FFu;
  word = (word & every_other_pair) * (uint64_t{1000000} << 32 | 100) +
         (word >> 16 & every_other_pair) * (uint64_t{10000} << 32 | 1);
  return static_cast<uint32_t>(word >> 32);
#else
  static_cast<void>(end), static_cast<void>(count);
  return {};
#endif
}

// The token stands in the fourth column or later, so that a fraction in it has eight bytes of its line up to its end.
Number parse_number(string_view token, double& value, ReleasedGil& gil) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* at = token.data();
  const char* const end = at + token.size();
  const bool negative = *at == '-';
  at += negative || *at == '+';
  const char* const decimal = at;

  uint64_t mantissa = 0;
  const auto digits = [&] {
    const char* const first = at;
    for (; at != end && is_digit(*at); ++at) mantissa = mantissa * 10 + static_cast<unsigned>(*at - '0');
    return at - first;
  };
  std::ptrdiff_t significant = digits();
  std::ptrdiff_t exponent = 0;
  if (at != end && *at == '.') {
    ++at;
    const std::ptrdiff_t rest = end - at;
    const auto fraction = rest >= 1 && rest <= 8 ? last_digits(end, rest) : std::nullopt;
    if (fraction) {
      mantissa = mantissa * static_cast<uint64_t>(powers[rest]) + *fraction;
      at = end;
      exponent = -rest;
    } else {
      exponent = -digits();
    }
    significant -= exponent;
  }
  if (significant == 0) return names_nonfinite(token) ? Number::nonfinite : Number::malformed;
  if (at != end && (*at | 0x20) == 'e') {
    ++at;
    const bool down = at != end && *at == '-';
    at += at != end && (*at == '-' || *at == '+');
    if (at == end) return Number::malformed;
    std::ptrdiff_t shift = 0;
    for (; at != end && is_digit(*at); ++at) shift = std::min<std::ptrdiff_t>(shift * 10 + (*at - '0'), 99999);
    exponent += down ? -shift : shift;
  }
  if (at != end) return Number::malformed;

  // Clinger's fast path: both operands are exact, so the one operation rounds once, as it should.
  if (FLT_EVAL_METHOD == 0 && significant <= 19 && mantissa <= uint64_t{1} << 53 && std::abs(exponent) <= 22) {
    value = static_cast<double>(mantissa);
    value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
  } else {
    value = nearest_double({decimal, static_cast<size_t>(end - decimal)}, gil);
  }
  if (negative) value = -value;
  return std::isfinite(value) ? Number::finite : Number::nonfinite;
}

struct Row {
  string_view query, item, rank;
  double value;
};

struct Fields {
  string_view query, item, rank, value;
  Py_ssize_t count = 0;
};

constexpr Py_ssize_t kRankColumn = 3;
constexpr double kNoRank = std::numeric_limits<double>::quiet_NaN();

// Ranks are short whole numbers in nearly every file; kNoRank for what is not a finite number. `begin` is where the
// data begin, as the first line may be too short for reading eight bytes at a time.
double parse_rank(string_view token, const char* begin, ReleasedGil& gil) {
  const char* const end = token.data() + token.size();
  if (token.size() <= 8 && end - begin >= 8) {
    if (const auto rank = last_digits(end, static_cast<std::ptrdiff_t>(token.size()))) return *rank;
  }
  double rank;
  return parse_number(token, rank, gil) == Number::finite ? rank : kNoRank;
}

bool is_space(char c) { return c == ' ' || static_cast<unsigned char>(c - '\t') < 5; }

string_view between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

// Takes any line apart and moves `at` to the next; blank lines have no fields.
Fields split_line(const char*& at, const char* end, Py_ssize_t value_column) {
  Fields fields;
  while (at != end && *at != '\n') {
    if (is_space(*at)) {
      ++at;
      continue;
    }
    const char* const begin = at;
    while (at != end && !is_space(*at)) ++at;
    const string_view token = between(begin, at);
    if (fields.count == 0) fields.query = token;
    if (fields.count == 2) fields.item = token;
    if (fields.count == kRankColumn) fields.rank = token;
    if (fields.count == value_column) fields.value = token;
    ++fields.count;
  }
  if (at != end) ++at;
  return fields;
}

#if defined(GOLDRANK_SSE2)
int lowest_bit(uint64_t bits) {
#if defined(_MSC_VER)
  unsigned long index;
  _BitScanForward64(&index, bits);
  return static_cast<int>(index);
#else
  return __builtin_ctzll(bits);
#endif
}
#endif

// Writes the place of every white-space byte to `out`, which has room for all of them and seven more.
const char** find_spaces(const char* at, const char* end, const char** out) {
#if defined(GOLDRANK_SSE2)
  const __m128i blank = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), span = _mm_set1_epi8('\r' - '\t');
  for (; end - at >= 64; at += 64) {
    uint64_t mask = 0;
    __m128i minus_count = _mm_setzero_si128();
    for (int part = 0; part < 4; ++part) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
      const __m128i above_tab = _mm_sub_epi8(bytes, tab);
      const __m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(above_tab, span), above_tab);
      const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, blank), is_control);
      mask |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(found))} << (16 * part);
      minus_count = _mm_add_epi8(minus_count, found);
    }
    const __m128i sums = _mm_sad_epu8(_mm_sub_epi8(_mm_setzero_si128(), minus_count), _mm_setzero_si128());
    const int count = _mm_cvtsi128_si32(sums) + _mm_cvtsi128_si32(_mm_srli_si128(sums, 8));
    // In eights, with some writes for nothing: how many spaces a block holds is what a branch cannot foresee.
    for (int written = 0; written < count; written += 8) {
      for (int next = 0; next < 8; ++next) {
        out[written + next] = at + lowest_bit(mask | uint64_t{1} << 63);
        mask &= mask - 1;
      }
    }
    out += count;
  }
#endif
  for (; at != end; ++at) {
    *out = at;
    out += is_space(*at);
  }
  return out;
}

// How many columns a line has and which of them is the number; runs have theirs fixed for the optimiser's sake.
struct TableShape {
  Py_ssize_t width, value_column;

  // Between the item and a number further on stands the rank.
  bool has_rank() const { return value_column > kRankColumn; }
  // What follows the tag is a comment, as in trec_eval.
  bool has_tag() const { return value_column + 1 < width; }
};
struct RunShape {
  static constexpr Py_ssize_t width = 6, value_column = 4;
  static constexpr bool has_rank() { return true; }
  static constexpr bool has_tag() { return true; }
};

// Reads rows one after another until the data ends or a line has a fault.
template <class Shape>
class LineReader {
 public:
  LineReader(string_view data, Shape shape, ReleasedGil& gil)
      : begin_(data.data()), line_(begin_), chunk_end_(line_), end_(line_ + data.size()), shape_(shape), gil_(gil) {}

  bool next(Row& row) {
    while (line_ != chunk_end_ || index_chunk()) {
      const char* const line = line_;
      const Fields fields = is_regular() ? take_regular() : take_any();
      if (fields.count == 0) continue;
      if (fields.count != shape_.width) {
        // A space inside the item's id would shift the columns: then there is text in the place of the rank.
        if (fields.count < shape_.width || !shape_.has_tag() || std::isnan(parse_rank(fields.rank, begin_, gil_))) {
          const auto kind = fields.query.front() == '#' ? FaultKind::comment : FaultKind::columns;
          return stop({line, kind, {}, {}, fields.count});
        }
        ++long_lines_;
      }
      const Number number = parse_number(fields.value, row.value, gil_);
      if (number == Number::malformed) return stop({line, FaultKind::number, fields.value});
      if (number == Number::nonfinite) return stop({line, FaultKind::nonfinite, fields.value});
      row.query = fields.query;
      row.item = fields.item;
      row.rank = fields.rank;
      return true;
    }
    return false;
  }

  const std::optional<Fault>& fault() const { return fault_; }
  Py_ssize_t long_lines() const { return long_lines_; }

 private:
  static constexpr std::ptrdiff_t kChunk = 8192;

  bool stop(const Fault& fault) {
    fault_ = fault;
    return false;
  }

  // Finds the white space of the next whole lines in one go, which is far quicker than token by token.
  bool index_chunk() {
    if (line_ == end_) return false;
    chunk_end_ = end_;
    if (end_ - line_ > kChunk) {
      chunk_end_ = line_ + kChunk;
      while (chunk_end_ != line_ && chunk_end_[-1] != '\n') --chunk_end_;
      if (chunk_end_ == line_) {
        const void* newline = std::memchr(line_ + kChunk, '\n', static_cast<size_t>(end_ - line_ - kChunk));
        chunk_end_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
      }
    }
    const size_t room = static_cast<size_t>(chunk_end_ - line_) + 9;
    if (spaces_.size() < room) spaces_.resize(room);
    space_ = spaces_.data();
    spaces_end_ = find_spaces(line_, chunk_end_, spaces_.data());
    if (chunk_end_ == end_ && end_[-1] != '\n') *spaces_end_++ = end_;
    return true;
  }

  // Whether the line has exactly one white-space byte after each of its columns and none else.
  bool is_regular() const {
    if (spaces_end_ - space_ < shape_.width) return false;
    const char* const last = space_[shape_.width - 1];
    if (space_[0] == line_) return false;
    for (Py_ssize_t column = 1; column < shape_.width; ++column) {
      if (space_[column] - space_[column - 1] < 2 || *space_[column - 1] == '\n') return false;
    }
    return last == end_ || *last == '\n';
  }

  Fields take_regular() {
    const auto field = [&](Py_ssize_t column) { return between(space_[column - 1] + 1, space_[column]); };
    const Fields fields = {between(line_, space_[0]), field(2), field(kRankColumn), field(shape_.value_column),
                           shape_.width};
    space_ += shape_.width;
    line_ = space_[-1] == end_ ? end_ : space_[-1] + 1;
    return fields;
  }

  Fields take_any() {
    const Fields fields = split_line(line_, end_, shape_.value_column);
    while (space_ != spaces_end_ && *space_ < line_) ++space_;
    return fields;
  }

  const char* const begin_;
  const char* line_;
  const char* chunk_end_;
  const char* const end_;
  const Shape shape_;
  ReleasedGil& gil_;
  std::optional<Fault> fault_;
  Py_ssize_t long_lines_ = 0;
  std::vector<const char*> spaces_;
  const char** space_ = nullptr;
  const char** spaces_end_ = nullptr;
};

size_t slots_for(size_t entries) {
  size_t slots = 16;
  while (slots < 2 * entries) slots *= 2;
  return slots;
}

// Numbers ids in the order in which they are first met. A deque, as doubling a vector of millions would cost more
// memory than all the rest.
class Names {
 public:
  uint32_t number(string_view name) {
    size_t slot = hash_of(name) & (slots_.size() - 1);
    for (; slots_[slot] != kEmpty; slot = (slot + 1) & (slots_.size() - 1)) {
      if (same(names_[slots_[slot]], name)) return slots_[slot];
    }
    const auto fresh = static_cast<uint32_t>(names_.size());
    names_.push_back(name);
    slots_[slot] = fresh;
    if (2 * names_.size() > slots_.size()) grow();
    return fresh;
  }

  size_t size() const { return names_.size(); }
  string_view& operator[](size_t number) { return names_[number]; }

 private:
  static constexpr uint32_t kEmpty = static_cast<uint32_t>(-1);

  void grow() {
    const size_t slots = 2 * slots_.size();
    slots_ = {};
    slots_.assign(slots, kEmpty);
    for (size_t number = 0; number < names_.size(); ++number) {
      size_t slot = hash_of(names_[number]) & (slots - 1);
      while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots - 1);
      slots_[slot] = static_cast<uint32_t>(number);
    }
  }

  std::deque<string_view> names_;
  std::vector<uint32_t> slots_ = std::vector<uint32_t>(16, kEmpty);
};

// The rows of one query by item. Slots are stamped with the number of the filling, so that none has to be cleared.
class ItemTable {
 public:
  // Returns the first row whose item came before, or kNone; what follows such a row is not filled in.
  size_t fill(const string_view* items, size_t count) {
    items_ = items;
    mask_ = slots_for(count) - 1;
    if (slots_.size() <= mask_) slots_.resize(mask_ + 1);
    if (++filling_ == 0) {
      std::fill(slots_.begin(), slots_.end(), Slot{});
      filling_ = 1;
    }
    for (size_t row = 0; row < count; ++row) {
      const uint32_t hash = hash_of(items[row]);
      Slot& slot = slot_of(items[row], hash);
      if (slot.filling == filling_) return row;
      slot = {filling_, hash, static_cast<uint32_t>(row)};
    }
    return kNone;
  }

  size_t find(string_view item) {
    const Slot& slot = slot_of(item, hash_of(item));
    return slot.filling == filling_ ? slot.row : kNone;
  }

 private:
  struct Slot {
    uint32_t filling = 0, hash = 0, row = 0;
  };

  Slot& slot_of(string_view item, uint32_t hash) {
    size_t at = hash & mask_;
    while (slots_[at].filling == filling_ && !(slots_[at].hash == hash && same(items_[slots_[at].row], item))) {
      at = (at + 1) & mask_;
    }
    return slots_[at];
  }

  const string_view* items_ = nullptr;
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  uint32_t filling_ = 0;
};

// UTF-8 keeps the order of code points, so both comparisons order ids by their bytes.
int compare_ids(string_view a, string_view b) { return a.compare(b); }
int compare_ids(PyObject* a, PyObject* b) { return PyUnicode_Compare(a, b); }

double rounded(double score, bool float32) { return float32 ? static_cast<float>(score) : score; }

struct Place {
  int64_t above = 0, tied = 0, tied_docid = 0, tied_input = 0;
};

// One query's results, asked for the places of some of them: a list in order is searched as it is, one out of order
// is scanned for a few places and sorted for many.
template <class Id>
class Ranking {
 public:
  Ranking(const std::vector<Id>& ids, const std::vector<double>& scores, int64_t places)
      : ids_(ids),
        scores_(scores),
        many_(places > kFew),
        in_order_(std::is_sorted(scores.begin(), scores.end(), std::greater<>{})) {
    if (in_order_ || !many_) return;
    order_ = all_rows();
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
    sorted_.reserve(scores.size());
    for (const uint32_t row : order_) sorted_.push_back(scores[row]);
  }

  // The place of a result by its id and its score.
  Place place(Id id, double score) {
    return in_order_ || many_ ? search(id, score) : scan(id, score);
  }

 private:
  static constexpr int64_t kFew = 32;

  std::vector<uint32_t> all_rows() const {
    std::vector<uint32_t> rows(scores_.size());
    std::iota(rows.begin(), rows.end(), 0u);
    return rows;
  }

  Place scan(Id id, double score) const {
    Place place;
    for (const double other : scores_) {
      place.above += other > score;
      place.tied += other == score;
    }
    if (--place.tied == 0) return place;
    int64_t earlier = 0;
    for (size_t row = 0; row < scores_.size(); ++row) {
      if (scores_[row] == score) meet(place, row, id, earlier++);
    }
    return place;
  }

  Place search(Id id, double score) {
    const std::vector<double>& scores = in_order_ ? scores_ : sorted_;
    const auto equal = std::equal_range(scores.begin(), scores.end(), score, std::greater<>{});
    const int64_t first = equal.first - scores.begin(), last = equal.second - scores.begin();
    Place place;
    place.above = first;
    place.tied = last - first - 1;
    if (place.tied == 0) return place;
    if (many_ && place.tied > kFew) {
      search_tied(place, id, first, last);
    } else {
      for (int64_t at = first; at < last; ++at) meet(place, in_order_ ? at : order_[at], id, at - first);
    }
    return place;
  }

  void meet(Place& place, size_t row, Id id, int64_t earlier) const {
    const int order = compare_ids(ids_[row], id);
    place.tied_docid += order > 0;
    if (order == 0) place.tied_input = earlier;
  }

  // Many places among many equal scores would take quadratic time one by one.
  void search_tied(Place& place, Id id, int64_t first, int64_t last) {
    if (by_id_.empty()) {
      by_id_ = all_rows();
      std::sort(by_id_.begin(), by_id_.end(), [&](uint32_t a, uint32_t b) {
        return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : compare_ids(ids_[a], ids_[b]) > 0;
      });
    }
    const auto found = std::lower_bound(by_id_.begin() + first, by_id_.begin() + last, id,
                                        [&](uint32_t row, Id sought) { return compare_ids(ids_[row], sought) > 0; });
    place.tied_docid = found - by_id_.begin() - first;
    place.tied_input = in_order_ ? *found - first
                                 : std::lower_bound(order_.begin() + first, order_.begin() + last, *found) -
                                       order_.begin() - first;
  }

  const std::vector<Id>& ids_;
  const std::vector<double>& scores_;
  const bool many_, in_order_;
  std::vector<uint32_t> order_, by_id_;
  std::vector<double> sorted_;
};

// The judged items and the arrays their places are written to; the arguments both counting functions share.
class Gold {
 public:
  Gold(PyObject* queries, PyObject* starts, PyObject* items, PyObject* counts, PyObject* depth)
      : queries_(owned(PySequence_Tuple(queries))),
        items_(owned(PySequence_Tuple(items))),
        starts_buffer_(starts, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT),
        counts_buffer_(counts, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE),
        depth_buffer_(depth, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE),
        starts_(starts_buffer_.integers({query_count() + 1})),
        counts_(counts_buffer_.integers({4, item_count()})),
        depth_(depth_buffer_.integers({query_count()})) {
    check_strings(queries_.get());
    check_strings(items_.get());
    if (starts_[0] != 0 || starts_[query_count()] != item_count() ||
        !std::is_sorted(starts_, starts_ + query_count() + 1)) {
      raise(PyExc_ValueError, "the starts of the gold do not ascend from 0 to the number of its items");
    }
    std::fill_n(counts_, item_count(), -1);
    std::fill_n(counts_ + item_count(), 3 * item_count(), 0);
    std::fill_n(depth_, query_count(), 0);
  }

  Py_ssize_t query_count() const { return PyTuple_GET_SIZE(queries_.get()); }
  Py_ssize_t item_count() const { return PyTuple_GET_SIZE(items_.get()); }
  PyObject* query(Py_ssize_t index) const { return PyTuple_GET_ITEM(queries_.get(), index); }
  PyObject* item(Py_ssize_t row) const { return PyTuple_GET_ITEM(items_.get(), row); }
  int64_t start(Py_ssize_t query) const { return starts_[query]; }

  void set_depth(Py_ssize_t query, size_t results) { depth_[query] = static_cast<int64_t>(results); }
  void set_place(Py_ssize_t row, const Place& place) {
    const Py_ssize_t rows = item_count();
    counts_[row] = place.above;
    counts_[rows + row] = place.tied;
    counts_[2 * rows + row] = place.tied_docid;
    counts_[3 * rows + row] = place.tied_input;
  }

 private:
  static void check_strings(PyObject* tuple) {
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(tuple); ++at) {
      if (!PyUnicode_Check(PyTuple_GET_ITEM(tuple, at))) raise(PyExc_TypeError, "the ids of the gold are strings");
    }
  }

  const Ref queries_, items_;
  const Buffer starts_buffer_, counts_buffer_, depth_buffer_;
  const int64_t* const starts_;
  int64_t* const counts_;
  int64_t* const depth_;
};

struct Options {
  bool float32, drop_self;
};

// What the listing of one query says about its scores; fallback.order_of says what each field means.
struct Order {
  uint32_t rising = 0;
  bool varied = false, contradicts = false, by_rank = false, rank_like = false;
};

// So many results of a query tell its order; to read the ranks of all of them would take a tenth of the time.
constexpr size_t kOrderDepth = 20;

bool tell_an_order(const std::vector<double>& ranks) {
  bool differ = false;
  for (const double rank : ranks) {
    if (std::isnan(rank)) return false;
    differ |= rank != ranks.front();
  }
  return differ;
}

Order order_of(const std::vector<double>& scores, const std::vector<double>& ranks) {
  Order order;
  const size_t count = std::min(scores.size(), kOrderDepth);
  const double* const last = scores.data() + count;
  if (std::is_sorted(scores.data(), last, std::greater<>{}) && std::is_sorted(ranks.begin(), ranks.end())) {
    // By the ranks and by the list alike the best come first, as in nearly every file.
    order.varied = count > 0 && scores.front() != last[-1];
    return order;
  }
  const bool by_rank = tell_an_order(ranks);
  uint32_t up = 0, down = 0;
  for (size_t row = 1; row < count; ++row) {
    const int way = by_rank ? (ranks[row] > ranks[row - 1]) - (ranks[row] < ranks[row - 1]) : 1;
    const int step = (scores[row] > scores[row - 1]) - (scores[row] < scores[row - 1]);
    order.varied |= step != 0;
    up += way * step > 0;
    down += way * step < 0;
  }
  order.contradicts = by_rank ? up > down : up > 0 && down == 0;
  if (!order.contradicts) return order;
  order.rising = up;
  order.by_rank = by_rank;
  order.rank_like = scores[0] == 0 || scores[0] == 1;
  for (size_t row = 1; row < count && order.rank_like; ++row) {
    order.rank_like = scores[row] == scores[0] + static_cast<double>(row);
  }
  return order;
}

struct Totals {
  Py_ssize_t ignored = 0, dropped = 0, results = 0;
  Py_ssize_t varied = 0, contradicting = 0, rising = 0, by_rank = 0, rank_like = 0, long_lines = 0;

  void add(const Order& order) {
    varied += order.varied;
    contradicting += order.contradicts;
    rising += order.rising;
    by_rank += order.by_rank;
    rank_like += order.rank_like;
  }

  PyObject* as_tuple() const {
    return Py_BuildValue("nnnnnnnnn", ignored, dropped, results, varied, contradicting, rising, by_rank, rank_like,
                         long_lines);
  }
};

[[noreturn]] void raise_repeated_query() { raise(PyExc_ValueError, "a query of the gold is listed twice"); }

// The lines of a query are usually together: they are kept until the query changes, counted and forgotten. Of a query
// that comes again only the places of its lines are noted, and these are read once more at the end.
class TrecHits {
 public:
  TrecHits(string_view data, Gold& gold, Options options) : data_(data), gold_(gold), options_(options) {
    for (Py_ssize_t query = 0; query < gold.query_count(); ++query) {
      if (names_.number(utf8(gold.query(query))) != query) raise_repeated_query();
    }
    gold_items_.reserve(static_cast<size_t>(gold.item_count()));
    for (Py_ssize_t row = 0; row < gold.item_count(); ++row) gold_items_.push_back(utf8(gold.item(row)));
    latest_.assign(names_.size(), kUnseen);
  }

  Totals read(ReleasedGil& gil) {
    LineReader<RunShape> reader(data_, {}, gil);
    string_view current;
    for (Row row; reader.next(row); ++totals_.results) {
      if (!same(row.query, current)) {
        close_stretch();
        if (fault_) break;
        open_stretch(row.query);
        current = row.query;
      }
      keep(row, gil);
    }
    close_stretch();
    if (reader.fault()) keep_earlier(fault_, *reader.fault());
    count_scattered(gil);
    totals_.ignored = static_cast<Py_ssize_t>(names_.size()) - gold_.query_count();
    totals_.long_lines = reader.long_lines();
    for (const Order& order : orders_) totals_.add(order);
    return totals_;
  }

  const std::optional<Fault>& fault() const { return fault_; }

 private:
  static constexpr uint32_t kUnseen = static_cast<uint32_t>(-1), kOnce = kUnseen - 1;

  // A later stretch of consecutive lines of a query, and the stretch before it unless that was the first.
  struct Stretch {
    const char* begin;
    uint32_t previous;
  };

  static string_view utf8(PyObject* text) {
    Py_ssize_t size;
    const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (bytes == nullptr) throw PythonError{};
    return {bytes, static_cast<size_t>(size)};
  }

  void keep(const Row& row, ReleasedGil& gil) {
    items_.push_back(row.item);
    scores_.push_back(rounded(row.value, options_.float32));
    if (ranks_.size() < kOrderDepth) ranks_.push_back(parse_rank(row.rank, data_.data(), gil));
  }

  void forget() {
    items_.clear();
    scores_.clear();
    ranks_.clear();
  }

  void open_stretch(string_view query) {
    query_ = names_.number(query);
    if (query_ == latest_.size()) latest_.push_back(kUnseen);
    uint32_t& latest = latest_[query_];
    scattered_ = latest != kUnseen;
    if (scattered_) {
      stretches_.push_back({query.data(), latest});
      latest = static_cast<uint32_t>(stretches_.size() - 1);
    } else {
      // From here on the name marks where the query's first stretch begins.
      names_[query_] = query;
      latest = kOnce;
    }
  }

  void close_stretch() {
    if (!items_.empty() && !scattered_) count(query_, 0);
    forget();
  }

  void count_scattered(ReleasedGil& gil) {
    const char* const end = data_.data() + data_.size();
    std::vector<const char*> begins;
    for (size_t query = 0; query < latest_.size() && !stretches_.empty(); ++query) {
      if (latest_[query] >= kOnce) continue;
      begins.clear();
      for (uint32_t at = latest_[query]; at != kOnce; at = stretches_[at].previous) {
        begins.push_back(stretches_[at].begin);
      }
      begins.push_back(names_[query].data());
      size_t first_stretch = 0;
      for (auto begin = begins.rbegin(); begin != begins.rend(); ++begin) {
        read_stretch(*begin, end, names_[query], gil);
        if (begin == begins.rbegin()) first_stretch = items_.size();
      }
      count(query, first_stretch);
      forget();
    }
  }

  // Beyond the earliest fault lines have not been checked, and are of no interest.
  void read_stretch(const char* at, const char* end, string_view query, ReleasedGil& gil) {
    while (at != end && !(fault_ && at >= fault_->at)) {
      const Fields fields = split_line(at, end, RunShape::value_column);
      if (fields.count == 0) continue;
      if (!same(fields.query, query)) break;
      Row row{fields.query, fields.item, fields.rank, 0};
      parse_number(fields.value, row.value, gil);
      keep(row, gil);
    }
  }

  // Checks and counts the rows that are kept; the first `counted` of them have been counted before.
  void count(size_t query, size_t counted) {
    const size_t repeated = table_.fill(items_.data(), items_.size());
    if (repeated != kNone) {
      keep_earlier(fault_, {items_[repeated].data(), FaultKind::duplicate, items_[repeated], names_[query]});
      return;
    }
    if (orders_.size() <= query) orders_.resize(names_.size());
    orders_[query] = order_of(scores_, ranks_);
    if (options_.drop_self) drop(table_.find(names_[query]), counted);
    const auto index = static_cast<Py_ssize_t>(query);
    if (index >= gold_.query_count()) return;
    gold_.set_depth(index, items_.size());
    const int64_t first = gold_.start(index), last = gold_.start(index + 1);
    Ranking<string_view> ranking(items_, scores_, last - first);
    for (int64_t row = first; row < last; ++row) {
      const string_view item = gold_items_[static_cast<size_t>(row)];
      const size_t found = table_.find(item);
      if (found != kNone) gold_.set_place(row, ranking.place(item, scores_[found]));
    }
  }

  void drop(size_t row, size_t counted) {
    if (row == kNone) return;
    totals_.dropped += row >= counted;
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(row));
    scores_.erase(scores_.begin() + static_cast<std::ptrdiff_t>(row));
    table_.fill(items_.data(), items_.size());
  }

  const string_view data_;
  Gold& gold_;
  const Options options_;
  std::vector<string_view> gold_items_;
  Names names_;
  std::deque<uint32_t> latest_;
  std::deque<Stretch> stretches_;
  ItemTable table_;
  std::vector<string_view> items_;
  std::vector<double> scores_, ranks_;
  std::vector<Order> orders_;
  size_t query_ = 0;
  bool scattered_ = false;
  Totals totals_;
  std::optional<Fault> fault_;
};

PyObject* trec_hits(PyObject* module, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"data",      "gold_queries", "gold_starts", "gold_items", "float32",
                                "drop_self", "counts",       "depth",       nullptr};
  PyObject *data, *queries, *starts, *items, *counts, *depth;
  int float32, drop_self;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOppOO:trec_hits", const_cast<char**>(names), &data, &queries,
                                   &starts, &items, &float32, &drop_self, &counts, &depth)) {
    throw PythonError{};
  }
  const Buffer buffer(data, PyBUF_SIMPLE);
  Gold gold(queries, starts, items, counts, depth);
  TrecHits hits(buffer.bytes(), gold, {float32 != 0, drop_self != 0});
  Totals totals;
  {
    ReleasedGil gil;
    totals = hits.read(gil);
  }
  if (hits.fault()) raise_fault(module, buffer.bytes(), *hits.fault(), RunShape::width);
  return totals.as_tuple();
}

class TrecColumns {
 public:
  TrecColumns(string_view data, TableShape shape) : data_(data), shape_(shape) {}

  void read(ReleasedGil& gil) {
    LineReader<TableShape> reader(data_, shape_, gil);
    string_view current;
    for (Row row; reader.next(row);) {
      const bool changes = !same(row.query, current);
      if ((changes && !is_utf8(row.query)) || !is_utf8(row.item)) {
        fault_ = Fault{row.query.data(), FaultKind::encoding};
        break;
      }
      if (changes) {
        stretches_.push_back({names_.number(row.query), items_.size()});
        current = row.query;
      }
      items_.push_back(row.item);
      values_.push_back(row.value);
      if (shape_.has_rank()) ranks_.push_back(parse_rank(row.rank, data_.data(), gil));
    }
    if (reader.fault()) fault_ = reader.fault();
    long_lines_ = reader.long_lines();
    group();
    find_duplicates();
  }

  const std::optional<Fault>& fault() const { return fault_; }

  PyObject* as_tuple() {
    const Ref queries = strings(names_), items = strings(items_);
    const Ref starts = array(starts_), values = array(values_), ranks = array(ranks_);
    return Py_BuildValue("OOOOOn", queries.get(), starts.get(), items.get(), values.get(), ranks.get(), long_lines_);
  }

 private:
  struct Stretch {
    uint32_t query;
    size_t first_row;
  };

  size_t stretch_end(size_t stretch) const {
    return stretch + 1 < stretches_.size() ? stretches_[stretch + 1].first_row : items_.size();
  }

  void group() {
    starts_.assign(names_.size() + 1, 0);
    for (size_t at = 0; at < stretches_.size(); ++at) {
      starts_[stretches_[at].query + 1] += static_cast<int64_t>(stretch_end(at) - stretches_[at].first_row);
    }
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    if (stretches_.size() == names_.size()) return;
    items_ = grouped(items_);
    values_ = grouped(values_);
    if (shape_.has_rank()) ranks_ = grouped(ranks_);
  }

  template <class Cell>
  std::vector<Cell> grouped(const std::vector<Cell>& cells) const {
    std::vector<Cell> result(cells.size());
    std::vector<int64_t> next = starts_;
    for (size_t at = 0; at < stretches_.size(); ++at) {
      const size_t first = stretches_[at].first_row, count = stretch_end(at) - first;
      std::copy_n(cells.begin() + static_cast<std::ptrdiff_t>(first), count,
                  result.begin() + next[stretches_[at].query]);
      next[stretches_[at].query] += static_cast<int64_t>(count);
    }
    return result;
  }

  void find_duplicates() {
    ItemTable table;
    for (size_t query = 0; query < names_.size(); ++query) {
      const string_view* const items = items_.data() + starts_[query];
      const size_t repeated = table.fill(items, static_cast<size_t>(starts_[query + 1] - starts_[query]));
      if (repeated == kNone) continue;
      keep_earlier(fault_, {items[repeated].data(), FaultKind::duplicate, items[repeated], names_[query]});
    }
  }

  template <class Texts>
  static Ref strings(Texts& texts) {
    Ref list = owned(PyList_New(static_cast<Py_ssize_t>(texts.size())));
    for (size_t at = 0; at < texts.size(); ++at) {
      const auto size = static_cast<Py_ssize_t>(texts[at].size());
      Ref text = owned(PyUnicode_DecodeUTF8(texts[at].data(), size, nullptr));
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(at), text.release());
    }
    return list;
  }

  template <class Cell>
  static Ref array(const std::vector<Cell>& cells) {
    return owned(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(cells.data()),
                                               static_cast<Py_ssize_t>(cells.size() * sizeof(Cell))));
  }

  const string_view data_;
  const TableShape shape_;
  Names names_;
  std::vector<Stretch> stretches_;
  std::vector<string_view> items_;
  std::vector<double> values_, ranks_;
  std::vector<int64_t> starts_;
  Py_ssize_t long_lines_ = 0;
  std::optional<Fault> fault_;
};

PyObject* trec_columns(PyObject* module, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"data", "width", "value_column", nullptr};
  PyObject* data;
  TableShape shape;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Onn:trec_columns", const_cast<char**>(names), &data, &shape.width,
                                   &shape.value_column)) {
    throw PythonError{};
  }
  if (shape.value_column <= 2 || shape.value_column >= shape.width) {
    raise(PyExc_ValueError, "the number stands in a column after the item's, which is the third");
  }
  const Buffer buffer(data, PyBUF_SIMPLE);
  TrecColumns columns(buffer.bytes(), shape);
  {
    ReleasedGil gil;
    columns.read(gil);
  }
  if (columns.fault()) raise_fault(module, buffer.bytes(), *columns.fault(), shape.width);
  return columns.as_tuple();
}

class MappingHits {
 public:
  MappingHits(PyObject* module, Gold& gold, Options options)
      : module_(module), gold_(gold), options_(options), gold_index_(owned(PyDict_New())) {
    for (Py_ssize_t query = 0; query < gold.query_count(); ++query) {
      const Ref index = owned(PyLong_FromSsize_t(query));
      if (PyDict_SetItem(gold_index_.get(), gold.query(query), index.get()) != 0) throw PythonError{};
    }
    if (PyDict_Size(gold_index_.get()) != gold.query_count()) raise_repeated_query();
  }

  Totals read(PyObject* run) {
    const Ref rankings = snapshot(run);
    if (!rankings) {
      PyErr_Format(PyExc_TypeError, "a run is a mapping, not %U", type_name(run).get());
      throw PythonError{};
    }
    PyObject *query, *ranking;
    for (Py_ssize_t at = 0; PyDict_Next(rankings.get(), &at, &query, &ranking);) read_query(query, ranking);
    return totals_;
  }

 private:
  // A dictionary of our own with what a mapping holds, which no code of the caller's can change under our hands;
  // null if it is no mapping.
  Ref snapshot(PyObject* mapping) const {
    if (PyDict_CheckExact(mapping)) return owned(PyDict_Copy(mapping));
    const int is_mapping = PyObject_IsInstance(mapping, state_of(module_).mapping);
    if (is_mapping < 0) throw PythonError{};
    if (is_mapping == 0) return nullptr;
    const Ref entries = owned(PyObject_CallMethod(mapping, "items", nullptr));
    Ref copy = owned(PyDict_New());
    if (PyDict_MergeFromSeq2(copy.get(), entries.get(), 1) != 0) throw PythonError{};
    return copy;
  }

  void read_query(PyObject* query, PyObject* ranking) {
    if (!PyUnicode_Check(query)) {
      const Ref text = shortened(owned(PyObject_Repr(query)));
      raise_row_fault(module_, owned(Py_BuildValue("isO", 0, "query_type", text.get())));
    }
    Ref plain;
    if (!PyDict_CheckExact(ranking) || !read_plain(ranking)) {
      plain = made_plain(query, ranking);
      ranking = plain.get();
      read_plain(ranking);
    }
    totals_.results += static_cast<Py_ssize_t>(ids_.size());
    totals_.add(order_of(scores_, {}));
    PyObject* const self = options_.drop_self ? value_of(ranking, query) : nullptr;
    if (self != nullptr) drop(query);
    PyObject* const index = value_of(gold_index_.get(), query);
    if (index == nullptr) {
      ++totals_.ignored;
    } else {
      count(PyLong_AsSsize_t(index), ranking, self == nullptr ? nullptr : query);
    }
  }

  static PyObject* value_of(PyObject* dict, PyObject* key) {
    PyObject* const value = PyDict_GetItemWithError(dict, key);
    if (value == nullptr && PyErr_Occurred()) throw PythonError{};
    return value;
  }

  // Takes over finite floats and ints under strings, which run no code of the caller's; false if there is more.
  bool read_plain(PyObject* ranking) {
    ids_.clear();
    scores_.clear();
    PyObject *item, *value;
    for (Py_ssize_t at = 0; PyDict_Next(ranking, &at, &item, &value);) {
      if (!PyUnicode_CheckExact(item) || !(PyFloat_Check(value) || PyLong_CheckExact(value))) return false;
      const double score = plain_score(value);
      if (!std::isfinite(score)) return false;
      ids_.push_back(item);
      scores_.push_back(rounded(score, options_.float32));
    }
    return true;
  }

  static double plain_score(PyObject* value) {
    if (PyFloat_Check(value)) return PyFloat_AS_DOUBLE(value);
    const double score = PyLong_AsDouble(value);
    if (score != -1.0 || !PyErr_Occurred()) return score;
    PyErr_Clear();
    return HUGE_VAL;
  }

  // The same results as floats under strings, or the first fault among them.
  Ref made_plain(PyObject* query, PyObject* ranking) const {
    const Ref entries = snapshot(ranking);
    if (!entries) {
      const Ref name = type_name(ranking);
      raise_row_fault(module_, owned(Py_BuildValue("isOO", 0, "mapping_type", query, name.get())));
    }
    Ref plain = owned(PyDict_New());
    PyObject *item, *value;
    for (Py_ssize_t at = 0; PyDict_Next(entries.get(), &at, &item, &value);) {
      if (!PyUnicode_Check(item)) {
        const Ref text = shortened(owned(PyObject_Repr(item)));
        raise_row_fault(module_, owned(Py_BuildValue("isOO", 0, "item_type", query, text.get())));
      }
      const Ref key = owned(PyUnicode_FromObject(item));
      const Ref score = owned(PyFloat_FromDouble(score_of(query, item, value)));
      if (PyDict_SetItem(plain.get(), key.get(), score.get()) != 0) throw PythonError{};
    }
    return plain;
  }

  double score_of(PyObject* query, PyObject* item, PyObject* value) const {
    const bool is_text = PyUnicode_Check(value) || PyBytes_Check(value);
    double score = is_text ? 0.0 : PyFloat_AsDouble(value);
    const bool failed = !is_text && score == -1.0 && PyErr_Occurred();
    if (is_text || (failed && PyErr_ExceptionMatches(PyExc_TypeError))) {
      PyErr_Clear();
      const Ref name = type_name(value);
      raise_row_fault(module_, owned(Py_BuildValue("isOOO", 0, "score_type", query, item, name.get())));
    }
    if (failed) {
      if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw PythonError{};
      PyErr_Clear();
      score = HUGE_VAL;
    }
    if (!std::isfinite(score)) {
      raise_row_fault(module_, owned(Py_BuildValue("isOO", 0, "nonfinite", query, item)));
    }
    return score;
  }

  void drop(PyObject* self) {
    ++totals_.dropped;
    const auto found =
        std::find_if(ids_.begin(), ids_.end(), [&](PyObject* id) { return compare_ids(id, self) == 0; });
    scores_.erase(scores_.begin() + (found - ids_.begin()));
    ids_.erase(found);
  }

  void count(Py_ssize_t query, PyObject* ranking, PyObject* dropped) {
    gold_.set_depth(query, ids_.size());
    const int64_t first = gold_.start(query), last = gold_.start(query + 1);
    Ranking<PyObject*> places(ids_, scores_, last - first);
    for (int64_t row = first; row < last; ++row) {
      PyObject* const item = gold_.item(row);
      PyObject* const value = value_of(ranking, item);
      if (value == nullptr || (dropped != nullptr && compare_ids(item, dropped) == 0)) continue;
      gold_.set_place(row, places.place(item, rounded(plain_score(value), options_.float32)));
    }
  }

  PyObject* const module_;
  Gold& gold_;
  const Options options_;
  const Ref gold_index_;
  std::vector<PyObject*> ids_;
  std::vector<double> scores_;
  Totals totals_;
};

PyObject* mapping_hits(PyObject* module, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"run",       "gold_queries", "gold_starts", "gold_items", "float32",
                                "drop_self", "counts",       "depth",       nullptr};
  PyObject *run, *queries, *starts, *items, *counts, *depth;
  int float32, drop_self;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOppOO:mapping_hits", const_cast<char**>(names), &run, &queries,
                                   &starts, &items, &float32, &drop_self, &counts, &depth)) {
    throw PythonError{};
  }
  Gold gold(queries, starts, items, counts, depth);
  return MappingHits(module, gold, {float32 != 0, drop_self != 0}).read(run).as_tuple();
}

template <PyObject* (*function)(PyObject*, PyObject*, PyObject*)>
PyObject* guarded(PyObject* module, PyObject* args, PyObject* kwargs) noexcept {
  try {
    return function(module, args, kwargs);
  } catch (const PythonError&) {
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

template <PyObject* (*function)(PyObject*, PyObject*, PyObject*)>
PyMethodDef method(const char* name, const char* doc) {
  const auto callable = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&guarded<function>));
  return {name, callable, METH_VARARGS | METH_KEYWORDS, doc};
}

PyMethodDef methods[] = {
    method<trec_columns>("trec_columns", "The queries, items and numbers of TREC text; see fallback.trec_columns."),
    method<trec_hits>("trec_hits", "Where each judged item landed in a TREC run; see fallback.trec_hits."),
    method<mapping_hits>("mapping_hits", "Where each judged item landed in a dict; see fallback.mapping_hits."),
    {nullptr, nullptr, 0, nullptr},
};

PyObject* imported(const char* module, const char* name) {
  const Ref source(PyImport_ImportModule(module));
  return source ? PyObject_GetAttrString(source.get(), name) : nullptr;
}

bool seed_hashes() {
  const Ref urandom(imported("os", "urandom"));
  const Ref seed(urandom ? PyObject_CallFunction(urandom.get(), "i", 16) : nullptr);
  if (!seed || PyBytes_Size(seed.get()) != 16) return false;
  hash_mask = load<uint64_t>(PyBytes_AS_STRING(seed.get()));
  hash_factor = load<uint64_t>(PyBytes_AS_STRING(seed.get()) + 8) | 1;
  return true;
}

int execute(PyObject* module) {
  if (!seed_hashes()) return -1;
  ModuleState& state = state_of(module);
  state.row_fault = imported("goldrank.native.faults", "RowFault");
  state.mapping = imported("collections.abc", "Mapping");
  return state.row_fault != nullptr && state.mapping != nullptr ? 0 : -1;
}

int traverse(PyObject* module, visitproc visit, void* arg) {
  Py_VISIT(state_of(module).row_fault);
  Py_VISIT(state_of(module).mapping);
  return 0;
}

int clear(PyObject* module) {
  Py_CLEAR(state_of(module).row_fault);
  Py_CLEAR(state_of(module).mapping);
  return 0;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_native",
    "The compiled readers of goldrank; fallback.py is the same in Python.",
    sizeof(ModuleState),
    methods,
    slots,
    traverse,
    clear,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&definition); }
