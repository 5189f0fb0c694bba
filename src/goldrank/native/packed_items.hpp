// The item ids of a run as one block of UTF-8 text with the offset of each, as Arrow holds strings.

#pragma once

#include <algorithm>
#include <vector>

#include "byte_strings.hpp"
#include "id_tables.hpp"
#include "python_api.hpp"

namespace goldrank {

class PackedItems {
 public:
  // The items of query q are those from starts[q] to starts[q + 1]. The offsets have 32 or 64 bits, as in Arrow.
  PackedItems(PyObject* starts, PyObject* offsets, PyObject* text, Py_ssize_t queries)
      : starts_buffer_(starts),
        offsets_buffer_(offsets),
        text_buffer_(text, Buffer::kBytes),
        starts_(starts_buffer_.contiguous<const int64_t>(1)),
        narrow_(offsets_buffer_.holds<const int32_t>() ? offsets_buffer_.contiguous<const int32_t>(1) : nullptr),
        wide_(narrow_ == nullptr ? offsets_buffer_.contiguous<const int64_t>(1) : nullptr) {
    const auto bytes = static_cast<int64_t>(text_buffer_.bytes().size());
    if (starts_buffer_.length(0) != queries + 1 || offsets_buffer_.length(0) < 1 || starts_[0] != 0 ||
        starts_[queries] != count() || !std::is_sorted(starts_, starts_ + queries + 1) || offset(0) < 0 ||
        offset(count()) > bytes || !are_offsets_sorted()) {
      raise_value_error("the columns of the run differ in length");
    }
  }

  int64_t count() const { return offsets_buffer_.length(0) - 1; }
  int64_t start(Py_ssize_t query) const { return starts_[query]; }
  string_view operator[](int64_t row) const {
    const char* const text = text_buffer_.bytes().data();
    return between(text + offset(row), text + offset(row + 1));
  }

  // Replaces the items and the hashes by those of a query.
  void hash_query(Py_ssize_t query, std::vector<string_view>& items, std::vector<uint32_t>& hashes) const {
    const auto count = static_cast<size_t>(start(query + 1) - start(query));
    items.resize(count);
    hashes.resize(count);
    const int64_t first = start(query);
    for (size_t row = 0; row < count; ++row) {
      items[row] = (*this)[first + static_cast<int64_t>(row)];
      hashes[row] = hash_of(items[row]);
    }
  }

 private:
  int64_t offset(int64_t row) const { return narrow_ == nullptr ? wide_[row] : narrow_[row]; }
  bool are_offsets_sorted() const {
    const int64_t last = count() + 1;
    return narrow_ == nullptr ? std::is_sorted(wide_, wide_ + last) : std::is_sorted(narrow_, narrow_ + last);
  }

  const Buffer starts_buffer_, offsets_buffer_, text_buffer_;
  const int64_t* const starts_;
  // One of the two is null.
  const int32_t* const narrow_;
  const int64_t* const wide_;
};

}  // namespace goldrank
