// Bytes of the mesh's own formats, big-endian, lengths first. The reader never reads behind the end and never
// allocates: callers that keep its results must check their size first. Plain values; safe on every thread.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace corral::mesh {

class ByteWriter {
 public:
  // Appends to `out`, which must outlive the writer.
  explicit ByteWriter(std::string& out) : out_(out) {}

  template <std::unsigned_integral T>
  ByteWriter& number(std::type_identity_t<T> value) {
    for (std::size_t byte = sizeof(T); byte-- > 0;) out_.push_back(static_cast<char>(value >> (8 * byte) & 0xff));
    return *this;
  }
  ByteWriter& raw(std::string_view bytes) {
    out_.append(bytes);
    return *this;
  }
  template <std::size_t N>
  ByteWriter& raw(const std::array<std::uint8_t, N>& bytes) {
    out_.append(reinterpret_cast<const char*>(bytes.data()), N);
    return *this;
  }
  // With its length in front, as a T; longer bytes than a T can count are cut.
  template <std::unsigned_integral T>
  ByteWriter& sized(std::string_view bytes) {
    bytes = bytes.substr(0, static_cast<T>(-1));
    return number<T>(static_cast<T>(bytes.size())).raw(bytes);
  }

 private:
  std::string& out_;
};

// A read beyond the end gives zeros or nothing, and from then on ok() is false: check it once, after all reads.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <std::unsigned_integral T>
  T number() {
    T value = 0;
    for (const char byte : take(sizeof(T))) value = static_cast<T>(value << 8 | static_cast<std::uint8_t>(byte));
    return value;
  }
  template <std::size_t N>
  std::array<std::uint8_t, N> fixed() {
    std::array<std::uint8_t, N> value{};
    const auto bytes = take(N);
    for (std::size_t i = 0; i < bytes.size(); ++i) value[i] = static_cast<std::uint8_t>(bytes[i]);
    return value;
  }
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <std::unsigned_integral T>
  std::string_view sized() {
    return take(number<T>());
  }

  bool ok() const { return ok_; }
  // All reads succeeded, and no bytes are left.
  bool done() const { return ok_ && rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace corral::mesh
