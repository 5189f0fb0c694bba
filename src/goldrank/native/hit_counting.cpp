// The module _hit_counting: counts where each judged item landed in a run, given as TREC text or as a mapping, in one
// pass over the run. fallback/hit_counting.py does the same in Python and documents the arguments and results.

#include <atomic>
#include <deque>
#include <numeric>
#include <thread>
#include <vector>

#include "id_tables.hpp"
#include "number_batch.hpp"
#include "packed_items.hpp"
#include "python_api.hpp"
#include "result_list.hpp"
#include "row_faults.hpp"
#include "trec_lines.hpp"
#include "waiting_rows.hpp"

namespace goldrank {
namespace {

[[noreturn]] void raise_repeated_query() { raise_value_error("a query of the gold is listed twice"); }

// The judged items, and the arrays that receive their counts.
class GoldArrays {
 public:
  GoldArrays(PyObject* queries, PyObject* starts, PyObject* items, PyObject* counts, PyObject* depth)
      : queries_(owned(PySequence_Tuple(queries))),
        items_(owned(PySequence_Tuple(items))),
        starts_buffer_(starts),
        counts_buffer_(counts, Buffer::kWritableArray),
        depth_buffer_(depth, Buffer::kWritableArray),
        starts_(starts_buffer_.contiguous<const int64_t>(1)),
        counts_(counts_buffer_.contiguous<int64_t>(2)),
        depth_(depth_buffer_.contiguous<int64_t>(1)) {
    check_strings(queries_.get());
    check_strings(items_.get());
    if (starts_buffer_.length(0) != query_count() + 1 || counts_buffer_.length(0) != 4 ||
        counts_buffer_.length(1) != item_count() || depth_buffer_.length(0) != query_count()) {
      raise_value_error("the lengths of the arrays differ from those of the gold");
    }
    if (starts_[0] != 0 || starts_[query_count()] != item_count() ||
        !std::is_sorted(starts_, starts_ + query_count() + 1)) {
      raise_value_error("gold_starts must ascend from 0 to the number of items");
    }
    clear();
  }

  void clear() {
    std::fill_n(counts_, item_count(), -1);
    std::fill_n(counts_ + item_count(), 3 * item_count(), 0);
    std::fill_n(depth_, query_count(), 0);
  }

  Py_ssize_t query_count() const { return PyTuple_GET_SIZE(queries_.get()); }
  Py_ssize_t item_count() const { return PyTuple_GET_SIZE(items_.get()); }
  PyObject* query(Py_ssize_t index) const { return PyTuple_GET_ITEM(queries_.get(), index); }
  PyObject* item(Py_ssize_t row) const { return PyTuple_GET_ITEM(items_.get(), row); }
  int64_t start(Py_ssize_t query) const { return starts_[query]; }

  void set_depth(Py_ssize_t query, size_t results) { depth_[query] = static_cast<int64_t>(results); }
  void set_counts(Py_ssize_t row, const HitCounts& counts) {
    const Py_ssize_t rows = item_count();
    counts_[row] = counts.above;
    counts_[rows + row] = counts.tied;
    counts_[2 * rows + row] = counts.tied_docid;
    counts_[3 * rows + row] = counts.tied_input;
  }

 private:
  static void check_strings(PyObject* tuple) {
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(tuple); ++at) {
      if (!PyUnicode_Check(PyTuple_GET_ITEM(tuple, at))) raise(PyExc_TypeError, "the ids of the gold must be strings");
    }
  }

  const Reference queries_, items_;
  const Buffer starts_buffer_, counts_buffer_, depth_buffer_;
  const int64_t* const starts_;
  int64_t* const counts_;
  int64_t* const depth_;
};

// The arguments after the run, which both functions share.
struct Arguments {
  PyObject *run, *queries, *starts, *items, *counts, *depth;
  int float32, drop_self;

  Arguments() = default;
  Arguments(PyObject* arguments, const char* format) {
    parse_arguments(arguments, format, &run, &queries, &starts, &items, &float32, &drop_self, &counts, &depth);
  }
  GoldArrays gold() const { return {queries, starts, items, counts, depth}; }
};

struct Options {
  bool float32, drop_self;

  explicit Options(const Arguments& arguments)
      : float32(arguments.float32 != 0), drop_self(arguments.drop_self != 0) {}

