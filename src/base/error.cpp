#include "base/error.h"

#include "base/error_table.h"

namespace corral {

ErrorKind kind_of(const std::error_code& code) {
  const auto* table = dynamic_cast<const TableCategory*>(&code.category());
  return table ? table->kind(code.value()) : ErrorKind::internal;
}

}  // namespace corral
