// The projector of a model: decodes and encodes pictures and sounds, by libmtmd. Its file lies beside the model's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ggml-backend.h>

#include "base/error.h"
#include "engine/kv/media_span.h"
#include "engine/llama/model.h"
#include "engine/media/media_header.h"
#include "engine/values/options.h"

struct mtmd_context;

namespace corral::engine {

// A piece of a prompt: tokens, or a piece of a picture or sound.
struct MediaPart {
  std::vector<Token> tokens = {};
  std::shared_ptr<const MediaPiece> piece = nullptr;
};

struct MediaKinds {
  bool vision = false, sound = false;
};

class Projector {
 public:
  // Loads EngineLoadOptions::mmproj. Errors, all of "mmproj": file_not_found, load_failed (also of another model's
  // projector), out_of_memory.
  static Result<std::unique_ptr<Projector>> load(std::shared_ptr<const Model> model, const EngineLoadOptions& options);
  ~Projector();
  Projector(const Projector&) = delete;
  Projector& operator=(const Projector&) = delete;

  MediaKinds kinds() const { return kinds_; }

  // The file as tokens and pieces, in order: markers of the model, and what is between them. Decodes it, within the
  // limits of read_media_header. Any thread; takes milliseconds and more.
  //
  // Errors: those of read_media_header; unsupported (a kind that the model doesn't take); invalid_argument (damaged,
  // too large for a pass of this load).
  Result<std::vector<MediaPart>> read(MediaBytes file) const;
  // The embeddings of a piece of read(). One thread at a time. Errors: decode_failed.
  Result<MediaRows> encode(const MediaPiece& piece);

 private:
  struct Free {
    void operator()(mtmd_context* context) const;
  };
  Projector(std::shared_ptr<const Model> model, mtmd_context* context, const std::string& path);

  const std::shared_ptr<const Model> model_;  // outlives the context
  const std::unique_ptr<mtmd_context, Free> context_;
  const std::string identity_;  // of the file
  const MediaSize cell_size_;
  const MediaKinds kinds_;
};

// The file exists. Errors: file_not_found.
Result<> check_projector(const std::string& path);
// What a projector's file takes, without its load; neither: it can't be read.
MediaKinds media_kinds(const std::string& path);
// Path, size and time of the file.
std::string projector_identity(const std::string& path);
// Memory of weights and computation by device, by a dry run; empty: the file can't be read.
std::vector<std::pair<ggml_backend_dev_t, std::uint64_t>> projector_memory(const EngineLoadOptions& options);

}  // namespace corral::engine