  double rounded(double score) const { return float32 ? static_cast<float>(score) : score; }
};

// The result of both functions, summed over all queries of the run.
struct Totals {
  Py_ssize_t ignored = 0, dropped = 0, results = 0;
  Py_ssize_t varied = 0, contradicting = 0, rising = 0, by_rank = 0, rank_like = 0, long_lines = 0;
  // 1 if there is a byte in TREC text that is NUL or not ASCII.
  Py_ssize_t special_text = 0;

  void add(const ListedOrder& order) {
    varied += order.varied;
    contradicting += order.contradicts;
    rising += order.rising;
    by_rank += order.by_rank;
    rank_like += order.rank_like;
  }

  void add(const Totals& other) {
    ignored += other.ignored;
    dropped += other.dropped;
    results += other.results;
    varied += other.varied;
    contradicting += other.contradicting;
    rising += other.rising;
    by_rank += other.by_rank;
    rank_like += other.rank_like;
    long_lines += other.long_lines;
    special_text |= other.special_text;
  }

  PyObject* as_tuple() const {
    return Py_BuildValue("nnnnnnnnnn", ignored, dropped, results, varied, contradicting, rising, by_rank, rank_like,
                         long_lines, special_text);
  }
};

// The results of one query in the order of the run.
struct Results {
  std::vector<string_view> items;
  std::vector<uint32_t> hashes;
  std::vector<double> scores;
  // The ranks of the first kOrderDepth results.
  std::vector<double> ranks;

  // The score is added on its own.
  void add(string_view item, uint32_t hash) {
    // Built in place from its two parts: to read a copy as a whole would wait for their stores.
    items.emplace_back(item.data(), item.size());
    hashes.push_back(hash);
  }

  void erase(size_t row) {
    const auto at = static_cast<std::ptrdiff_t>(row);
    items.erase(items.begin() + at);
    hashes.erase(hashes.begin() + at);
    scores.erase(scores.begin() + at);
  }

  void clear() {
    items.clear();
    hashes.clear();
    scores.clear();
    ranks.clear();
  }
};

// Counts the hits of a run whose ids are text, one query at a time.
class TextHitCounter {
 public:
  const std::optional<LineFault>& fault() const { return fault_; }

 protected:
  TextHitCounter(GoldArrays& gold, Options options) : gold_(gold), options_(options) {
    for (Py_ssize_t query = 0; query < gold.query_count(); ++query) {
      if (queries_.number(utf8(gold.query(query))) != query) raise_repeated_query();
    }
    gold_items_.reserve(static_cast<size_t>(gold.item_count()));
    for (Py_ssize_t row = 0; row < gold.item_count(); ++row) gold_items_.push_back(utf8(gold.item(row)));
  }

  static string_view utf8(PyObject* text) {
    Py_ssize_t size;
    const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (bytes == nullptr) throw PythonError{};
    return {bytes, static_cast<size_t>(size)};
  }

  // Checks the held rows and counts them. The first `counted` rows were counted before, when their query seemed to be
  // complete; all values are computed anew, but a dropped self-match must not be counted twice.
  void count_rows(size_t query, size_t counted) {
    const std::vector<string_view>& items = rows_.items;
    const size_t repeated = table_.fill(items.data(), rows_.hashes.data(), items.size());
    if (repeated != kNotFound) {
      keep_earlier(fault_, {items[repeated].data(), FaultKind::duplicate, items[repeated], queries_[query]});
      return;
    }
    if (orders_.size() <= query) orders_.resize(queries_.size());
    orders_[query] = order_of(rows_.scores, rows_.ranks);
    if (options_.drop_self) drop(table_.find(queries_[query]), counted);
    const auto index = static_cast<Py_ssize_t>(query);
    if (index >= gold_.query_count()) return;
    gold_.set_depth(index, items.size());
    const int64_t first = gold_.start(index), last = gold_.start(index + 1);
    ResultList<string_view> results(items, rows_.scores, last - first);
    for (int64_t row = first; row < last; ++row) {
      const string_view item = gold_items_[static_cast<size_t>(row)];
      const size_t at = table_.find(item);
      if (at != kNotFound) gold_.set_counts(row, results.count(item, rows_.scores[at]));
    }
  }

  void drop(size_t row, size_t counted) {
    if (row == kNotFound) return;
    totals_.dropped += row >= counted;
    rows_.erase(row);
    table_.fill(rows_.items.data(), rows_.hashes.data(), rows_.items.size());
  }

