#include "engine/media/projector.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include <fmt/core.h>
#include <gguf.h>
#include <llama.h>
#include <mtmd-helper.h>
#include <mtmd.h>

#include "engine/llama/context_params.h"
#include "engine/llama/devices.h"
#include "engine/llama/llama_log.h"
#include "engine/media/media_decoder.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

constexpr const char* kOption = "mmproj";

Error of_projector(Error error) {
  error.param = kOption;
  return error;
}

// libmtmd has a log of its own: it goes where libllama's goes.
void share_log() {
  ggml_log_callback callback = nullptr;
  void* data = nullptr;
  llama_log_get(&callback, &data);
  mtmd_helper_log_set(callback, data);
}

Result<mtmd_context_params> params_of(const EngineLoadOptions& options, std::int32_t threads) {
  mtmd_context_params params = mtmd_context_params_default();
  params.print_timings = false;
  params.n_threads = threads;
  params.use_gpu = false;
  if (options.flash_attention != Toggle::automatic) {
    params.flash_attn_type =
        options.flash_attention == Toggle::on ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  }
  if (!options.mmproj_offload || options.n_gpu_layers == 0) return params;
  const auto gpus = choose_gpus(found_devices(), options.backend, options.devices);
  if (!gpus) return std::unexpected(gpus.error());
  if (gpus->empty()) return params;
  const auto main = static_cast<std::size_t>(std::max(options.main_gpu, 0));
  params.use_gpu = true;
  params.device = (*gpus)[main < gpus->size() ? main : 0].handle;
  return params;
}

struct FreeChunks {
  void operator()(mtmd_input_chunks* chunks) const { mtmd_input_chunks_free(chunks); }
};
struct FreeChunk {
  void operator()(mtmd_input_chunk* chunk) const { mtmd_input_chunk_free(chunk); }
};
using Chunk = std::unique_ptr<mtmd_input_chunk, FreeChunk>;

// With the pixels or samples as the encoder takes them.
struct ProjectorPiece final : MediaPiece {
  ProjectorPiece(Sha256 hash, Chunk from, bool in_one_pass, MediaSize of_a_cell)
      : MediaPiece(hash, static_cast<std::uint32_t>(mtmd_input_chunk_get_n_tokens(from.get())), in_one_pass),
        chunk(std::move(from)),
        cell_size(of_a_cell) {}

  MediaSize size() const override { return {cells * cell_size.input, cells * cell_size.embedding}; }

  std::uint32_t positions() const override {
    return static_cast<std::uint32_t>(mtmd_input_chunk_get_n_pos(chunk.get()));
  }
  CellPosition position(std::uint32_t cell, std::uint32_t begin) const override {
    const mtmd_image_tokens* const picture = mtmd_input_chunk_get_tokens_image(chunk.get());
    if (picture == nullptr) return MediaPiece::position(cell, begin);
    const mtmd_decoder_pos at = mtmd_image_tokens_get_decoder_pos(picture, static_cast<llama_pos>(begin), cell);
    return {at.t, at.y, at.x, at.z};
  }

  const Chunk chunk;
  const MediaSize cell_size;
};

// The side of the pictures that it was trained with; 0: unknown.
std::uint32_t picture_side(const std::string& path) {
  const std::unique_ptr<gguf_context, decltype(&gguf_free)> file(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}), gguf_free);
  const auto key = file == nullptr ? -1 : gguf_find_key(file.get(), "clip.vision.image_size");
  return key < 0 || gguf_get_kv_type(file.get(), key) != GGUF_TYPE_UINT32 ? 0 : gguf_get_val_u32(file.get(), key);
}

using Chunks = std::unique_ptr<mtmd_input_chunks, FreeChunks>;

// nullptr: the model can't take it.
Chunks chunks_of(mtmd_context* context, const Bitmap& bitmap) {
  const mtmd_input_part part{.text = nullptr, .bitmap = bitmap.get()};
  const mtmd_input_part* const parts[] = {&part};
  Chunks chunks(mtmd_input_chunks_init());
  return mtmd_tokenize_from_parts(context, chunks.get(), parts, 1, false) == 0 ? std::move(chunks) : nullptr;
}

// Pixels or samples that become a cell, as floats. libmtmd doesn't say how many: a picture of the usual size shows it.
std::uint64_t input_of_a_cell(mtmd_context* context, const std::string& path) {
  constexpr std::uint64_t kSound = 2048;  // four frames of Whisper's
  constexpr std::uint32_t kLargest = 4096;
  const std::uint32_t side = picture_side(path);
  if (!mtmd_support_vision(context) || side == 0 || side > kLargest) return kSound;
  const std::uint64_t values = std::uint64_t{3} * side * side;
  const std::vector<unsigned char> blank(values);
  const auto chunks = chunks_of(context, Bitmap(mtmd_bitmap_init(side, side, blank.data())));
  std::uint64_t cells = 0;
  for (std::size_t i = 0; chunks && i < mtmd_input_chunks_size(chunks.get()); ++i) {
    const mtmd_input_chunk* const chunk = mtmd_input_chunks_get(chunks.get(), i);
    if (mtmd_input_chunk_get_type(chunk) != MTMD_INPUT_CHUNK_TYPE_TEXT) cells += mtmd_input_chunk_get_n_tokens(chunk);
  }
  return cells == 0 ? kSound : values * sizeof(float) / cells;
}

