// Writes GGUF bytes for tests: right by default, wrong where a test asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "models/gguf/gguf.h"

namespace corral::models {

class GgufWriter {
 public:
  std::uint32_t magic = 0x46554747;
  std::uint32_t version = 3;
  std::uint64_t extra_pairs = 0;    // announced, not written
  std::uint64_t extra_tensors = 0;  // announced, not written
  std::uint64_t missing_data = 0;   // bytes of weights left out at the end

  static GgufWriter model(std::string_view architecture) {
    GgufWriter writer;
    const std::string name(architecture);
    writer.text("general.architecture", name).u32(name + ".context_length", 2048).u32(name + ".embedding_length", 32);
    writer.u32("general.file_type", 7).texts("tokenizer.ggml.tokens", {"a", "b", "c"});
    writer.tensor("token_embd.weight", {32, 4});
    return writer;
  }

  GgufWriter& text(std::string_view key, std::string_view value) { return begin(key, GgufType::text).string(value); }
  GgufWriter& u32(std::string_view key, std::uint32_t value) { return begin(key, GgufType::u32).put(value); }
  GgufWriter& u16(std::string_view key, std::uint16_t value) { return begin(key, GgufType::u16).put(value); }
  GgufWriter& i64(std::string_view key, std::int64_t value) { return begin(key, GgufType::i64).put(value); }
  GgufWriter& f32(std::string_view key, float value) { return begin(key, GgufType::f32).put(value); }
  GgufWriter& flag(std::string_view key, bool value) {
    return begin(key, GgufType::boolean).put(static_cast<std::uint8_t>(value));
  }
  GgufWriter& texts(std::string_view key, const std::vector<std::string>& values) {
    array(key, GgufType::text, values.size());
    for (const std::string& value : values) string(value);
    return *this;
  }
  GgufWriter& u32s(std::string_view key, const std::vector<std::uint32_t>& values) {
    array(key, GgufType::u32, values.size());
    for (const std::uint32_t value : values) put(value);
    return *this;
  }
  // The parts, for pairs that are meant to be wrong.
  GgufWriter& array(std::string_view key, GgufType element, std::uint64_t count) {
    return begin(key, GgufType::array).put(static_cast<std::uint32_t>(element)).put(count);
  }
  GgufWriter& begin(std::string_view key, GgufType type) {
    ++pairs_;
    in_infos_ = false;
    return string(key).put(static_cast<std::uint32_t>(type));
  }
  template <typename T>
  GgufWriter& put(T value) {
    std::vector<std::byte>& target = in_infos_ ? infos_ : metadata_;
    const std::size_t at = target.size();
    target.resize(at + sizeof(T));
    std::memcpy(target.data() + at, &value, sizeof(T));
    return *this;
  }
  GgufWriter& string(std::string_view value) {
    put(static_cast<std::uint64_t>(value.size()));
    for (const char c : value) put(c);
    return *this;
  }

  // F32 by default; the data is laid out one after the other at 32 bytes.
  GgufWriter& tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type = 0) {
    ++tensors_;
    in_infos_ = true;
    string(name).put(static_cast<std::uint32_t>(dims.size()));
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : dims) {
      put(dim);
      elements *= dim;
    }
    put(type).put(data_);
    data_ += (elements * 4 + 31) / 32 * 32;
    return *this;
  }

  std::vector<std::byte> bytes() const {
    GgufWriter head;
    head.put(magic).put(version).put(tensors_ + extra_tensors).put(pairs_ + extra_pairs);
    std::vector<std::byte> all = head.metadata_;
    all.insert(all.end(), metadata_.begin(), metadata_.end());
    all.insert(all.end(), infos_.begin(), infos_.end());
    if (data_ > 0) all.resize((all.size() + 31) / 32 * 32 + data_ - missing_data);
    return all;
  }

  void save(const std::filesystem::path& path) const {
    std::filesystem::create_directories(path.parent_path());
    const std::vector<std::byte> all = bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  }

 private:
  std::vector<std::byte> metadata_;
  std::vector<std::byte> infos_;
  bool in_infos_ = false;  // where put() writes
  std::uint64_t pairs_ = 0;
  std::uint64_t tensors_ = 0;
  std::uint64_t data_ = 0;
};

}  // namespace corral::models