  Totals sum() {
    totals_.ignored = static_cast<Py_ssize_t>(queries_.size()) - gold_.query_count();
    for (const ListedOrder& order : orders_) totals_.add(order);
    return totals_;
  }

  GoldArrays& gold_;
  const Options options_;
  std::vector<string_view> gold_items_;
  // The queries of the gold come first.
  IdNumbers queries_;
  ItemTable table_;
  Results rows_;
  std::vector<ListedOrder> orders_;
  Totals totals_;
  std::optional<LineFault> fault_;
};

// What the threads share that each count a part of a file. They succeed if every query is in one part only, as one
// segment, and no line has a fault.
class Parts {
 public:
  explicit Parts(Py_ssize_t queries) : claimed_(static_cast<size_t>(queries)) {}

  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  void fail() { failed_.store(true, std::memory_order_relaxed); }
  // Lets a single thread write the counts of a query of the gold.
  bool claim(size_t query) { return query >= claimed_.size() || !claimed_[query].exchange(true); }

 private:
  std::atomic<bool> failed_{false};
  std::vector<std::atomic<bool>> claimed_;
};

// Counts the hits of TREC text. The lines of a query usually stand together: they are held until the query changes,
// then counted and discarded. If a query comes again, its further lines wait until the end; then its first lines are
// read once more, and all of them are counted together.
class TrecHitCounter : public TextHitCounter {
 public:
  TrecHitCounter(string_view data, GoldArrays& gold, Options options, Parts* parts = nullptr)
      : TextHitCounter(gold, options),
        data_(data),
        first_lines_(queries_.size()),
        waiting_(data),
        numbers_(data.data()),
        parts_(parts) {}

  Totals count(ReleasedGil& gil) {
    LineReader<RunShape> reader(data_, {}, gil);
    string_view query;
    for (Row row; !is_scattered() && reader.next(row); ++totals_.results) {
      if (!equal(row.query, query)) {
        close_segment(gil);
        if (fault_) break;
        open_segment(row.query);
        if (parts_ != nullptr && parts_->failed()) break;
        query = row.query;
      }
      add(row, gil);
      if (!numbers_.is_full()) continue;
      parse_scores(gil);
      if (fault_) break;
    }
    close_segment(gil);
    if (parts_ != nullptr && (fault_ || reader.fault())) parts_->fail();
    if (is_scattered()) read_scattered(reader, gil);
    if (reader.fault()) keep_earlier(fault_, *reader.fault());
    is_repeated_ = false;
    count_repeated(gil);
    totals_.long_lines = reader.long_lines();
    totals_.special_text = !reader.is_plain_text();
    return sum();
  }

  // Returns true if a query that is not in the gold is in both parts.
  bool shares_queries(const TrecHitCounter& other) {
    for (auto query = static_cast<size_t>(gold_.query_count()); query < other.queries_.size(); ++query) {
      const size_t queries = queries_.size();
      if (queries_.number(other.queries_[query]) < queries) return true;
    }
    return false;
  }

 private:
  // Returns true if the lines of most queries do not stand together.
  bool is_scattered() const { return repeated_segments_ > 1000 && 4 * repeated_segments_ > totals_.results; }

  // Reads the rest of a file whose lines are in no order. Many lines are read before their queries are looked up, and
  // all are looked up before their rows are added, so that what these steps need arrives in the cache meanwhile.
  void read_scattered(LineReader<RunShape>& reader, ReleasedGil& gil) {
    Row rows[PlainDecimals::kCapacity];
    uint32_t query_hashes[PlainDecimals::kCapacity], queries[PlainDecimals::kCapacity];
    double scores[PlainDecimals::kCapacity];
    size_t count;
    do {
      for (count = 0; !numbers_.is_full() && reader.next(rows[count]); ++count) {
        query_hashes[count] = hash_of(rows[count].query);
        queries_.prefetch(query_hashes[count]);
        numbers_.add(rows[count].value);
      }
      count = numbers_.parse(scores, fault_, gil);
      for (size_t at = 0; at < count; ++at) {
        queries[at] = queries_.number(rows[at].query, query_hashes[at]);
      }
      // In a loop of its own, which does not wait for one list after the other.
      for (size_t at = 0; at < count; ++at) waiting_.prefetch(queries[at]);
      for (size_t at = 0; at < count; ++at) {
        waiting_.add(queries[at], rows[at].item, hash_of(rows[at].item), options_.rounded(scores[at]));
      }
      totals_.results += static_cast<Py_ssize_t>(count);
    } while (count == PlainDecimals::kCapacity);
    first_lines_.resize(queries_.size());
  }

