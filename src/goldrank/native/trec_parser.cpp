// The module _trec_parser: parses TREC qrels and runs into columns grouped by query. fallback/trec_parser.py does the
// same in Python and documents the arguments and results.

#include <numeric>
#include <vector>

#include "id_tables.hpp"
#include "python_api.hpp"
#include "trec_lines.hpp"

namespace goldrank {
namespace {

class ColumnParser {
 public:
  ColumnParser(string_view data, TableShape shape) : data_(data), shape_(shape) {}

  void parse(ReleasedGil& gil) {
    LineReader<TableShape> reader(data_, shape_, gil);
    string_view query;
    for (Row row; reader.next(row);) {
      const bool is_new = !equal(row.query, query);
      if ((is_new && !is_utf8(row.query)) || !is_utf8(row.item)) {
        fault_ = LineFault{row.query.data(), FaultKind::encoding};
        break;
      }
      if (is_new) {
        segments_.push_back({queries_.number(row.query), items_.size()});
        query = row.query;
      }
      items_.push_back(row.item);
      values_.push_back(row.value);
      if (shape_.has_rank()) ranks_.push_back(parse_rank(row.rank, data_.data(), gil));
    }
    if (reader.fault()) fault_ = reader.fault();
    long_lines_ = reader.long_lines();
    group_by_query();
    find_duplicates();
  }

  const std::optional<LineFault>& fault() const { return fault_; }

  PyObject* result() {
    const Reference queries = strings(queries_), items = strings(items_);
    const Reference starts = byte_array(starts_), values = byte_array(values_), ranks = byte_array(ranks_);
    return Py_BuildValue("OOOOOn", queries.get(), starts.get(), items.get(), values.get(), ranks.get(), long_lines_);
  }

 private:
  // Consecutive lines of one query.
  struct Segment {
    uint32_t query;
    size_t first_row;
  };

  size_t segment_end(size_t segment) const {
    return segment + 1 < segments_.size() ? segments_[segment + 1].first_row : items_.size();
  }

  void group_by_query() {
    starts_.assign(queries_.size() + 1, 0);
    for (size_t at = 0; at < segments_.size(); ++at) {
      starts_[segments_[at].query + 1] += static_cast<int64_t>(segment_end(at) - segments_[at].first_row);
    }
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    const bool is_grouped = segments_.size() == queries_.size();
    if (is_grouped) return;
    items_ = grouped(items_);
    values_ = grouped(values_);
    if (shape_.has_rank()) ranks_ = grouped(ranks_);
  }

  template <class Cell>
  std::vector<Cell> grouped(const std::vector<Cell>& cells) const {
    std::vector<Cell> result(cells.size());
    std::vector<int64_t> next = starts_;
    for (size_t at = 0; at < segments_.size(); ++at) {
      const size_t first = segments_[at].first_row, count = segment_end(at) - first;
      std::copy_n(cells.begin() + static_cast<std::ptrdiff_t>(first), count,
                  result.begin() + next[segments_[at].query]);
      next[segments_[at].query] += static_cast<int64_t>(count);
    }
    return result;
  }

  void find_duplicates() {
    ItemTable table;
    for (size_t query = 0; query < queries_.size(); ++query) {
      const string_view* const items = items_.data() + starts_[query];
      const size_t repeated = table.fill(items, static_cast<size_t>(starts_[query + 1] - starts_[query]));
      if (repeated == kNotFound) continue;
      keep_earlier(fault_, {items[repeated].data(), FaultKind::duplicate, items[repeated], queries_[query]});
    }
  }

  template <class Texts>
  static Reference strings(Texts& texts) {
    Reference list = owned(PyList_New(static_cast<Py_ssize_t>(texts.size())));
    for (size_t at = 0; at < texts.size(); ++at) {
      const auto size = static_cast<Py_ssize_t>(texts[at].size());
      Reference text = owned(PyUnicode_DecodeUTF8(texts[at].data(), size, nullptr));
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(at), text.release());
    }
    return list;
  }

  template <class Cell>
  static Reference byte_array(const std::vector<Cell>& cells) {
    return owned(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(cells.data()),
                                               static_cast<Py_ssize_t>(cells.size() * sizeof(Cell))));
  }

  const string_view data_;
  const TableShape shape_;
  IdNumbers queries_;
  std::vector<Segment> segments_;
  std::vector<string_view> items_;
  std::vector<double> values_, ranks_;
  std::vector<int64_t> starts_;
  Py_ssize_t long_lines_ = 0;
  std::optional<LineFault> fault_;
};

PyObject* parse_trec(PyObject* arguments) {
  PyObject* data;
  TableShape shape;
  parse_arguments(arguments, "Onn:parse_trec", &data, &shape.width, &shape.value_column);
  if (shape.value_column <= 2 || shape.value_column >= shape.width) {
    raise_value_error("value_column must be greater than 2, the column of the item, and less than width");
  }
  const Buffer buffer(data, Buffer::kBytes);
  ColumnParser parser(buffer.bytes(), shape);
  {
    ReleasedGil gil;
    parser.parse(gil);
  }
  if (parser.fault()) raise_line_fault(buffer.bytes(), *parser.fault(), shape.width);
  return parser.result();
}

PyMethodDef methods[] = {
    method<parse_trec>("parse_trec", "See fallback.trec_parser.parse_trec."),
    {},
};

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(seed_hashes)}, {0, nullptr}};

PyModuleDef definition = module_definition("_trec_parser", "Compiled parser of TREC files.", methods, slots);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__trec_parser() { return PyModuleDef_Init(&goldrank::definition); }
