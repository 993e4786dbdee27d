// A body in chunks and what comes behind it: the first byte says how it is cut.
#include "one_connection.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  bytes.append(reinterpret_cast<const char*>(data) + 1, size - 1);
  corral::fuzz::check_cuts(bytes, data[0]);
  return 0;
}