  void add(const Row& row, ReleasedGil& gil) {
    const size_t at = numbers_.size();
    new_items_[at] = {row.item.data(), row.item.size()};
    new_hashes_[at] = hash_of(row.item);
    if (rows_.ranks.size() < kOrderDepth) rows_.ranks.push_back(parse_rank(row.rank, data_.data(), gil));
    numbers_.add(row.value);
  }

  void parse_scores(ReleasedGil& gil) {
    std::vector<double>& scores = rows_.scores;
    const size_t first = scores.size();
    scores.resize(first + numbers_.size());
    const size_t count = numbers_.parse(scores.data() + first, fault_, gil);
    scores.resize(first + count);
    rows_.items.insert(rows_.items.end(), new_items_, new_items_ + count);
    rows_.hashes.insert(rows_.hashes.end(), new_hashes_, new_hashes_ + count);
    for (size_t row = first; row < scores.size(); ++row) scores[row] = options_.rounded(scores[row]);
    if (!is_repeated_) return;
    for (size_t row = 0; row < scores.size(); ++row) {
      waiting_.add(query_, rows_.items[row], rows_.hashes[row], scores[row]);
    }
    rows_.clear();
  }

  void open_segment(string_view query) {
    query_ = queries_.number(query);
    if (query_ == first_lines_.size()) first_lines_.push_back(nullptr);
    is_repeated_ = first_lines_[query_] != nullptr;
    repeated_segments_ += is_repeated_;
    if (!is_repeated_) first_lines_[query_] = query.data();
    if (parts_ != nullptr && (is_repeated_ || !parts_->claim(query_))) parts_->fail();
  }

  void close_segment(ReleasedGil& gil) {
    parse_scores(gil);
    if (!rows_.items.empty()) count_rows(query_, 0);
    rows_.clear();
  }

  void count_repeated(ReleasedGil& gil) {
    for (size_t query = 0; query < waiting_.query_count(); ++query) {
      if (!waiting_.has_rows(query)) continue;
      if (first_lines_[query] != nullptr) read_first_lines(query, gil);
      const size_t counted = rows_.items.size();
      waiting_.for_each_row(query, [&](string_view item, uint32_t hash, double score) {
        rows_.add(item, hash);
        rows_.scores.push_back(score);
        if (rows_.ranks.size() < kOrderDepth) {
          rows_.ranks.push_back(parse_rank(waiting_.rank(item), data_.data(), gil));
        }
      });
      count_rows(query, counted);
      rows_.clear();
    }
  }

  void read_first_lines(size_t query, ReleasedGil& gil) {
    const char* at = first_lines_[query];
    const char* const end = data_.data() + data_.size();
    // Lines after the earliest fault have not been checked.
    while (at != end && !(fault_ && at >= fault_->at)) {
      const Fields fields = split_line(at, end, RunShape::value_column);
      if (fields.count == 0) continue;
      if (!equal(fields.query, queries_[query])) break;
      add({fields.query, fields.item, fields.rank, fields.value}, gil);
      if (numbers_.is_full()) parse_scores(gil);
    }
    parse_scores(gil);
  }

