// Writes GGUF files, tensor by tensor: a file of gigabytes needs the memory of one block of rows.
//
//   Metadata meta; meta.set("general.architecture", "llama");
//   write_gguf(path, meta, {{"token_embd.weight", GGML_TYPE_F16, {64, 1056}, normal_fill(...)}});
//
// One thread per file. What cannot be written throws std::runtime_error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ggml.h>
#include <gguf.h>

namespace corral::test_models {

class Metadata {
 public:
  Metadata();

  void set(const std::string& key, std::uint32_t value);
  void set_u16(const std::string& key, std::uint16_t value);
  void set(const std::string& key, std::int32_t value);
  void set(const std::string& key, float value);
  void set(const std::string& key, bool value);
  void set(const std::string& key, const std::string& value);
  void set(const std::string& key, const char* value);
  void set(const std::string& key, const std::vector<std::string>& values);
  void set(const std::string& key, const std::vector<std::int32_t>& values);
  void set(const std::string& key, const std::vector<float>& values);

  const gguf_context* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(gguf_context* context) const { gguf_free(context); }
  };
  std::unique_ptr<gguf_context, Free> context_;
};

// Yields a tensor's values in row order: called again and again, each time for the next block of whole rows.
using Fill = std::function<void(std::span<float>)>;

struct Tensor {
  std::string name{};
  ggml_type type = GGML_TYPE_F32;     // stored so; the fill's floats are converted or quantised block by block
  std::vector<std::int64_t> shape{};  // shape[0] is the length of a row
  Fill fill;
};

void write_gguf(const std::filesystem::path& path, const Metadata& metadata, std::span<const Tensor> tensors);

}  // namespace corral::test_models