Sha256 hash_of(MediaBytes file) {
  return sha256({std::string_view(reinterpret_cast<const char*>(file.data()), file.size())});
}

}  // namespace

void Projector::Free::operator()(mtmd_context* context) const { mtmd_free(context); }

Result<> check_projector(const std::string& path) {
  if (auto there = Model::check_file(path); !there) return std::unexpected(of_projector(std::move(there.error())));
  return {};
}

MediaKinds media_kinds(const std::string& path) {
  share_log();
  const mtmd_caps caps = mtmd_get_cap_from_file(path.c_str());
  return {.vision = caps.inp_vision, .sound = caps.inp_audio};
}

std::string projector_identity(const std::string& path) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path, none);
  const auto time = std::filesystem::last_write_time(path, none).time_since_epoch();
  return fmt::format("{} {} {}", path, bytes, std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

std::vector<std::pair<ggml_backend_dev_t, std::uint64_t>> projector_memory(const EngineLoadOptions& options) {
  share_log();
  const auto params = params_of(options, 1);
  std::vector<std::pair<ggml_backend_dev_t, std::uint64_t>> memory;
  if (!params) return memory;
  for (const auto& [device, bytes] : mtmd_get_memory_usage(options.mmproj.c_str(), *params))
    memory.emplace_back(device, bytes);
  return memory;
}

Result<std::unique_ptr<Projector>> Projector::load(std::shared_ptr<const Model> model,
                                                   const EngineLoadOptions& options) {
  if (auto there = check_projector(options.mmproj); !there) return std::unexpected(std::move(there.error()));
  share_log();
  auto params = params_of(options, compute_threads(*model, options));
  if (!params) return std::unexpected(std::move(params.error()));
  const LogCapture log;
  mtmd_context* const context = mtmd_init_from_file(options.mmproj.c_str(), model->handle(), *params);
  if (context == nullptr) {
    const errc cause = log.speaks_of_memory() ? errc::out_of_memory : errc::load_failed;
    return std::unexpected(of_projector(load_failed(cause, {options.mmproj, log.text_or("it is no projector")})));
  }
  return std::unique_ptr<Projector>(new Projector(std::move(model), context, options.mmproj));
}

Projector::Projector(std::shared_ptr<const Model> model, mtmd_context* context, const std::string& path)
    : model_(std::move(model)),
      context_(context),
      identity_(projector_identity(path)),
      cell_size_{.input = input_of_a_cell(context, path),
                 .embedding = static_cast<std::uint64_t>(llama_model_n_embd_inp(model_->handle())) * sizeof(float)},
      kinds_{.vision = mtmd_support_vision(context), .sound = mtmd_support_audio(context)} {}

Projector::~Projector() = default;

Result<std::vector<MediaPart>> Projector::read(MediaBytes file) const {
  const auto header = read_media_header(file);
  if (!header) return std::unexpected(header.error());
  const bool sound = is_sound(header->format);
  if (sound ? !kinds_.sound : !kinds_.vision)
    return fail(errc::unsupported, sound ? "this model takes no sounds" : "this model takes no pictures");
  const Bitmap bitmap = decode_media(context_.get(), file, *header);
  if (!bitmap)
    return fail(errc::invalid_argument, fmt::format("the {} file can't be decoded", to_string(header->format)));

  const auto chunks = chunks_of(context_.get(), bitmap);
  if (!chunks)
    return fail(errc::invalid_argument, fmt::format("the model can't take this {} file", to_string(header->format)));
  const Sha256 hash = hash_of(file);
  const std::string_view whole(reinterpret_cast<const char*>(hash.data()), hash.size());
  std::vector<MediaPart> read;
  for (std::size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); ++i) {
    const mtmd_input_chunk* const chunk = mtmd_input_chunks_get(chunks.get(), i);
    if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT) {
      std::size_t count = 0;
      const llama_token* const tokens = mtmd_input_chunk_get_tokens_text(chunk, &count);
      read.push_back({.tokens = {tokens, tokens + count}});
      continue;
    }
    const std::size_t cells = mtmd_input_chunk_get_n_tokens(chunk);
    const bool both_ways = mtmd_decode_use_non_causal(context_.get(), chunk);
    const std::uint32_t batch = model_->facts().n_batch;
    if (cells == 0) continue;
    if (both_ways && batch != 0 && cells > batch) {
      return fail(
          errc::invalid_argument,
          fmt::format("the model computes the {} tokens of this picture in one pass, but the passes of this load "
                      "have {}: load it with a larger batch_size",
                      cells, batch));
    }
    const std::string place = fmt::format(" {} {}", i, identity_);
    read.push_back({.piece = std::make_shared<ProjectorPiece>(
                        sha256({whole, place}), Chunk(mtmd_input_chunk_copy(chunk)), both_ways, cell_size_)});
  }
  return read;
}

Result<MediaRows> Projector::encode(const MediaPiece& piece) {
  const auto& own = static_cast<const ProjectorPiece&>(piece);
  const LogCapture log;
  if (mtmd_encode_chunk(context_.get(), own.chunk.get()) != 0)
    return fail(errc::decode_failed, fmt::format("the picture or sound can't be encoded: {}", log.text_or("no cause")));
  const float* const rows = mtmd_get_output_embd(context_.get());
  const auto width = static_cast<std::size_t>(llama_model_n_embd_inp(model_->handle()));
  return std::make_shared<const std::vector<float>>(rows, rows + width * piece.cells);
}

}  // namespace corral::engine