  const string_view data_;
  // For each query where its first line begins, or null.
  std::vector<const char*> first_lines_;
  WaitingRows waiting_;
  uint32_t query_ = 0;
  bool is_repeated_ = false;
  Py_ssize_t repeated_segments_ = 0;
  // The last rows of the segment, whose scores are parsed together.
  NumberBatch numbers_;
  string_view new_items_[PlainDecimals::kCapacity];
  uint32_t new_hashes_[PlainDecimals::kCapacity];
  Parts* const parts_;
};

// Cuts a file into parts of about the same size, each of which begins with the first line of a query.
std::vector<string_view> cut_at_queries(string_view data, Py_ssize_t count) {
  std::vector<string_view> parts;
  const char* const end = data.data() + data.size();
  const char* begin = data.data();
  for (Py_ssize_t part = 1; part < count; ++part) {
    const char* line = data.data() + data.size() / static_cast<size_t>(count) * static_cast<size_t>(part);
    line = std::find(line, end, '\n');
    if (line == end) break;
    const char* at = ++line;
    const string_view query = split_line(at, end, RunShape::value_column).query;
    for (line = at; at != end && equal(query, split_line(at, end, RunShape::value_column).query);) line = at;
    if (line == end || line <= begin) continue;
    parts.push_back(between(begin, line));
    begin = line;
  }
  parts.push_back(between(begin, end));
  return parts;
}

// Counts the parts of a file in one thread each; returns nothing if they cannot be counted apart.
std::optional<Totals> count_parts(string_view data, GoldArrays& gold, Options options, Py_ssize_t threads) {
  const std::vector<string_view> texts = cut_at_queries(data, threads);
  Parts parts(gold.query_count());
  std::deque<TrecHitCounter> counters;
  for (const string_view text : texts) counters.emplace_back(text, gold, options, &parts);
  std::vector<Totals> totals(texts.size());
  ReleasedGil gil;
  const auto count = [&](size_t part) {
    try {
      totals[part] = counters[part].count(gil);
    } catch (const std::exception&) {
      parts.fail();
    }
  };
  std::vector<std::thread> others;
  for (size_t part = 1; part < texts.size(); ++part) others.emplace_back(count, part);
  count(0);
  for (std::thread& other : others) other.join();
  if (parts.failed()) return {};
  for (size_t part = 1; part < texts.size(); ++part) {
    if (counters[0].shares_queries(counters[part])) return {};
    totals[0].add(totals[part]);
  }
  return totals[0];
}

PyObject* count_trec_hits(PyObject* tuple) {
  Arguments arguments;
  Py_ssize_t threads = 1;
  parse_arguments(tuple, "OOOOppOO|n:count_trec_hits", &arguments.run, &arguments.queries, &arguments.starts,
                  &arguments.items, &arguments.float32, &arguments.drop_self, &arguments.counts, &arguments.depth,
                  &threads);
  const Buffer buffer(arguments.run, Buffer::kBytes);
  GoldArrays gold = arguments.gold();
  if (threads > 1) {
    if (const auto totals = count_parts(buffer.bytes(), gold, Options(arguments), threads)) return totals->as_tuple();
    gold.clear();
  }
  TrecHitCounter counter(buffer.bytes(), gold, Options(arguments));
  Totals totals;
  {
    ReleasedGil gil;
    totals = counter.count(gil);
  }
  if (counter.fault()) raise_line_fault(buffer.bytes(), *counter.fault(), RunShape::width);
  return totals.as_tuple();
}

// Counts the hits of a run whose items are one block of text: the results of a query stand together, each item once.
class PackedHitCounter : public TextHitCounter {
 public:
  PackedHitCounter(GoldArrays& gold, Options options) : TextHitCounter(gold, options) {}

  // The scores are those of all queries.
  void add_query(string_view id, Py_ssize_t query, const PackedItems& items, const double* scores) {
    items.hash_query(query, rows_.items, rows_.hashes);
    rows_.scores.assign(scores + items.start(query), scores + items.start(query + 1));
    for (double& score : rows_.scores) score = options_.rounded(score);
    totals_.results += static_cast<Py_ssize_t>(rows_.items.size());
    count_rows(queries_.number(id), 0);
  }

  using TextHitCounter::sum;
  using TextHitCounter::utf8;
};

PyObject* count_packed_hits(PyObject* tuple) {
  PyObject *queries, *starts, *offsets, *text, *values;
  Arguments arguments;
  parse_arguments(tuple, "OOOOOOOOppOO:count_packed_hits", &queries, &starts, &offsets, &text, &values,
                  &arguments.queries, &arguments.starts, &arguments.items, &arguments.float32, &arguments.drop_self,
                  &arguments.counts, &arguments.depth);
  GoldArrays gold = arguments.gold();
  const Reference query_ids = owned(PySequence_Tuple(queries));
  const Buffer values_buffer(values);
  const double* const scores = values_buffer.contiguous<const double>(1);
  const PackedItems items(starts, offsets, text, PyTuple_GET_SIZE(query_ids.get()));
  if (values_buffer.length(0) != items.count()) raise_value_error("the columns of the run differ in length");
  PackedHitCounter counter(gold, Options(arguments));
  for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(query_ids.get()); ++at) {
    PyObject* const query = PyTuple_GET_ITEM(query_ids.get(), at);
    if (!PyUnicode_CheckExact(query)) raise(PyExc_TypeError, "the ids of the run must be strings");
    counter.add_query(PackedHitCounter::utf8(query), at, items, scores);
  }
  if (counter.fault()) raise_value_error("a query lists an item twice");
  return counter.sum().as_tuple();
}

