// The module _truncation_guard: keeps the process alive when a memory-mapped file is truncated by someone else. An
// access behind the new end of the file raises SIGBUS; in a watched buffer the handler maps zeros there and records it,
// so that the reader can reject the file afterwards. Outside watched buffers the process ends as it would without the
// handler, or with an error message if one was set.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "python_api.hpp"

#if !defined(_WIN32)
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace goldrank {
namespace {

using std::uintptr_t;

// The addresses of a watched buffer; an end of 0 marks a free entry.
struct Range {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> was_truncated{false};
};

Range ranges[64];

#if !defined(_WIN32)

char message[256];
struct sigaction previous;
bool installed = false;
uintptr_t page_size = 4096;

void on_bus_error(int number, siginfo_t* information, void* context) {
  const auto at = reinterpret_cast<uintptr_t>(information->si_addr);
  for (Range& range : ranges) {
    const uintptr_t begin = range.begin, end = range.end;
    if (at < begin || at >= end) continue;
    // Everything from this page on lies behind the end of the file.
    const uintptr_t page = at & ~(page_size - 1);
    void* const zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    range.was_truncated = true;
    return;
  }
  if (message[0] != '\0') {
    if (write(STDERR_FILENO, message, std::strlen(message)) < 0) _exit(1);
    _exit(1);
  }
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(number, information, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    // The access is repeated after this returns, and then ends the process.
    signal(SIGBUS, SIG_DFL);
  } else {
    previous.sa_handler(number);
  }
}

bool install() {
  if (installed) return true;
  page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  installed = sigaction(SIGBUS, &action, &previous) == 0;
  return installed;
}

#else

// Windows does not allow a mapped file to be truncated.
bool install() { return true; }

#endif

PyObject* watch(PyObject* object) {
  const Buffer buffer(object, Buffer::kBytes);
  const auto begin = reinterpret_cast<uintptr_t>(buffer.bytes().data());
  const auto size = static_cast<uintptr_t>(buffer.bytes().size());
  if (size > 0 && install()) {
    // The GIL prevents two threads from taking the same range.
    for (Range& range : ranges) {
      if (range.end != 0) continue;
      range.was_truncated = false;
      range.begin = begin;
      range.end = begin + size;
      return PyLong_FromSsize_t(&range - ranges);
    }
  }
  return PyLong_FromLong(-1);
}

Range& range_of(PyObject* number) {
  const Py_ssize_t index = PyLong_AsSsize_t(number);
  if (index == -1 && PyErr_Occurred()) throw PythonError{};
  if (index < 0 || index >= static_cast<Py_ssize_t>(std::size(ranges))) raise_value_error("no such watched buffer");
  return ranges[index];
}

PyObject* was_truncated(PyObject* number) { return PyBool_FromLong(range_of(number).was_truncated); }

PyObject* unwatch(PyObject* number) {
  Range& range = range_of(number);
  range.end = 0;
  range.begin = 0;
  Py_RETURN_NONE;
}

PyObject* set_message(PyObject* text) {
#if !defined(_WIN32)
  Py_ssize_t size;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes == nullptr) throw PythonError{};
  if (size >= static_cast<Py_ssize_t>(sizeof message)) raise_value_error("the message is too long");
  std::memcpy(message, bytes, static_cast<size_t>(size) + 1);
  install();
#else
  static_cast<void>(text);
#endif
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    method<watch>("watch", "Guard a buffer and return its number, or -1; see _truncation_guard.pyi.", METH_O),
    method<was_truncated>("was_truncated", "Return True if the file was truncated; see _truncation_guard.pyi.", METH_O),
    method<unwatch>("unwatch", "Stop guarding a buffer; see _truncation_guard.pyi.", METH_O),
    method<set_message>("set_message", "Set the message for unguarded buffers; see _truncation_guard.pyi.", METH_O),
    {},
};

PyModuleDef definition =
    module_definition("_truncation_guard", "Survive the truncation of memory-mapped files.", methods);

}  // namespace
}  // namespace goldrank

PyMODINIT_FUNC PyInit__truncation_guard() { return PyModuleDef_Init(&goldrank::definition); }
