// The module _word_numbers: splits texts into words, or into the pieces that a tokenizer never joins, and numbers them.
// fallback/word_numbers.py does the same in Python and documents the arguments and results.

#include <array>
#include <string>

#include "id_tables.hpp"

namespace goldrank {
namespace {

constexpr std::array<char, 128> ascii_words() {
  std::array<char, 128> table{};
  for (char c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = c;
  for (char c = 'a'; c <= 'z'; ++c) {
    table[static_cast<size_t>(c)] = c;
    table[static_cast<size_t>(c - 'a' + 'A')] = c;
  }
  table['_'] = '_';
  return table;
}

// The lower case of each character of a word, and 0 for all others.
constexpr std::array<char, 128> kAsciiWords = ascii_words();

void append_utf8(std::string& bytes, Py_UCS4 point) {
  const auto tail = [&](int shift) { bytes.push_back(static_cast<char>(0x80 | ((point >> shift) & 0x3F))); };
  if (point < 0x80) {
    bytes.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    bytes.push_back(static_cast<char>(0xC0 | (point >> 6)));
    tail(0);
  } else if (point < 0x10000) {
    bytes.push_back(static_cast<char>(0xE0 | (point >> 12)));
    tail(6);
    tail(0);
  } else {
    bytes.push_back(static_cast<char>(0xF0 | (point >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

class WordNumbers {
 public:
  // Adds the runs of at least so many letters and digits of a text.
  void add_words(PyObject* text, size_t least) {
    if (PyUnicode_IS_ASCII(text)) {
      add_ascii(PyUnicode_1BYTE_DATA(text), static_cast<size_t>(PyUnicode_GET_LENGTH(text)), least);
    } else {
      auto* const type = reinterpret_cast<PyObject*>(&PyUnicode_Type);
      const Reference lower = owned(PyObject_CallMethod(type, "lower", "O", text));
      add_lower(lower.get(), least);
    }
  }

  // Adds the pieces of a text between bytes that are not joined.
  void add_pieces(PyObject* text, const char* joined) {
    const Reference encoded = owned(PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass"));
    const char* const bytes = PyBytes_AS_STRING(encoded.get());
    const auto size = static_cast<size_t>(PyBytes_GET_SIZE(encoded.get()));
    const auto value = [&](size_t at) { return size_t{static_cast<unsigned char>(bytes[at])}; };
    size_t start = 0;
    for (size_t end = 1; end <= size; ++end) {
      if (end < size && joined[256 * value(end - 1) + value(end)] != 0) continue;
      add_word({bytes + start, end - start});
      start = end;
    }
  }

  void end_text() {
    lengths_.push_back(static_cast<int64_t>(numbers_.size() - counted_));
    counted_ = numbers_.size();
  }

  PyObject* results() const {
    const Reference words = owned(PyList_New(static_cast<Py_ssize_t>(words_.size())));
    for (size_t number = 0; number < words_.size(); ++number) {
      const std::string& word = words_[number];
      PyObject* const text = PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()), "surrogatepass");
      if (text == nullptr) throw PythonError{};
      PyList_SET_ITEM(words.get(), static_cast<Py_ssize_t>(number), text);
    }
    const Reference numbers = bytes_of(numbers_), lengths = bytes_of(lengths_);
    return Py_BuildValue("OOO", numbers.get(), lengths.get(), words.get());
  }

 private:
  template <class Number>
  static Reference bytes_of(const std::vector<Number>& values) {
    const auto* const bytes = reinterpret_cast<const char*>(values.data());
    return owned(PyByteArray_FromStringAndSize(bytes, static_cast<Py_ssize_t>(values.size() * sizeof(Number))));
  }

  void add_ascii(const Py_UCS1* text, size_t size, size_t least) {
    buffer_.resize(size);
    size_t start = 0;
    for (size_t at = 0; at < size; ++at) {
      buffer_[at] = kAsciiWords[text[at]];
      if (buffer_[at] != 0) continue;
      if (at - start >= least) add_word({buffer_.data() + start, at - start});
      start = at + 1;
    }
    if (size - start >= least && size > start) add_word({buffer_.data() + start, size - start});
  }

  void add_lower(PyObject* text, size_t least) {
    const auto kind = PyUnicode_KIND(text);
    const void* const data = PyUnicode_DATA(text);
    const Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    size_t points = 0;
    buffer_.clear();
    for (Py_ssize_t at = 0; at <= size; ++at) {
      const Py_UCS4 point = at < size ? PyUnicode_READ(kind, data, at) : ' ';
      // What \w matches.
      if (Py_UNICODE_ISALNUM(point) || point == '_') {
        append_utf8(buffer_, point);
        ++points;
      } else if (points > 0) {
        if (points >= least) add_word(buffer_);
        points = 0;
        buffer_.clear();
      }
    }
  }

  void add_word(string_view word) {
    // The table keeps a reference to the bytes of a new word, so these must not be in the buffer.
    words_.emplace_back(word);
    const uint32_t number = table_.number(words_.back());
    if (number + 1 < words_.size()) words_.pop_back();
    numbers_.push_back(static_cast<int32_t>(number));
  }

  IdNumbers table_;
  // The bytes that the table refers to, which stay where they are.
  std::deque<std::string> words_;
  std::vector<int32_t> numbers_;
  std::vector<int64_t> lengths_;
  // The numbers of the texts that have ended.
  size_t counted_ = 0;
  std::string buffer_;
};

// Numbers what `add` adds of each text.
template <class Add>
PyObject* number_texts(PyObject* texts, Add add) {
  WordNumbers words;
  for (Py_ssize_t row = 0; row < PyList_GET_SIZE(texts); ++row) {
    PyObject* const text = PyList_GET_ITEM(texts, row);
    if (!PyUnicode_Check(text)) raise(PyExc_TypeError, "a text is not a string");
    add(words, text);
    words.end_text();
    if (row % 4096 == 0 && PyErr_CheckSignals() != 0) throw PythonError{};
  }
  return words.results();
}

PyObject* number_words(PyObject* arguments) {
  PyObject* texts;
  int least;
  parse_arguments(arguments, "O!i:number_words", &PyList_Type, &texts, &least);
  if (least < 1) raise_value_error("least must be at least 1");
  return number_texts(texts, [=](auto& words, auto* text) { words.add_words(text, static_cast<size_t>(least)); });
}

PyObject* number_pieces(PyObject* arguments) {
  PyObject *texts, *table;
  parse_arguments(arguments, "O!S:number_pieces", &PyList_Type, &texts, &table);
  if (PyBytes_GET_SIZE(table) != 256 * 256) raise_value_error("joined must have 256 * 256 bytes");
  const char* const joined = PyBytes_AS_STRING(table);
  return number_texts(texts, [=](auto& words, auto* text) { words.add_pieces(text, joined); });
}

PyMethodDef methods[] = {
    method<number_words>("number_words", "See fallback.word_numbers.number_words."),
    method<number_pieces>("number_pieces", "See fallback.word_numbers.number_pieces."),
    {},
};

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(seed_hashes)}, {0, nullptr}};

PyModuleDef definition = module_definition("_word_numbers", "Compiled numbering of words.", methods, slots);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__word_numbers() { return PyModuleDef_Init(&goldrank::definition); }