Reference type_name(PyObject* object) {
  return owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
}

// A string of type str for one of a derived type, whose methods the caller may have defined.
Reference exact_string(PyObject* text) { return owned(PyUnicode_FromObject(text)); }

// Looks up an exact string, which runs no code of the caller.
PyObject* value_of(PyObject* dict, PyObject* key) {
  PyObject* const value = PyDict_GetItemWithError(dict, key);
  if (value == nullptr && PyErr_Occurred()) throw PythonError{};
  return value;
}

// The position of each query of the gold, by its id.
Reference index_of(const GoldArrays& gold) {
  Reference positions = owned(PyDict_New());
  for (Py_ssize_t query = 0; query < gold.query_count(); ++query) {
    const Reference id = exact_string(gold.query(query)), position = owned(PyLong_FromSsize_t(query));
    if (PyDict_SetItem(positions.get(), id.get(), position.get()) != 0) throw PythonError{};
  }
  if (PyDict_Size(positions.get()) != gold.query_count()) raise_repeated_query();
  return positions;
}

class MappingHitCounter {
 public:
  MappingHitCounter(GoldArrays& gold, Options options)
      : gold_(gold),
        options_(options),
        gold_index_(index_of(gold)),
        mapping_type_(import_attribute("collections.abc", "Mapping")) {}

  Totals count(PyObject* run) {
    const Reference rankings = copied(run);
    if (!rankings) {
      PyErr_Format(PyExc_TypeError, "a run must be a mapping, not %U", type_name(run).get());
      throw PythonError{};
    }
    PyObject *query, *ranking;
    for (Py_ssize_t at = 0; PyDict_Next(rankings.get(), &at, &query, &ranking);) count_query(query, ranking);
    return totals_;
  }

 private:
  // A dict with the entries of a mapping, which code of the caller cannot change while it is read; null if the object
  // is not a mapping.
  Reference copied(PyObject* mapping) const {
    if (PyDict_CheckExact(mapping)) return owned(PyDict_Copy(mapping));
    const int is_mapping = PyObject_IsInstance(mapping, mapping_type_.get());
    if (is_mapping < 0) throw PythonError{};
    if (is_mapping == 0) return nullptr;
    const Reference entries = owned(PyObject_CallMethod(mapping, "items", nullptr));
    Reference copy = owned(PyDict_New());
    if (PyDict_MergeFromSeq2(copy.get(), entries.get(), 1) != 0) throw PythonError{};
    return copy;
  }

  void count_query(PyObject* query, PyObject* ranking) {
    if (!PyUnicode_Check(query)) {
      const Reference text = shortened(owned(PyObject_Repr(query)));
      raise_row_fault(owned(Py_BuildValue("isO", 0, "query_type", text.get())));
    }
    Reference converted;
    if (!PyDict_CheckExact(ranking) || !read_plain(ranking)) {
      converted = to_plain(query, ranking);
      ranking = converted.get();
      read_plain(ranking);
    }
    totals_.results += static_cast<Py_ssize_t>(ids_.size());
    totals_.add(order_of(scores_, {}));
    const Reference query_id = exact_string(query);
    const bool has_self = options_.drop_self && value_of(ranking, query_id.get()) != nullptr;
    if (has_self) drop(query);
    PyObject* const index = value_of(gold_index_.get(), query_id.get());
    if (index == nullptr) {
      ++totals_.ignored;
    } else {
      count_judged(PyLong_AsSsize_t(index), ranking, has_self ? query : nullptr);
    }
  }

  // Reads a dict of strings and finite floats or ints, which runs no code of the caller. Returns false if it holds
  // anything else.
  bool read_plain(PyObject* ranking) {
    ids_.clear();
    scores_.clear();
    PyObject *item, *value;
    for (Py_ssize_t at = 0; PyDict_Next(ranking, &at, &item, &value);) {
      if (!PyUnicode_CheckExact(item) || !(PyFloat_Check(value) || PyLong_CheckExact(value))) return false;
      const double score = plain_score(value);
      if (!std::isfinite(score)) return false;
      ids_.push_back(item);
      scores_.push_back(options_.rounded(score));
    }
    return true;
  }

  // The value of a float or an int; infinity for an int that is too large for a float.
  static double plain_score(PyObject* value) {
    if (PyFloat_Check(value)) return PyFloat_AS_DOUBLE(value);
    const double score = PyLong_AsDouble(value);
    if (score != -1.0 || !PyErr_Occurred()) return score;
    PyErr_Clear();
    return HUGE_VAL;
  }

