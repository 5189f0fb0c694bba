// Hash tables of ids: numbers for the query ids of a file, and the rows of one query by item id.

#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "byte_strings.hpp"
#include "python_api.hpp"
#include "vector_registers.hpp"

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace goldrank {

constexpr size_t kNotFound = static_cast<size_t>(-1);

// The upper half of the product of two words, xor the lower half.
inline uint64_t folded_product(uint64_t a, uint64_t b) {
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

// Random in every process, so that nobody can write a file whose ids all collide. No result depends on them.
inline uint64_t hash_mask = 0x9E3779B97F4A7C15u, hash_factor = 0xD6E8FEB86659FD93u;

// The initialisation of every module that uses these tables: draws the seed of the hash.
inline int seed_hashes(PyObject*) {
  try {
    const Reference urandom = import_attribute("os", "urandom");
    const Reference seed = owned(PyObject_CallFunction(urandom.get(), "i", 16));
    if (PyBytes_Size(seed.get()) != 16) return -1;
    hash_mask = load<uint64_t>(PyBytes_AS_STRING(seed.get()));
    hash_factor = load<uint64_t>(PyBytes_AS_STRING(seed.get()) + 8) | 1;
    return 0;
  } catch (const PythonError&) {
    return -1;
  }
}

GOLDRANK_INLINE uint32_t hash_of(string_view text) {
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

// Numbers ids in order of first appearance.
class IdNumbers {
 public:
  uint32_t number(string_view id) { return number(id, hash_of(id)); }

  uint32_t number(string_view id, uint32_t hash) {
    const Slot wanted = {short_key(id), hash, static_cast<uint32_t>(ids_.size())};
    size_t at = wanted.hash & (slots_.size() - 1);
    for (; slots_[at].number != kEmpty; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.hash != wanted.hash || slot.key != wanted.key) continue;
      if (wanted.key != kLong || equal(ids_[slot.number], id)) return slot.number;
    }
    ids_.push_back(id);
    slots_[at] = wanted;
    // In a small table, most ids should be found at once.
    if ((ids_.size() < kSmall ? 4 : 2) * ids_.size() > slots_.size()) grow();
    return wanted.number;
  }

  // Fetches what `number` will look at into the cache.
  void prefetch(uint32_t hash) const { goldrank::prefetch(&slots_[hash & (slots_.size() - 1)]); }

  size_t size() const { return ids_.size(); }
  string_view operator[](size_t number) const { return ids_[number]; }

 private:
  static constexpr uint32_t kEmpty = static_cast<uint32_t>(-1);
  static constexpr uint64_t kLong = static_cast<uint64_t>(-1);
  static constexpr size_t kSmall = size_t{1} << 16;

  // A short id is compared without a look at its text, which is somewhere in the file and rarely in the cache.
  struct Slot {
    uint64_t key = 0;
    uint32_t hash = 0, number = kEmpty;
  };

  // The bytes and the length of an id of up to seven bytes, or kLong.
  static uint64_t short_key(string_view id) {
    const size_t size = id.size();
    if (size > 7) return kLong;
    uint64_t key = 0;
    if (size >= 4) {
      // Two words that may overlap in equal bytes.
      const uint64_t first = load<uint32_t>(id.data()), last = load<uint32_t>(id.data() + size - 4);
      const size_t bits = 8 * (size - 4);
#if defined(GOLDRANK_LITTLE_ENDIAN)
      key = first | last << bits;
#else
      key = first << bits | last;
#endif
    } else {
      for (const char byte : id) key = key << 8 | static_cast<unsigned char>(byte);
    }
    return uint64_t{size} << 56 | key;
  }

  void grow() {
    std::vector<Slot> slots(2 * slots_.size());
    for (const Slot& slot : slots_) {
      if (slot.number == kEmpty) continue;
      size_t at = slot.hash & (slots.size() - 1);
      while (slots[at].number != kEmpty) at = (at + 1) & (slots.size() - 1);
      slots[at] = slot;
    }
    slots_ = std::move(slots);
  }

  // Not a vector: doubling one of millions of ids would determine the peak memory of the whole reader.
  std::deque<string_view> ids_;
  std::vector<Slot> slots_ = std::vector<Slot>(16);
};

// The rows of one query by item id. Ids are compared only if their hashes are equal.
class ItemTable {
 public:
  // Returns the first row whose item appeared before, or kNotFound; rows after such a row are not in the table.
  size_t fill(const string_view* items, const uint32_t* hashes, size_t count) {
    items_ = items;
    hashes_ = hashes;
    mask_ = slots_for(count) - 1;
    slots_.assign(mask_ + 1, 0);
    for (size_t row = 0; row < count; ++row) {
      uint32_t& slot = slot_of(items[row], hashes[row]);
      if (slot != 0) return row;
      slot = static_cast<uint32_t>(row + 1);
    }
    return kNotFound;
  }

  size_t find(string_view item) { return size_t{slot_of(item, hash_of(item))} - 1; }

 private:
  // As many slots as fit into the first cache of most processors.
  static constexpr size_t kSmall = 8192;

  // Four times as many slots as entries, eight times in a small table, because most should be found at once.
  static size_t slots_for(size_t entries) {
    size_t slots = 16;
    while (slots < 4 * entries || slots < std::min(8 * entries, kSmall)) slots *= 2;
    return slots;
  }

  // The slot that holds the number of the item's row, counted from 1, or 0 if the item is not in the table.
  uint32_t& slot_of(string_view item, uint32_t hash) {
    size_t at = hash & mask_;
    while (slots_[at] != 0 && !(hashes_[slots_[at] - 1] == hash && equal(items_[slots_[at] - 1], item))) {
      at = (at + 1) & mask_;
    }
    return slots_[at];
  }

  const string_view* items_ = nullptr;
  const uint32_t* hashes_ = nullptr;
  std::vector<uint32_t> slots_;
  size_t mask_ = 0;
};

}  // namespace goldrank
