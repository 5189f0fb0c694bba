// The module _posting_lists: the items with the highest sums of weights over the words of each query.
// fallback/posting_lists.py does the same in numpy and documents the arguments and results.

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "python_api.hpp"

namespace goldrank {
namespace {

struct Candidate {
  double score;
  int64_t order;
  int64_t item;

  bool operator<(const Candidate& other) const {
    return score > other.score || (score == other.score && order > other.order);
  }
};

// The lists of all words: the items of each word in ascending order, with their weights.
struct Lists {
  const int64_t* starts;
  const int32_t* items;
  const double* weights;
  Py_ssize_t words, postings;
  const int64_t* order;
  size_t item_count;
};

class Search {
 public:
  Search(const Lists& lists, size_t depth) : lists_(lists), depth_(depth), most_(2 * depth + kSpare) {}

  // Ranks the items that share one of the words, best first. Returns false if a word or an item is outside the lists.
  bool rank(const int64_t* words, const int64_t* words_end, double base) {
    best_.clear();
    bar_ = -std::numeric_limits<double>::infinity();
    if (!open(words, words_end)) return false;
    for (size_t first = 0; first < lists_.item_count; first += kBlock) {
      const size_t count = std::min(kBlock, lists_.item_count - first);
      for (Cursor& cursor : cursors_) add(cursor, static_cast<uint32_t>(first), static_cast<uint32_t>(count));
      select(first, count, base);
    }
    keep_best();
    std::sort(best_.begin(), best_.end());
    return std::all_of(cursors_.begin(), cursors_.end(), [](const Cursor& cursor) { return cursor.at == cursor.end; });
  }

  const std::vector<Candidate>& best() const { return best_; }

 private:
  // What remains of the list of a word.
  struct Cursor {
    int64_t at, end;
  };

  // The sums of a block of items stay in the nearest caches.
  static constexpr size_t kBlock = 8192;
  static constexpr size_t kChunk = 8;
  static constexpr size_t kSpare = 1024;
  // The sum of an item without words. No other sum is -0.0, because no weight is; -0.0 + weight is the weight.
  static constexpr double kUntouched = -0.0;

  static bool is_untouched(double sum) { return sum == 0.0 && std::signbit(sum); }

  bool open(const int64_t* words, const int64_t* words_end) {
    cursors_.clear();
    for (; words != words_end; ++words) {
      if (*words < 0 || *words >= lists_.words) return false;
      const int64_t start = lists_.starts[*words], end = lists_.starts[*words + 1];
      if (start < 0 || start > end || end > lists_.postings) return false;
      cursors_.push_back({start, end});
    }
    return true;
  }

  // Adds the weights of the items of the block that begins at *first*; an item that is in no block stops the cursor.
  void add(Cursor& cursor, uint32_t first, uint32_t count) {
    const int32_t* const items = lists_.items;
    const double* const weights = lists_.weights;
    int64_t at = cursor.at;
    for (const int64_t end = cursor.end; at != end; ++at) {
      const uint32_t place = static_cast<uint32_t>(items[at]) - first;
      if (place >= count) break;
      sums_[place] += weights[at];
    }
    cursor.at = at;
  }

  // Collects the items of a block that may be among the best, and clears their sums.
  void select(size_t first, size_t count, double base) {
    for (size_t chunk = 0; chunk < count; chunk += kChunk) {
      if (!any_reaches(&sums_[chunk], base, bar_)) continue;
      for (size_t place = chunk; place < std::min(chunk + kChunk, count); ++place) {
        const double score = sums_[place] + base;
        if (!(score >= bar_) || is_untouched(sums_[place])) continue;
        best_.push_back({score, lists_.order[first + place], static_cast<int64_t>(first + place)});
        if (best_.size() < most_) continue;
        keep_best();
        bar_ = best_[depth_ - 1].score;
      }
    }
    sums_.fill(kUntouched);
  }

  // Most chunks have no item among the best, and this is compiled to few vector instructions.
  static bool any_reaches(const double* sums, double base, double bar) {
    int64_t any = 0;
    for (size_t place = 0; place < kChunk; ++place) any |= int64_t(sums[place] + base >= bar);
    return any != 0;
  }