  // Converts a ranking to a dict of strings and finite floats, or raises the first fault in it.
  Reference to_plain(PyObject* query, PyObject* ranking) const {
    const Reference entries = copied(ranking);
    if (!entries) {
      const Reference name = type_name(ranking);
      raise_row_fault(owned(Py_BuildValue("isOO", 0, "mapping_type", query, name.get())));
    }
    Reference plain = owned(PyDict_New());
    PyObject *item, *value;
    for (Py_ssize_t at = 0; PyDict_Next(entries.get(), &at, &item, &value);) {
      if (!PyUnicode_Check(item)) {
        const Reference text = shortened(owned(PyObject_Repr(item)));
        raise_row_fault(owned(Py_BuildValue("isOO", 0, "item_type", query, text.get())));
      }
      const Reference key = exact_string(item);
      const Reference score = owned(PyFloat_FromDouble(to_score(query, item, value)));
      if (PyDict_SetItem(plain.get(), key.get(), score.get()) != 0) throw PythonError{};
    }
    return plain;
  }

  double to_score(PyObject* query, PyObject* item, PyObject* value) const {
    const bool is_text = PyUnicode_Check(value) || PyBytes_Check(value);
    double score = is_text ? 0.0 : PyFloat_AsDouble(value);
    const bool failed = !is_text && score == -1.0 && PyErr_Occurred();
    if (is_text || (failed && PyErr_ExceptionMatches(PyExc_TypeError))) {
      PyErr_Clear();
      const Reference name = type_name(value);
      raise_row_fault(owned(Py_BuildValue("isOOO", 0, "score_type", query, item, name.get())));
    }
    if (failed) {
      if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw PythonError{};
      PyErr_Clear();
      score = HUGE_VAL;
    }
    if (!std::isfinite(score)) raise_row_fault(owned(Py_BuildValue("isOO", 0, "nonfinite", query, item)));
    return score;
  }

  void drop(PyObject* self) {
    ++totals_.dropped;
    const auto match =
        std::find_if(ids_.begin(), ids_.end(), [&](PyObject* id) { return compare_ids(id, self) == 0; });
    scores_.erase(scores_.begin() + (match - ids_.begin()));
    ids_.erase(match);
  }

  void count_judged(Py_ssize_t query, PyObject* ranking, PyObject* dropped) {
    gold_.set_depth(query, ids_.size());
    const int64_t first = gold_.start(query), last = gold_.start(query + 1);
    ResultList<PyObject*> results(ids_, scores_, last - first);
    for (int64_t row = first; row < last; ++row) {
      const Reference item = exact_string(gold_.item(row));
      PyObject* const value = value_of(ranking, item.get());
      if (value == nullptr || (dropped != nullptr && compare_ids(item.get(), dropped) == 0)) continue;
      gold_.set_counts(row, results.count(item.get(), options_.rounded(plain_score(value))));
    }
  }

  GoldArrays& gold_;
  const Options options_;
  const Reference gold_index_, mapping_type_;
  std::vector<PyObject*> ids_;
  std::vector<double> scores_;
  Totals totals_;
};

PyObject* count_mapping_hits(PyObject* tuple) {
  const Arguments arguments(tuple, "OOOOppOO:count_mapping_hits");
  GoldArrays gold = arguments.gold();
  return MappingHitCounter(gold, Options(arguments)).count(arguments.run).as_tuple();
}

// Counts the hits of a run held as columns: the results of a query stand together, each item once.
class ColumnHitCounter {
 public:
  ColumnHitCounter(GoldArrays& gold, Options options) : gold_(gold), options_(options), gold_index_(index_of(gold)) {}

