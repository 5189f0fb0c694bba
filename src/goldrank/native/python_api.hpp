// Shared by all extension modules of this folder: Python exceptions, references, buffers, the GIL, and module
// definitions.

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace goldrank {

using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::size_t;
using std::string_view;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

// Thrown when a Python exception is already set; `guarded` returns the null pointer that reports it to Python.
struct PythonError {};

[[noreturn]] inline void raise(PyObject* type, const char* message) {
  PyErr_SetString(type, message);
  throw PythonError{};
}

[[noreturn]] inline void raise_value_error(const char* message) { raise(PyExc_ValueError, message); }

struct DropReference {
  void operator()(PyObject* object) const { Py_XDECREF(object); }
};
using Reference = std::unique_ptr<PyObject, DropReference>;

// Takes ownership of a new reference, and throws if the call that returned it failed.
inline Reference owned(PyObject* object) {
  if (object == nullptr) throw PythonError{};
  return Reference(object);
}

inline Reference import_attribute(const char* module, const char* name) {
  const Reference source = owned(PyImport_ImportModule(module));
  return owned(PyObject_GetAttrString(source.get(), name));
}

template <class... Targets>
void parse_arguments(PyObject* arguments, const char* format, Targets... targets) {
  if (!PyArg_ParseTuple(arguments, format, targets...)) throw PythonError{};
}

// The memory of a Python object that supports the buffer protocol, such as bytes, mmap or a numpy array.
class Buffer {
 public:
  // What to ask the object for: a block of bytes, or an array with its type and shape.
  static constexpr int kBytes = PyBUF_SIMPLE;
  static constexpr int kArray = PyBUF_FORMAT | PyBUF_STRIDES;
  static constexpr int kWritableArray = kArray | PyBUF_WRITABLE;

  explicit Buffer(PyObject* object, int flags = kArray) {
    if (PyObject_GetBuffer(object, &view_, flags) != 0) throw PythonError{};
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  string_view bytes() const { return {static_cast<const char*>(view_.buf), static_cast<size_t>(view_.len)}; }

  Py_ssize_t length(int axis) const { return view_.shape[axis]; }
  // The distance between two rows of a matrix, in numbers.
  Py_ssize_t row_stride() const { return view_.strides[0] / view_.itemsize; }

  template <class Number>
  bool holds() const {
    const string_view format = view_.format;
    if (format.size() != 1) return false;
    using Type = std::remove_const_t<Number>;
    if constexpr (std::is_same_v<Type, int64_t>) {
      return format[0] == 'q' || (format[0] == 'l' && view_.itemsize == sizeof(int64_t));
    }
    if constexpr (std::is_same_v<Type, int32_t>) {
      return format[0] == 'i' || (format[0] == 'l' && view_.itemsize == sizeof(int32_t));
    }
    constexpr char code = code_of<Type>();
    static_assert(code != 0 || std::is_same_v<Type, int64_t>);
    return format[0] == code;
  }

  // The first number of an array of this type and number of dimensions, without gaps between its numbers.
  template <class Number>
  Number* contiguous(int dimensions) const {
    expect<Number>(dimensions);
    if (!PyBuffer_IsContiguous(&view_, 'C')) raise_value_error("an array is not C-contiguous");
    return static_cast<Number*>(view_.buf);
  }

  // The same where only the numbers of each row must stand together, as in a slice of columns.
  template <class Number>
  Number* rows(int dimensions) const {
    expect<Number>(dimensions);
    const int last = dimensions - 1;
    const bool has_gaps = length(last) > 1 && view_.strides[last] != view_.itemsize;
    const bool is_misaligned = dimensions == 2 && view_.strides[0] % view_.itemsize != 0;
    if (has_gaps || is_misaligned) raise_value_error("the rows of an array are not contiguous");
    return static_cast<Number*>(view_.buf);
  }

 private:
  // The code of a type in the formats of the struct module; 0 if it is not supported.
  template <class Number>
  static constexpr char code_of() {
    if (std::is_same_v<Number, float>) return 'f';
    if (std::is_same_v<Number, double>) return 'd';
    if (std::is_same_v<Number, uint8_t>) return 'B';
    if (std::is_same_v<Number, uint16_t>) return 'H';
    if (std::is_same_v<Number, int16_t>) return 'h';
    if (std::is_same_v<Number, int32_t>) return 'i';
    return 0;
  }

  template <class Number>
  void expect(int dimensions) const {
    if (view_.ndim != dimensions || !holds<Number>()) {
      raise_value_error("an array has the wrong type or number of dimensions");
    }
  }

  Py_buffer view_;
};

// Lets other Python threads run until the end of the scope.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() { PyEval_RestoreThread(state_); }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

  // Calls a function that needs the GIL and does not throw, from any thread.
  template <class Function>
  auto with_gil(Function function) {
    const PyGILState_STATE state = PyGILState_Ensure();
    const auto result = function();
    PyGILState_Release(state);
    return result;
  }

 private:
  PyThreadState* const state_;
};

// No C++ exception may pass through the interpreter.
template <PyObject* (*function)(PyObject*)>
PyObject* guarded(PyObject*, PyObject* argument) noexcept {
  try {
    return function(argument);
  } catch (const PythonError&) {
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

// An entry of a module's table of functions. The function is given the tuple of its arguments, with METH_O its only
// argument, and with METH_NOARGS a null pointer.
template <PyObject* (*function)(PyObject*)>
PyMethodDef method(const char* name, const char* doc, int flags = METH_VARARGS) {
  return {name, guarded<function>, flags, doc};
}

inline PyModuleDef module_definition(const char* name, const char* doc, PyMethodDef* methods,
                                     PyModuleDef_Slot* slots = nullptr) {
  return {PyModuleDef_HEAD_INIT, name, doc, 0, methods, slots, nullptr, nullptr, nullptr};
}

}  // namespace goldrank
