// Rows of a run that wait until the whole file is read, because the lines of their queries do not stand together.

#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "byte_strings.hpp"
#include "python_api.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace goldrank {

// Memory that is freed as a whole, in huge pages where the system has them, because each page fault takes long.
class Arena {
 public:
  // `bytes` must be a multiple of the alignment that is needed.
  void* allocate(size_t bytes) {
    if (left_ < bytes) add_page();
    left_ -= bytes;
    return pages_.back().get() + left_;
  }

 private:
  static constexpr size_t kPageBytes = size_t{1} << 21;
  static constexpr std::align_val_t kAlignment{kPageBytes};

  struct Free {
    void operator()(char* page) const { ::operator delete(page, kAlignment); }
  };

  void add_page() {
    pages_.emplace_back(static_cast<char*>(::operator new(kPageBytes, kAlignment)));
    left_ = kPageBytes;
#if defined(MADV_HUGEPAGE)
    madvise(pages_.back().get(), kPageBytes, MADV_HUGEPAGE);
#endif
  }

  std::vector<std::unique_ptr<char, Free>> pages_;
  size_t left_ = 0;
};

// Rows that wait until the whole file is read, in lists by query. The hash of an item spares a second look at its text.
class WaitingRows {
 public:
  explicit WaitingRows(string_view data) : data_(data) {}

  // Fetches what `add` will write to into the cache.
  void prefetch(uint32_t query) {
    if (query < lists_.size()) goldrank::prefetch(lists_[query].next);
  }

  void add(uint32_t query, string_view item, uint32_t hash, double score) {
    if (query >= lists_.size()) lists_.resize(size_t{query} + 1);
    List& list = lists_[query];
    const auto position = static_cast<uint64_t>(item.data() - data_.data());
    uint64_t step = position - list.position;
    if (step > kLongestStep) {
      append(list, {static_cast<double>(position), 0, 0});
      step = 0;
    }
    list.position = position;
    append(list, {score, hash, static_cast<uint32_t>(step << kSizeBits | std::min<uint64_t>(item.size(), kLongItem))});
  }

  size_t query_count() const { return lists_.size(); }
  bool has_rows(size_t query) const { return lists_[query].first != nullptr; }

  // Calls `visit` with the item, the hash and the score of each row of a query in the order of the file.
  template <class Visit>
  void for_each_row(size_t query, Visit visit) const {
    uint64_t position = 0;
    size_t capacity = kSmallest;
    for (const Block* block = lists_[query].first; block != nullptr; block = block->next) {
      if (block->next != nullptr && block->next->next != nullptr) block->next->next->prefetch();
      const Row* const last = block->next == nullptr ? lists_[query].next : block->rows() + capacity;
      for (const Row* row = block->rows(); row != last; ++row) {
        const uint64_t size = row->place & kLongItem;
        if (size == 0) {
          position = static_cast<uint64_t>(row->score);
          continue;
        }
        position += row->place >> kSizeBits;
        const char* const begin = data_.data() + position;
        visit(between(begin, size == kLongItem ? token_end(begin) : begin + size), row->hash, row->score);
      }
      capacity = next_capacity(capacity);
    }
  }

  string_view rank(string_view item) const {
    const char* begin = item.data() + item.size();
    while (is_space(*begin)) ++begin;
    return between(begin, token_end(begin));
  }

 private:
  // The place is the distance of the item from that of the row before it in the list, and the size of the item. A row
  // of size 0 comes before a row that is too far away; its score is the position of that row.
  static constexpr int kSizeBits = 6;
  static constexpr uint32_t kLongItem = (1 << kSizeBits) - 1;
  static constexpr uint64_t kLongestStep = (uint64_t{1} << (32 - kSizeBits)) - 1;
  struct Row {
    double score;
    uint32_t hash, place;
  };

  // The rows of a block stand behind it. Each block of a list has space for twice as many as the one before.
  static constexpr size_t kSmallest = 4, kLargest = 64;
  static size_t next_capacity(size_t capacity) { return std::min(2 * capacity, kLargest); }
  struct alignas(Row) Block {
    Block* next;

    Row* rows() { return reinterpret_cast<Row*>(this + 1); }
    const Row* rows() const { return reinterpret_cast<const Row*>(this + 1); }
    void prefetch() const {
      constexpr size_t rows_per_cache_line = 64 / sizeof(Row);
      for (size_t row = 0; row < kLargest; row += rows_per_cache_line) goldrank::prefetch(rows() + row);
    }
  };

  struct List {
    Block *first = nullptr, *last = nullptr;
    Row *next = nullptr, *end = nullptr;
    uint64_t position = 0;
  };

  void append(List& list, const Row& row) {
    if (list.next == list.end) grow(list);
    *list.next++ = row;
  }

  void grow(List& list) {
    const size_t capacity =
        list.first == nullptr ? kSmallest : next_capacity(static_cast<size_t>(list.end - list.last->rows()));
    auto* const block = new (arena_.allocate(sizeof(Block) + capacity * sizeof(Row))) Block{nullptr};
    (list.first == nullptr ? list.first : list.last->next) = block;
    list.last = block;
    list.next = block->rows();
    list.end = list.next + capacity;
  }

  const char* token_end(const char* at) const {
    return std::find_if(at, data_.data() + data_.size(), is_space);
  }

  const string_view data_;
  Arena arena_;
  std::vector<List> lists_;
};

}  // namespace goldrank