  Totals count(PyObject* queries, PyObject* starts, PyObject* items, PyObject* values) {
    const Reference query_ids = owned(PySequence_Tuple(queries));
    // A list is read in place, because a copy would visit every id; the columns of a run never change.
    const Reference item_ids = owned(PySequence_Fast(items, "the items must be a sequence"));
    const Buffer starts_buffer(starts), values_buffer(values);
    const int64_t* const first = starts_buffer.contiguous<const int64_t>(1);
    const double* const scores = values_buffer.contiguous<const double>(1);
    const Py_ssize_t query_count = PyTuple_GET_SIZE(query_ids.get()), rows = PySequence_Fast_GET_SIZE(item_ids.get());
    PyObject* const* const ids = PySequence_Fast_ITEMS(item_ids.get());
    if (starts_buffer.length(0) != query_count + 1 || values_buffer.length(0) != rows || first[0] != 0 ||
        first[query_count] != rows || !std::is_sorted(first, first + query_count + 1)) {
      raise_value_error("the columns of the run differ in length");
    }
    for (Py_ssize_t at = 0; at < query_count; ++at) {
      PyObject* const query = checked_string(PyTuple_GET_ITEM(query_ids.get(), at));
      read(query, ids, scores, first[at], first[at + 1]);
      count_query(query);
    }
    return totals_;
  }

 private:
  static PyObject* checked_string(PyObject* text) {
    if (!PyUnicode_CheckExact(text)) raise(PyExc_TypeError, "the ids of the run must be strings");
    return text;
  }

  void read(PyObject* query, PyObject* const* items, const double* scores, int64_t first, int64_t last) {
    ids_.clear();
    scores_.clear();
    for (int64_t row = first; row < last; ++row) {
      PyObject* const item = checked_string(items[row]);
      if (!std::isfinite(scores[row])) raise_row_fault(owned(Py_BuildValue("isOO", 0, "nonfinite", query, item)));
      ids_.push_back(item);
      scores_.push_back(options_.rounded(scores[row]));
    }
  }

  void count_query(PyObject* query) {
    totals_.results += static_cast<Py_ssize_t>(ids_.size());
    totals_.add(order_of(scores_, {}));
    if (options_.drop_self) drop(query);
    PyObject* const index = value_of(gold_index_.get(), query);
    if (index == nullptr) {
      ++totals_.ignored;
    } else {
      count_judged(PyLong_AsSsize_t(index));
    }
  }

  void drop(PyObject* self) {
    const auto match =
        std::find_if(ids_.begin(), ids_.end(), [&](PyObject* id) { return compare_ids(id, self) == 0; });
    if (match == ids_.end()) return;
    ++totals_.dropped;
    scores_.erase(scores_.begin() + (match - ids_.begin()));
    ids_.erase(match);
  }

  void count_judged(Py_ssize_t query) {
    gold_.set_depth(query, ids_.size());
    const int64_t first = gold_.start(query), last = gold_.start(query + 1);
    const Reference rows = owned(PyDict_New());
    for (int64_t row = first; row < last; ++row) {
      const Reference item = exact_string(gold_.item(row)), number = owned(PyLong_FromSsize_t(row));
      if (PyDict_SetItem(rows.get(), item.get(), number.get()) != 0) throw PythonError{};
    }
    ResultList<PyObject*> results(ids_, scores_, last - first);
    for (size_t at = 0; at < ids_.size(); ++at) {
      PyObject* const row = value_of(rows.get(), ids_[at]);
      if (row != nullptr) gold_.set_counts(PyLong_AsSsize_t(row), results.count(ids_[at], scores_[at]));
    }
  }

  GoldArrays& gold_;
  const Options options_;
  const Reference gold_index_;
  std::vector<PyObject*> ids_;
  std::vector<double> scores_;
  Totals totals_;
};

PyObject* count_column_hits(PyObject* tuple) {
  PyObject *queries, *starts, *items, *values;
  Arguments arguments;
  parse_arguments(tuple, "OOOOOOOppOO:count_column_hits", &queries, &starts, &items, &values, &arguments.queries,
                  &arguments.starts, &arguments.items, &arguments.float32, &arguments.drop_self, &arguments.counts,
                  &arguments.depth);
  GoldArrays gold = arguments.gold();
  return ColumnHitCounter(gold, Options(arguments)).count(queries, starts, items, values).as_tuple();
}

PyMethodDef methods[] = {
    method<count_trec_hits>("count_trec_hits", "See fallback.hit_counting.count_trec_hits."),
    method<count_packed_hits>("count_packed_hits", "See fallback.hit_counting.count_packed_hits."),
    method<count_mapping_hits>("count_mapping_hits", "See fallback.hit_counting.count_mapping_hits."),
    method<count_column_hits>("count_column_hits", "See fallback.hit_counting.count_column_hits."),
    {},
};

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(seed_hashes)}, {0, nullptr}};

PyModuleDef definition = module_definition("_hit_counting", "Compiled counting of hits.", methods, slots);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__hit_counting() { return PyModuleDef_Init(&goldrank::definition); }
