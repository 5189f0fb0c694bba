// The module _trec_parser: parses TREC qrels and runs into columns grouped by query. fallback/trec_parser.py does the
// same in Python and documents the arguments and results.

#include <optional>

#include "grouped_rows.hpp"
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
      double value;
      if (!parse_plain_decimal(row.value, value)) {
        const NumberKind kind = parse_number(row.value, value, gil);
        if (kind != NumberKind::finite) {
          fault_ = number_fault(kind, row.value, data_.data());
          break;
        }
      }
      const bool is_new = !equal(row.query, query);
      if ((is_new && !is_utf8(row.query)) || !is_utf8(row.item)) {
        fault_ = LineFault{row.query.data(), FaultKind::encoding};
        break;
      }
      if (is_new) {
        rows_.open_query(row.query);
        query = row.query;
      }
      rows_.items.push_back(row.item);
      rows_.values.push_back(value);
      if (shape_.has_rank()) rows_.ranks.push_back(parse_rank(row.rank, data_.data(), gil));
    }
    if (reader.fault()) fault_ = reader.fault();
    long_lines_ = reader.long_lines();
    rows_.group();
    rows_.find_repeated([&](size_t number, size_t row) {
      const string_view item = rows_.items[row];
      keep_earlier(fault_, {item.data(), FaultKind::duplicate, item, rows_.queries[number]});
    });
  }

  const std::optional<LineFault>& fault() const { return fault_; }

  PyObject* result() {
    const Reference queries = list_of_strings(rows_.queries), items = list_of_strings(rows_.items);
    const Reference starts = byte_array(rows_.starts), values = byte_array(rows_.values);
    const Reference ranks = byte_array(rows_.ranks);
    return Py_BuildValue("OOOOOn", queries.get(), starts.get(), items.get(), values.get(), ranks.get(), long_lines_);
  }

 private:
  const string_view data_;
  const TableShape shape_;
  GroupedRows rows_;
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
