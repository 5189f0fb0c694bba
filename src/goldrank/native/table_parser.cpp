// The module _table_parser: packs runs in CSV, TSV and JSON without Python objects for their rows. Whatever is unusual
// is left to the readers in Python, which also report every fault. fallback/table_parser.py documents the functions.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "byte_strings.hpp"
#include "grouped_rows.hpp"
#include "number_parser.hpp"
#include "packed_items.hpp"
#include "python_api.hpp"

namespace goldrank {
namespace {

// Thrown for text that the readers in Python have to read.
struct Unusual {};

void expect(bool condition) {
  if (!condition) throw Unusual{};
}

// Reads numbers, also near the beginning of the data, where the parser must not look back.
class NumberReader {
 public:
  NumberReader(string_view data, ReleasedGil& gil) : data_(data), gil_(gil) {}

  double read(string_view token) {
    expect(!token.empty());
    double value;
    if (token.data() + token.size() - data_.data() < PlainDecimal::kBytes) {
      const std::string padded = std::string(8, ' ').append(token);
      expect(parse_number(string_view(padded).substr(8), value, gil_) == NumberKind::finite);
      return value;
    }
    if (!parse_plain_decimal(token, value)) expect(parse_number(token, value, gil_) == NumberKind::finite);
    return value;
  }

 private:
  const string_view data_;
  ReleasedGil& gil_;
};

// The rows of a file, whose items become one text.
class PackedRows {
 public:
  explicit PackedRows(size_t bytes) {
    // More rows than most files of this size have: growing would copy them, and memory that is not written costs nothing.
    rows_.items.reserve(bytes / 16);
    rows_.values.reserve(bytes / 16);
  }

  void open_query(string_view id) { rows_.open_query(id); }

  size_t query_count() const { return rows_.queries.size(); }

  void add(string_view item, double value) {
    rows_.items.push_back(item);
    rows_.values.push_back(value);
  }
  void add_rank(double rank) { rows_.ranks.push_back(rank); }

  // Groups the rows, and throws for an item that a query lists twice.
  void finish() {
    rows_.group();
    rows_.find_repeated([](size_t, size_t) { throw Unusual{}; });
  }

  PyObject* result() const {
    size_t bytes = 0;
    for (const string_view item : rows_.items) bytes += item.size();
    const Reference text = owned(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(bytes)));
    const auto bounds = static_cast<Py_ssize_t>((rows_.items.size() + 1) * sizeof(int64_t));
    const Reference offsets = owned(PyByteArray_FromStringAndSize(nullptr, bounds));
    char* const begin = PyBytes_AS_STRING(text.get());
    char* out = begin;
    auto* offset = reinterpret_cast<int64_t*>(PyByteArray_AS_STRING(offsets.get()));
    for (const string_view item : rows_.items) {
      *offset++ = out - begin;
      out = std::copy(item.begin(), item.end(), out);
    }
    *offset = out - begin;
    const Reference queries = list_of_strings(rows_.queries), starts = byte_array(rows_.starts);
    const Reference values = byte_array(rows_.values), ranks = byte_array(rows_.ranks);
    return Py_BuildValue("OOOOOO", queries.get(), starts.get(), offsets.get(), text.get(), values.get(), ranks.get());
  }

 private:
  GroupedRows rows_;
};

// Reads rows of cells that are separated by a delimiter, with or without quotes.
class DelimitedReader {
 public:
  DelimitedReader(string_view data, char delimiter, bool skip_blanks, Py_ssize_t width)
      : at_(data.data()), end_(at_ + data.size()), delimiter_(delimiter), skip_blanks_(skip_blanks),
        cells_(static_cast<size_t>(width)) {}

  // Moves to the next row that is not blank; returns false at the end of the data.
  bool next() {
    while (at_ != end_ && (*at_ == '\n' || *at_ == '\r')) end_line();
    if (at_ == end_) return false;
    for (size_t column = 0; column < cells_.size(); ++column) {
      if (column > 0) {
        expect(at_ != end_ && *at_ == delimiter_);
        ++at_;
      }
      cells_[column] = read_cell();
    }
    if (at_ != end_) end_line();
    return true;
  }

