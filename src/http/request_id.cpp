#include "http/request_id.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/random.h>

namespace corral::http {
namespace {

constexpr std::size_t kIdBytes = 16;

// Bytes for 256 ids. A forked process would repeat them, but no forked process of this program serves requests.
struct Pool {
  std::array<unsigned char, kIdBytes * 256> bytes{};
  std::size_t used = bytes.size();

  std::array<unsigned char, kIdBytes> take() {
    if (used == bytes.size()) refill();
    std::array<unsigned char, kIdBytes> id{};
    std::memcpy(id.data(), bytes.data() + used, kIdBytes);
    std::memset(bytes.data() + used, 0, kIdBytes);
    used += kIdBytes;
    return id;
  }
  void refill() {
    for (std::size_t got = 0; got < bytes.size();) {
      const auto count = ::getrandom(bytes.data() + got, bytes.size() - got, 0);
      if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
      if (count > 0) got += static_cast<std::size_t>(count);
    }
    used = 0;
  }
};

}  // namespace

RequestId new_request_id() {
  thread_local Pool pool;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "req-";
  text.reserve(text.size() + 2 * kIdBytes);
  for (const unsigned char byte : pool.take()) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return RequestId(std::move(text));
}

}  // namespace corral::http
