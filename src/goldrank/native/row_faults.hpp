// Raises goldrank.native.faults.RowFault, whose docstring lists the kinds of faults.

#pragma once

#include "python_api.hpp"

namespace goldrank {

[[noreturn]] inline void raise_row_fault(Reference arguments) {
  const Reference type = import_attribute("goldrank.native.faults", "RowFault");
  PyErr_SetObject(type.get(), arguments.get());
  throw PythonError{};
}

// Tokens and representations are quoted up to this length.
inline Reference shortened(Reference text) { return owned(PyUnicode_Substring(text.get(), 0, 80)); }

}  // namespace goldrank
