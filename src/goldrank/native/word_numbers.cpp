// The module _word_numbers: splits texts into words and numbers the words.
// fallback/word_numbers.py does the same with a regular expression and documents the arguments and results.

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
  explicit WordNumbers(size_t least) : least_(least) {}

  void add_text(PyObject* text) {
    if (!PyUnicode_Check(text)) raise(PyExc_TypeError, "a text is not a string");
    const size_t before = numbers_.size();
    if (PyUnicode_IS_ASCII(text)) {
      add_ascii(PyUnicode_1BYTE_DATA(text), static_cast<size_t>(PyUnicode_GET_LENGTH(text)));
    } else {
      auto* const type = reinterpret_cast<PyObject*>(&PyUnicode_Type);
      const Reference lower = owned(PyObject_CallMethod(type, "lower", "O", text));
      add_lower(lower.get());
    }
    lengths_.push_back(static_cast<int64_t>(numbers_.size() - before));
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

  void add_ascii(const Py_UCS1* text, size_t size) {
    buffer_.resize(size);
    size_t start = 0;
    for (size_t at = 0; at < size; ++at) {
      buffer_[at] = kAsciiWords[text[at]];
      if (buffer_[at] != 0) continue;
      if (at - start >= least_) add_word({buffer_.data() + start, at - start});
      start = at + 1;
    }
    if (size - start >= least_ && size > start) add_word({buffer_.data() + start, size - start});
  }

  void add_lower(PyObject* text) {
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
        if (points >= least_) add_word(buffer_);
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

  const size_t least_;
  IdNumbers table_;
  // The bytes that the table refers to, which stay where they are.
  std::deque<std::string> words_;
  std::vector<int32_t> numbers_;
  std::vector<int64_t> lengths_;
  std::string buffer_;
};

PyObject* number_words(PyObject* arguments) {
  PyObject* texts;
  int least;
  parse_arguments(arguments, "O!i:number_words", &PyList_Type, &texts, &least);
  if (least < 1) raise_value_error("least must be at least 1");
  WordNumbers words(static_cast<size_t>(least));
  for (Py_ssize_t row = 0; row < PyList_GET_SIZE(texts); ++row) {
    words.add_text(PyList_GET_ITEM(texts, row));
    if (row % 4096 == 0 && PyErr_CheckSignals() != 0) throw PythonError{};
  }
  return words.results();
}

PyMethodDef methods[] = {
    method<number_words>("number_words", "See fallback.word_numbers.number_words."),
    {},
};

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(seed_hashes)}, {0, nullptr}};

PyModuleDef definition = module_definition("_word_numbers", "Compiled numbering of words.", methods, slots);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__word_numbers() { return PyModuleDef_Init(&goldrank::definition); }
