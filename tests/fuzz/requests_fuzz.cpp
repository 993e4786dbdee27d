// Requests, one after another: the first byte says how they are cut.
#include "one_connection.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  corral::fuzz::check_cuts({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0]);
  return 0;
}
