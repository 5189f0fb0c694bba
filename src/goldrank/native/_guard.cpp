// Keeps a process alive when a file that it has mapped is truncated: the system answers an access behind the new end
// with SIGBUS, and the handler puts zeros there and notes it, so that the reader can refuse the file afterwards.
// Where nothing watches the range, the process ends as ever, or with a sentence where one was given.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>

#if !defined(_WIN32)
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace {

using std::uintptr_t;

// An end of 0 marks a free range.
struct Range {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> hit{false};
};

Range ranges[64];

#if !defined(_WIN32)

char sentence[256];
struct sigaction previous;
bool installed = false;
uintptr_t page_size = 4096;

void on_bus_error(int number, siginfo_t* information, void* context) {
  const auto at = reinterpret_cast<uintptr_t>(information->si_addr);
  for (Range& range : ranges) {
    const uintptr_t begin = range.begin, end = range.end;
    if (at < begin || at >= end) continue;
    // All from this page on lies behind the end of the file.
    const uintptr_t page = at & ~(page_size - 1);
    void* const zeros = mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    range.hit = true;
    return;
  }
  if (sentence[0] != '\0') {
    if (write(STDERR_FILENO, sentence, std::strlen(sentence)) < 0) _exit(1);
    _exit(1);
  }
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(number, information, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    // The access is repeated when this returns, and then ends the process.
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

// Windows lets nobody truncate a file that is mapped.
bool install() { return true; }

#endif

PyObject* watch(PyObject*, PyObject* object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(view.buf);
  const auto size = static_cast<uintptr_t>(view.len);
  PyBuffer_Release(&view);
  long slot = -1;
  if (size > 0 && install()) {
    // The GIL keeps two threads from taking one range.
    for (Range& range : ranges) {
      if (range.end != 0) continue;
      slot = static_cast<long>(&range - ranges);
      range.hit = false;
      range.begin = begin;
      range.end = begin + size;
      break;
    }
  }
  return PyLong_FromLong(slot);
}

Range* range_of(PyObject* number) {
  const long slot = PyLong_AsLong(number);
  if (slot == -1 && PyErr_Occurred()) return nullptr;
  if (slot < 0 || slot >= static_cast<long>(std::size(ranges))) {
    PyErr_SetString(PyExc_ValueError, "there is no such range");
    return nullptr;
  }
  return &ranges[slot];
}

PyObject* was_hit(PyObject*, PyObject* number) {
  const Range* const range = range_of(number);
  return range == nullptr ? nullptr : PyBool_FromLong(range->hit);
}

PyObject* forget(PyObject*, PyObject* number) {
  Range* const range = range_of(number);
  if (range == nullptr) return nullptr;
  range->end = 0;
  range->begin = 0;
  Py_RETURN_NONE;
}

PyObject* say(PyObject*, PyObject* text) {
#if !defined(_WIN32)
  Py_ssize_t size;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes == nullptr) return nullptr;
  if (size >= static_cast<Py_ssize_t>(sizeof sentence)) {
    PyErr_SetString(PyExc_ValueError, "the sentence is too long");
    return nullptr;
  }
  std::memcpy(sentence, bytes, static_cast<std::size_t>(size) + 1);
  install();
#else
  static_cast<void>(text);
#endif
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"watch", watch, METH_O, "Put zeros behind the end of a truncated file in this buffer; its number, or -1."},
    {"was_hit", was_hit, METH_O, "Whether the file under this number was truncated while it was read."},
    {"forget", forget, METH_O, "Watch the buffer under this number no longer; before it is unmapped."},
    {"say", say, METH_O, "End the process with this sentence where a truncated file is read that nothing watches."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_guard", "Mapped files that are truncated while they are read.",
                          0,                     methods,  nullptr,
                          nullptr,               nullptr,  nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__guard() { return PyModuleDef_Init(&definition); }