  string_view operator[](Py_ssize_t column) const { return cells_[static_cast<size_t>(column)]; }

 private:
  void end_line() {
    if (*at_ == '\r') ++at_;
    expect(at_ != end_ && *at_ == '\n');
    ++at_;
  }

  string_view read_cell() {
    if (skip_blanks_) {
      while (at_ != end_ && *at_ == ' ') ++at_;
    }
    const char* const begin = at_;
    if (at_ != end_ && *at_ == '"') {
      do {
        ++at_;
        expect(at_ != end_ && *at_ != '\n' && *at_ != '\r');
      } while (*at_ != '"');
      ++at_;
      expect(at_ == end_ || *at_ == delimiter_ || *at_ == '\n' || *at_ == '\r');
      return between(begin + 1, at_ - 1);
    }
    while (at_ != end_ && *at_ != delimiter_ && *at_ != '\n' && *at_ != '\r') {
      expect(*at_ != '"');
      ++at_;
    }
    return between(begin, at_);
  }

  const char* at_;
  const char* const end_;
  const char delimiter_;
  const bool skip_blanks_;
  std::vector<string_view> cells_;
};

// Refuses an empty id, and one that may be a number which a double has rounded.
string_view checked_id(string_view id) {
  expect(!id.empty());
  const bool is_decimal = id.size() >= 10 && is_digit(id.front()) && id.find('.') != string_view::npos;
  expect(!is_decimal || id.find_first_not_of("0123456789.eE+") != string_view::npos);
  return id;
}

struct TableColumns {
  Py_ssize_t width, query, item, value, rank;
};

void read_delimited(string_view data, DelimitedReader& rows, const TableColumns& columns, PackedRows& packed,
                    ReleasedGil& gil) {
  NumberReader numbers(data, gil);
  string_view query;
  while (rows.next()) {
    if (!equal(rows[columns.query], query)) {
      query = checked_id(rows[columns.query]);
      packed.open_query(query);
    }
    packed.add(checked_id(rows[columns.item]), numbers.read(rows[columns.value]));
    if (columns.rank >= 0) packed.add_rank(numbers.read(rows[columns.rank]));
  }
}

// Reads {"query": {"item": number}} without escapes.
class JsonReader {
 public:
  JsonReader(string_view data, ReleasedGil& gil) : at_(data.data()), end_(at_ + data.size()), numbers_(data, gil) {}

  void read(PackedRows& packed) {
    read_object([&](string_view query) {
      // These keys hold something other than the results of a query.
      expect(query != "search_results" && query != "mteb_model_meta");
      const size_t queries = packed.query_count();
      packed.open_query(query);
      expect(packed.query_count() > queries);
      read_object([&](string_view item) { packed.add(item, read_number()); });
    });
    expect(peek() == '\0');
  }

 private:
  // The next byte that is not white space, or NUL, which no text contains, at the end.
  char peek() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }

  void skip(char wanted) {
    expect(peek() == wanted);
    ++at_;
  }

  template <class ReadValue>
  void read_object(ReadValue read_value) {
    skip('{');
    if (peek() == '}') {
      ++at_;
      return;
    }
    while (true) {
      const string_view key = read_key();
      skip(':');
      read_value(key);
      if (peek() == '}') break;
      skip(',');
    }
    ++at_;
  }

  string_view read_key() {
    skip('"');
    const char* const begin = at_;
    for (; at_ != end_ && *at_ != '"'; ++at_) expect(*at_ != '\\' && static_cast<unsigned char>(*at_) >= ' ');
    expect(at_ != end_ && at_ != begin);
    return between(begin, at_++);
  }