  void keep_best() {
    if (best_.size() <= depth_) return;
    std::nth_element(best_.begin(), best_.begin() + static_cast<std::ptrdiff_t>(depth_ - 1), best_.end());
    best_.resize(depth_);
  }

  const Lists& lists_;
  const size_t depth_, most_;
  std::vector<Cursor> cursors_;
  std::array<double, kBlock> sums_ = untouched();
  std::vector<Candidate> best_;
  double bar_ = 0.0;

  static std::array<double, kBlock> untouched() {
    std::array<double, kBlock> sums;
    sums.fill(kUntouched);
    return sums;
  }
};

PyObject* search_postings(PyObject* arguments) {
  PyObject *starts, *items, *weights, *order, *words, *bounds, *bases, *positions, *scores, *counts;
  parse_arguments(arguments, "OOOOOOOOOO:search_postings", &starts, &items, &weights, &order, &words, &bounds, &bases,
                  &positions, &scores, &counts);
  const Buffer starts_buffer(starts), items_buffer(items), weights_buffer(weights), order_buffer(order);
  const Buffer words_buffer(words), bounds_buffer(bounds), bases_buffer(bases);
  const Buffer positions_buffer(positions, Buffer::kWritableArray), scores_buffer(scores, Buffer::kWritableArray);
  const Buffer counts_buffer(counts, Buffer::kWritableArray);
  const Lists lists = {starts_buffer.contiguous<const int64_t>(1), items_buffer.contiguous<const int32_t>(1),
                       weights_buffer.contiguous<const double>(1), starts_buffer.length(0) - 1,
                       items_buffer.length(0), order_buffer.contiguous<const int64_t>(1),
                       static_cast<size_t>(order_buffer.length(0))};
  const auto* const query_words = words_buffer.contiguous<const int64_t>(1);
  const auto* const query_bounds = bounds_buffer.contiguous<const int64_t>(1);
  const auto* const query_bases = bases_buffer.contiguous<const double>(1);
  auto* const best_positions = positions_buffer.contiguous<int64_t>(2);
  auto* const best_scores = scores_buffer.contiguous<double>(2);
  auto* const best_counts = counts_buffer.contiguous<int64_t>(1);
  const Py_ssize_t queries = bases_buffer.length(0), depth = positions_buffer.length(1);
  if (lists.words < 0 || weights_buffer.length(0) != lists.postings) {
    raise_value_error("there must be one weight for each posting");
  }
  if (bounds_buffer.length(0) != queries + 1 || counts_buffer.length(0) != queries ||
      positions_buffer.length(0) != queries || scores_buffer.length(0) != queries ||
      scores_buffer.length(1) != depth || depth < 1) {
    raise_value_error("there must be one row of results for each query");
  }
  bool is_inside = true;
  {
    const ReleasedGil gil;
    const auto search = std::make_unique<Search>(lists, static_cast<size_t>(depth));
    for (Py_ssize_t query = 0; query < queries; ++query) {
      const int64_t first = query_bounds[query], last = query_bounds[query + 1];
      is_inside = first >= 0 && first <= last && last <= words_buffer.length(0) &&
                  search->rank(query_words + first, query_words + last, query_bases[query]);
      if (!is_inside) break;
      const std::vector<Candidate>& best = search->best();
      best_counts[query] = static_cast<int64_t>(best.size());
      for (size_t rank = 0; rank < best.size(); ++rank) {
        best_positions[query * depth + static_cast<Py_ssize_t>(rank)] = best[rank].item;
        best_scores[query * depth + static_cast<Py_ssize_t>(rank)] = best[rank].score;
      }
    }
  }
  if (!is_inside) raise_value_error("a word or an item is outside the lists");
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    method<search_postings>("search_postings", "See fallback.posting_lists.search_postings."),
    {},
};

PyModuleDef definition = module_definition("_posting_lists", "Compiled search of posting lists.", methods);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__posting_lists() { return PyModuleDef_Init(&goldrank::definition); }
