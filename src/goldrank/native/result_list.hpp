// One query's result list: how many results stand above and tie with a judged item, and whether the order of the list
// contradicts the scores.

#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "python_api.hpp"

namespace goldrank {

// Both compare ids by code point, because UTF-8 preserves that order.
inline int compare_ids(string_view a, string_view b) { return a.compare(b); }
inline int compare_ids(PyObject* a, PyObject* b) { return PyUnicode_Compare(a, b); }

// How many results score more than a judged item and how many others tie with it; of the latter, how many have a
// greater id and how many come earlier in the list.
struct HitCounts {
  int64_t above = 0, tied = 0, tied_docid = 0, tied_input = 0;
};

// Answers where a result stands. A list in the order of its scores is searched as it is; any other is scanned for each
// of a few judged items, and sorted for many.
template <class Id>
class ResultList {
 public:
  ResultList(const std::vector<Id>& ids, const std::vector<double>& scores, int64_t judged)
      : ids_(ids),
        scores_(scores),
        has_many_judged_(judged > kFew),
        is_sorted_(std::is_sorted(scores.begin(), scores.end(), std::greater<>{})) {
    if (is_sorted_ || !has_many_judged_) return;
    order_ = all_rows();
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
    sorted_.reserve(scores.size());
    for (const uint32_t row : order_) sorted_.push_back(scores[row]);
  }

  // The counts of the result with this id and score.
  HitCounts count(Id id, double score) {
    return is_sorted_ || has_many_judged_ ? search(id, score) : scan(id, score);
  }

 private:
  static constexpr int64_t kFew = 32;

  std::vector<uint32_t> all_rows() const {
    std::vector<uint32_t> rows(scores_.size());
    std::iota(rows.begin(), rows.end(), 0u);
    return rows;
  }

  HitCounts scan(Id id, double score) const {
    HitCounts counts;
    for (const double other : scores_) {
      counts.above += other > score;
      counts.tied += other == score;
    }
    // The result itself is not one of those that tie with it.
    if (--counts.tied == 0) return counts;
    int64_t earlier = 0;
    for (size_t row = 0; row < scores_.size(); ++row) {
      if (scores_[row] == score) count_tied(counts, row, id, earlier++);
    }
    return counts;
  }

  HitCounts search(Id id, double score) {
    const std::vector<double>& scores = is_sorted_ ? scores_ : sorted_;
    const auto equal = std::equal_range(scores.begin(), scores.end(), score, std::greater<>{});
    const int64_t first = equal.first - scores.begin(), last = equal.second - scores.begin();
    HitCounts counts;
    counts.above = first;
    counts.tied = last - first - 1;
    if (counts.tied == 0) return counts;
    if (has_many_judged_ && counts.tied > kFew) {
      search_tied(counts, id, first, last);
    } else {
      for (int64_t at = first; at < last; ++at) count_tied(counts, is_sorted_ ? at : order_[at], id, at - first);
    }
    return counts;
  }

  // Adds a row with the same score; `earlier` such rows come before it.
  void count_tied(HitCounts& counts, size_t row, Id id, int64_t earlier) const {
    const int order = compare_ids(ids_[row], id);
    counts.tied_docid += order > 0;
    if (order == 0) counts.tied_input = earlier;
  }

  // For many judged items among many equal scores, which would take quadratic time one by one.
  void search_tied(HitCounts& counts, Id id, int64_t first, int64_t last) {
    if (by_id_.empty()) {
      by_id_ = all_rows();
      std::sort(by_id_.begin(), by_id_.end(), [&](uint32_t a, uint32_t b) {
        return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : compare_ids(ids_[a], ids_[b]) > 0;
      });
    }
    const auto match = std::lower_bound(by_id_.begin() + first, by_id_.begin() + last, id,
                                        [&](uint32_t row, Id sought) { return compare_ids(ids_[row], sought) > 0; });
    counts.tied_docid = match - by_id_.begin() - first;
    counts.tied_input = is_sorted_ ? *match - first
                                   : std::lower_bound(order_.begin() + first, order_.begin() + last, *match) -
                                         order_.begin() - first;
  }

  const std::vector<Id>& ids_;
  const std::vector<double>& scores_;
  const bool has_many_judged_, is_sorted_;
  // The rows by score, and by score and id; their scores in that order.
  std::vector<uint32_t> order_, by_id_;
  std::vector<double> sorted_;
};

// What the order of one list says about its scores; fallback/hit_counting.py documents the fields at `order_of`.
struct ListedOrder {
  uint32_t rising = 0;
  bool varied = false, contradicts = false, by_rank = false, rank_like = false;
};

// The order is judged by the first results only: parsing the ranks of all would add a tenth to the time of reading.
constexpr size_t kOrderDepth = 20;

inline bool are_usable_ranks(const std::vector<double>& ranks) {
  bool differ = false;
  for (const double rank : ranks) {
    if (std::isnan(rank)) return false;
    differ |= rank != ranks.front();
  }
  return differ;
}

inline ListedOrder order_of(const std::vector<double>& scores, const std::vector<double>& ranks) {
  ListedOrder order;
  const size_t count = std::min(scores.size(), kOrderDepth);
  const double* const last = scores.data() + count;
  if (std::is_sorted(scores.data(), last, std::greater<>{}) && std::is_sorted(ranks.begin(), ranks.end())) {
    // The usual case: best first, both by rank and by position.
    order.varied = count > 0 && scores.front() != last[-1];
    return order;
  }
  const bool by_rank = are_usable_ranks(ranks);
  uint32_t rising = 0, falling = 0;
  for (size_t row = 1; row < count; ++row) {
    const int direction = by_rank ? (ranks[row] > ranks[row - 1]) - (ranks[row] < ranks[row - 1]) : 1;
    const int step = (scores[row] > scores[row - 1]) - (scores[row] < scores[row - 1]);
    order.varied |= step != 0;
    rising += direction * step > 0;
    falling += direction * step < 0;
  }
  order.contradicts = by_rank ? rising > falling : rising > 0 && falling == 0;
  if (!order.contradicts) return order;
  order.rising = rising;
  order.by_rank = by_rank;
  order.rank_like = scores[0] == 0 || scores[0] == 1;
  for (size_t row = 1; row < count && order.rank_like; ++row) {
    order.rank_like = scores[row] == scores[0] + static_cast<double>(row);
  }
  return order;
}

}  // namespace goldrank
