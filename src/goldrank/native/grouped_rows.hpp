// Rows in the order of a file, and then grouped by query in the order of the first row of each; and their Python objects.

#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "id_tables.hpp"
#include "python_api.hpp"

namespace goldrank {

struct GroupedRows {
  IdNumbers queries;
  std::vector<string_view> items;
  std::vector<double> values, ranks;
  // The first row of each query, and the end of the last; known after `group`.
  std::vector<int64_t> starts;

  // The rows that are added from now on belong to this query.
  void open_query(string_view id) {
    const uint32_t query = queries.number(id);
    if (segments_.empty() || segments_.back().query != query) segments_.push_back({query, items.size()});
  }

  void group() {
    starts.assign(queries.size() + 1, 0);
    for (size_t at = 0; at < segments_.size(); ++at) {
      starts[segments_[at].query + 1] += static_cast<int64_t>(segment_end(at) - segments_[at].first_row);
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    const bool is_grouped = segments_.size() == queries.size();
    if (is_grouped) return;
    items = grouped(items);
    values = grouped(values);
    if (!ranks.empty()) ranks = grouped(ranks);
  }

  // Calls `found(query, item)` with the numbers of each query that lists an item twice and of that row.
  template <class Found>
  void find_repeated(Found found) const {
    ItemTable table;
    std::vector<uint32_t> hashes;
    for (size_t query = 0; query < queries.size(); ++query) {
      const auto first = static_cast<size_t>(starts[query]), count = static_cast<size_t>(starts[query + 1]) - first;
      hashes.resize(count);
      std::transform(items.data() + first, items.data() + first + count, hashes.begin(),
                     [](string_view item) { return hash_of(item); });
      const size_t repeated = table.fill(items.data() + first, hashes.data(), count);
      if (repeated != kNotFound) found(query, first + repeated);
    }
  }

 private:
  // Consecutive rows of one query.
  struct Segment {
    uint32_t query;
    size_t first_row;
  };

  size_t segment_end(size_t segment) const {
    return segment + 1 < segments_.size() ? segments_[segment + 1].first_row : items.size();
  }

  template <class Cell>
  std::vector<Cell> grouped(const std::vector<Cell>& cells) const {
    std::vector<Cell> result(cells.size());
    std::vector<int64_t> next = starts;
    for (size_t at = 0; at < segments_.size(); ++at) {
      const size_t first = segments_[at].first_row, count = segment_end(at) - first;
      std::copy_n(cells.begin() + static_cast<std::ptrdiff_t>(first), count,
                  result.begin() + next[segments_[at].query]);
      next[segments_[at].query] += static_cast<int64_t>(count);
    }
    return result;
  }

  std::vector<Segment> segments_;
};

template <class Texts>
Reference list_of_strings(const Texts& texts) {
  Reference list = owned(PyList_New(static_cast<Py_ssize_t>(texts.size())));
  for (size_t at = 0; at < texts.size(); ++at) {
    const auto size = static_cast<Py_ssize_t>(texts[at].size());
    Reference text = owned(PyUnicode_DecodeUTF8(texts[at].data(), size, nullptr));
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(at), text.release());
  }
  return list;
}

template <class Cell>
Reference byte_array(const std::vector<Cell>& cells) {
  return owned(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(cells.data()),
                                             static_cast<Py_ssize_t>(cells.size() * sizeof(Cell))));
}

}  // namespace goldrank