  double read_number() {
    peek();
    const char* const begin = at_;
    const auto digits = [&] {
      const char* const first = at_;
      while (at_ != end_ && is_digit(*at_)) ++at_;
      expect(at_ != first);
      return at_ - first;
    };
    at_ += at_ != end_ && *at_ == '-';
    const char* const first = at_;
    // A number has no leading zeros.
    expect(digits() == 1 || *first != '0');
    bool is_whole = true;
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      digits();
      is_whole = false;
    }
    if (at_ != end_ && (*at_ | 0x20) == 'e') {
      ++at_;
      at_ += at_ != end_ && (*at_ == '-' || *at_ == '+');
      digits();
      is_whole = false;
    }
    expect(at_ - begin < 1000);
    const double value = numbers_.read(between(begin, at_));
    // The whole number -0 is 0.
    return is_whole && value == 0 ? 0.0 : value;
  }

  const char* at_;
  const char* const end_;
  NumberReader numbers_;
};

// Calls `read` without the GIL, and returns the packed rows, or None if there are none or they are unusual.
template <class Read>
PyObject* packed_or_none(string_view data, Read read) {
  PackedRows packed(data.size());
  try {
    ReleasedGil gil;
    read(packed, gil);
    packed.finish();
    expect(packed.query_count() > 0);
  } catch (const Unusual&) {
    Py_RETURN_NONE;
  }
  return packed.result();
}

PyObject* pack_delimited(PyObject* tuple) {
  PyObject* data;
  Py_ssize_t begin;
  int delimiter, skip_blanks;
  TableColumns columns;
  parse_arguments(tuple, "OnCpnnnnn:pack_delimited", &data, &begin, &delimiter, &skip_blanks, &columns.width,
                  &columns.query, &columns.item, &columns.value, &columns.rank);
  const auto is_column = [&](Py_ssize_t column) { return column >= 0 && column < columns.width; };
  const Buffer buffer(data, Buffer::kBytes);
  const string_view text = buffer.bytes();
  if (begin < 0 || static_cast<size_t>(begin) > text.size() || !is_column(columns.query) || !is_column(columns.item) ||
      !is_column(columns.value) || columns.rank >= columns.width || delimiter > 127) {
    raise_value_error("a position is outside the table");
  }
  return packed_or_none(text, [&](PackedRows& packed, ReleasedGil& gil) {
    DelimitedReader rows(text.substr(static_cast<size_t>(begin)), static_cast<char>(delimiter), skip_blanks != 0,
                         columns.width);
    read_delimited(text, rows, columns, packed, gil);
  });
}

PyObject* pack_json(PyObject* data) {
  const Buffer buffer(data, Buffer::kBytes);
  return packed_or_none(buffer.bytes(), [&](PackedRows& packed, ReleasedGil& gil) {
    JsonReader(buffer.bytes(), gil).read(packed);
  });
}

PyObject* has_repeated_items(PyObject* tuple) {
  PyObject *starts, *offsets, *text;
  Py_ssize_t queries;
  parse_arguments(tuple, "nOOO:has_repeated_items", &queries, &starts, &offsets, &text);
  const PackedItems packed(starts, offsets, text, queries);
  ItemTable table;
  std::vector<string_view> items;
  std::vector<uint32_t> hashes;
  for (Py_ssize_t query = 0; query < queries; ++query) {
    packed.hash_query(query, items, hashes);
    if (table.fill(items.data(), hashes.data(), items.size()) != kNotFound) Py_RETURN_TRUE;
  }
  Py_RETURN_FALSE;
}

PyMethodDef methods[] = {
    method<pack_delimited>("pack_delimited", "See fallback.table_parser.pack_delimited."),
    method<pack_json>("pack_json", "See fallback.table_parser.pack_json.", METH_O),
    method<has_repeated_items>("has_repeated_items", "See fallback.table_parser.has_repeated_items."),
    {},
};

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(seed_hashes)}, {0, nullptr}};

PyModuleDef definition = module_definition("_table_parser", "Compiled packing of runs in tables.", methods, slots);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__table_parser() { return PyModuleDef_Init(&goldrank::definition); }
