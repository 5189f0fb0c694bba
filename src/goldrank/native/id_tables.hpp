// Hash tables of ids: numbers for the query ids of a file, and the rows of one query by item id.

#pragma once

#include <deque>
#include <vector>

#include "byte_strings.hpp"
#include "python_api.hpp"

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

inline uint32_t hash_of(string_view text) {
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
  uint32_t number(string_view id) {
    size_t slot = hash_of(id) & (slots_.size() - 1);
    for (; slots_[slot] != kEmpty; slot = (slot + 1) & (slots_.size() - 1)) {
      if (equal(ids_[slots_[slot]], id)) return slots_[slot];
    }
    const auto next = static_cast<uint32_t>(ids_.size());
    ids_.push_back(id);
    slots_[slot] = next;
    if (2 * ids_.size() > slots_.size()) grow();
    return next;
  }

  size_t size() const { return ids_.size(); }
  string_view& operator[](size_t number) { return ids_[number]; }

 private:
  static constexpr uint32_t kEmpty = static_cast<uint32_t>(-1);

  void grow() {
    const size_t slots = 2 * slots_.size();
    // Free the old slots before the new ones are allocated.
    slots_ = {};
    slots_.assign(slots, kEmpty);
    for (size_t number = 0; number < ids_.size(); ++number) {
      size_t slot = hash_of(ids_[number]) & (slots - 1);
      while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots - 1);
      slots_[slot] = static_cast<uint32_t>(number);
    }
  }

  // Not a vector: doubling one of millions of ids would determine the peak memory of the whole reader.
  std::deque<string_view> ids_;
  std::vector<uint32_t> slots_ = std::vector<uint32_t>(16, kEmpty);
};

// The rows of one query by item id. Each slot holds the number of the `fill` call that wrote it, so that the table can
// be refilled for the next query without clearing it.
class ItemTable {
 public:
  // Returns the first row whose item appeared before, or kNotFound; rows after such a row are not in the table.
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
    return kNotFound;
  }

  size_t find(string_view item) {
    const Slot& slot = slot_of(item, hash_of(item));
    return slot.filling == filling_ ? slot.row : kNotFound;
  }

 private:
  struct Slot {
    uint32_t filling = 0, hash = 0, row = 0;
  };

  static size_t slots_for(size_t entries) {
    size_t slots = 16;
    while (slots < 2 * entries) slots *= 2;
    return slots;
  }

  Slot& slot_of(string_view item, uint32_t hash) {
    size_t at = hash & mask_;
    while (slots_[at].filling == filling_ && !(slots_[at].hash == hash && equal(items_[slots_[at].row], item))) {
      at = (at + 1) & mask_;
    }
    return slots_[at];
  }

  const string_view* items_ = nullptr;
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  uint32_t filling_ = 0;
};

}  // namespace goldrank
