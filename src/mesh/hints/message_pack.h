// The part of MessagePack that a Serf agent needs. Our own, because the input isn't trusted: the small packaged library
// trusts the counts it reads. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corral::mesh {

class PackWriter {
 public:
  PackWriter& map(std::uint32_t pairs);
  PackWriter& array(std::uint32_t elements);
  PackWriter& text(std::string_view text);
  PackWriter& number(std::uint64_t number);
  PackWriter& flag(bool flag);
  std::string take() { return std::move(out_); }

 private:
  PackWriter& sized(std::uint8_t small, std::uint32_t small_max, std::uint8_t wide, std::uint32_t size);
  void big_endian(std::uint64_t value, int bytes);

  std::string out_;
};

// Reads values one behind the other. If the next value is of another kind or cut off a call returns nothing, and the
// reader doesn't move.
class PackReader {
 public:
  explicit PackReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::uint32_t> map();
  std::optional<std::uint32_t> array();
  std::optional<std::string_view> text();  // bytes and text alike
  std::optional<std::uint64_t> number();   // not negative
  // Skips any value but text, a map or an array.
  bool scalar();
  // Skips one value of any kind, with its elements.
  bool skip();
  // Whether the next value is incomplete.
  bool is_cut_off() const;

  std::string_view rest() const { return rest_; }

 private:
  enum class Kind { scalar, text, array, map, invalid };
  struct Head {
    Kind kind = Kind::invalid;
    std::size_t bytes = 0;    // of the head itself
    std::uint64_t value = 0;  // of a number, or how many bytes or elements follow
    bool is_number = false;
  };
  std::optional<Head> head() const;  // nothing: cut off

  std::string_view rest_;
};

enum class PackState { whole, cut_off, malformed };
// The state of the value at the begin of `bytes`, and its length.
struct PackExtent {
  PackState state = PackState::cut_off;
  std::size_t bytes = 0;
};
PackExtent extent_of(std::string_view bytes);

// The same for a value that arrives in pieces: bytes that were scanned aren't scanned again.
class PackScanner {
 public:
  // `bytes`: those of the last call, and new ones behind them.
  PackExtent scan(std::string_view bytes);

 private:
  std::size_t at_ = 0;
  // Values still to come. Each has a byte at least, so there are never more than a count of 32 bits for each byte read.
  std::uint64_t open_ = 1;
};

}  // namespace corral::mesh
