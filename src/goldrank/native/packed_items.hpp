// The item ids of a run as one block of UTF-8 text with the offset of each, as Arrow holds strings.

#pragma once

#include <algorithm>

#include "byte_strings.hpp"
#include "python_api.hpp"

namespace goldrank {

class PackedItems {
 public:
  // The items of query q are those from starts[q] to starts[q + 1].
  PackedItems(PyObject* starts, PyObject* offsets, PyObject* text, Py_ssize_t queries)
      : starts_buffer_(starts),
        offsets_buffer_(offsets),
        text_buffer_(text, Buffer::kBytes),
        starts_(starts_buffer_.contiguous<const int64_t>(1)),
        offsets_(offsets_buffer_.contiguous<const int64_t>(1)) {
    const auto bytes = static_cast<int64_t>(text_buffer_.bytes().size());
    if (starts_buffer_.length(0) != queries + 1 || offsets_buffer_.length(0) < 1 || starts_[0] != 0 ||
        starts_[queries] != count() || !std::is_sorted(starts_, starts_ + queries + 1) || offsets_[0] < 0 ||
        offsets_[count()] > bytes || !std::is_sorted(offsets_, offsets_ + count() + 1)) {
      raise_value_error("the columns of the run differ in length");
    }
  }

  int64_t count() const { return offsets_buffer_.length(0) - 1; }
  int64_t start(Py_ssize_t query) const { return starts_[query]; }
  string_view operator[](int64_t row) const {
    const char* const text = text_buffer_.bytes().data();
    return between(text + offsets_[row], text + offsets_[row + 1]);
  }

 private:
  const Buffer starts_buffer_, offsets_buffer_, text_buffer_;
  const int64_t* const starts_;
  const int64_t* const offsets_;
};

}  // namespace goldrank
