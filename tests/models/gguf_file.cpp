#include "gguf_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

namespace corral::test_models {
namespace {

constexpr std::int64_t kBlockValues = 1 << 20;  // values that are drawn and converted at once

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

struct FreeGgml {
  void operator()(ggml_context* context) const { ggml_free(context); }
};

[[noreturn]] void fail_to_write(const std::filesystem::path& path) {
  throw std::runtime_error(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

void write_bytes(std::FILE* file, const std::filesystem::path& path, const void* data, std::size_t size) {
  if (std::fwrite(data, 1, size, file) != size) fail_to_write(path);
}

// Streams one tensor's data; returns its size in bytes.
std::size_t write_tensor(std::FILE* file, const std::filesystem::path& path, const Tensor& tensor) {
  const std::int64_t row = tensor.shape[0];
  std::int64_t rows = 1;
  for (std::size_t i = 1; i < tensor.shape.size(); ++i) rows *= tensor.shape[i];
  const std::int64_t block_rows = std::max<std::int64_t>(1, kBlockValues / row);
  const std::size_t row_size = ggml_row_size(tensor.type, row);

  std::vector<float> values;
  std::vector<std::byte> bytes;
  for (std::int64_t done = 0; done < rows;) {
    const std::int64_t now = std::min(block_rows, rows - done);
    values.assign(static_cast<std::size_t>(now * row), 0.0F);
    tensor.fill(values);
    bytes.resize(row_size * static_cast<std::size_t>(now));
    ggml_quantize_chunk(tensor.type, values.data(), bytes.data(), 0, now, row, nullptr);
    write_bytes(file, path, bytes.data(), bytes.size());
    done += now;
  }
  return row_size * static_cast<std::size_t>(rows);
}

}  // namespace

Metadata::Metadata() : context_(gguf_init_empty()) {}

void Metadata::set(const std::string& key, std::uint32_t value) {
  gguf_set_val_u32(context_.get(), key.c_str(), value);
}
void Metadata::set_u16(const std::string& key, std::uint16_t value) {
  gguf_set_val_u16(context_.get(), key.c_str(), value);
}
void Metadata::set(const std::string& key, std::int32_t value) { gguf_set_val_i32(context_.get(), key.c_str(), value); }
void Metadata::set(const std::string& key, float value) { gguf_set_val_f32(context_.get(), key.c_str(), value); }
void Metadata::set(const std::string& key, bool value) { gguf_set_val_bool(context_.get(), key.c_str(), value); }
void Metadata::set(const std::string& key, const std::string& value) { set(key, value.c_str()); }
void Metadata::set(const std::string& key, const char* value) { gguf_set_val_str(context_.get(), key.c_str(), value); }
void Metadata::set(const std::string& key, const std::vector<std::string>& values) {
  std::vector<const char*> texts;
  texts.reserve(values.size());
  for (const std::string& value : values) texts.push_back(value.c_str());
  gguf_set_arr_str(context_.get(), key.c_str(), texts.data(), texts.size());
}
void Metadata::set(const std::string& key, const std::vector<std::int32_t>& values) {
  gguf_set_arr_data(context_.get(), key.c_str(), GGUF_TYPE_INT32, values.data(), values.size());
}
void Metadata::set(const std::string& key, const std::vector<float>& values) {
  gguf_set_arr_data(context_.get(), key.c_str(), GGUF_TYPE_FLOAT32, values.data(), values.size());
}

void write_gguf(const std::filesystem::path& path, const Metadata& metadata, std::span<const Tensor> tensors) {
  const std::unique_ptr<gguf_context, void (*)(gguf_context*)> gguf(gguf_init_empty(), gguf_free);
  gguf_set_kv(gguf.get(), metadata.get());

  const std::unique_ptr<ggml_context, FreeGgml> shapes(
      ggml_init({.mem_size = ggml_tensor_overhead() * (tensors.size() + 1), .mem_buffer = nullptr, .no_alloc = true}));
  for (const Tensor& tensor : tensors) {
    ggml_tensor* shape =
        ggml_new_tensor(shapes.get(), tensor.type, static_cast<int>(tensor.shape.size()), tensor.shape.data());
    ggml_set_name(shape, tensor.name.c_str());
    gguf_add_tensor(gguf.get(), shape);
  }

  const File file(std::fopen(path.c_str(), "wb"));
  if (!file || !gguf_write_to_file_ptr(gguf.get(), file.get(), /*only_meta=*/true)) fail_to_write(path);
  const std::size_t alignment = gguf_get_alignment(gguf.get());
  const std::vector<std::byte> zeros(alignment);
  for (const Tensor& tensor : tensors) {
    const std::size_t size = write_tensor(file.get(), path, tensor);
    write_bytes(file.get(), path, zeros.data(), (alignment - size % alignment) % alignment);
  }
  if (std::fflush(file.get()) != 0) fail_to_write(path);
}

}  // namespace corral::test_models
