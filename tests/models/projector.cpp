#include "projector.h"

#include <fmt/format.h>

namespace corral::test_models {
namespace {

constexpr const char* kPatchWeights = "v.patch_embd.weight";

struct Patches {
  std::uint32_t picture;  // pixels of a side
  std::uint32_t side;     // of a patch
  std::uint32_t count() const { return (picture / side) * (picture / side); }
};

// `least`: of a shape that names no size.
Patches patches_of(const ProjectorShape& shape, const Patches& least) {
  return {.picture = shape.picture > 0 ? shape.picture : least.picture, .side = least.side};
}

void describe_projector(Metadata& metadata, const std::string& title, const ProjectorShape& shape,
                        const Patches& patches, const char* kind) {
  describe_model(metadata, "clip", title, file_type(shape.matrices));
  metadata.set("general.type", "mmproj");
  metadata.set("clip.has_vision_encoder", true);
  metadata.set("clip.projector_type", kind);
  metadata.set("clip.use_gelu", true);
  metadata.set("clip.vision.image_size", patches.picture);
  metadata.set("clip.vision.patch_size", patches.side);
  metadata.set("clip.vision.embedding_length", shape.width);
  metadata.set("clip.vision.feed_forward_length", shape.ffn);
  metadata.set("clip.vision.projection_dim", shape.projected);
  metadata.set("clip.vision.block_count", shape.layers);
  metadata.set("clip.vision.attention.head_count", shape.heads);
  metadata.set("clip.vision.attention.layer_norm_epsilon", 1e-6F);
  metadata.set("clip.vision.image_mean", std::vector<float>(3, 0.5F));
  metadata.set("clip.vision.image_std", std::vector<float>(3, 0.5F));
}

void add_norm(std::vector<Tensor>& out, const std::string& name, std::int64_t width) {
  out.push_back(Weights::fixed(name + ".weight", {width}, 1.0F));
  out.push_back(Weights::fixed(name + ".bias", {width}, 0.0F));
}

void add_patches(std::vector<Tensor>& out, const Weights& weights, const std::string& name, const ProjectorShape& shape,
                 const Patches& patches) {
  constexpr float kColours = 2.0F;
  const std::int64_t side = patches.side;
  const float pixels = static_cast<float>(3 * side * side);
  out.push_back(weights.normal(name, GGML_TYPE_F32, {side, side, 3, shape.width}, kColours / std::sqrt(pixels)));
}

void add_places(std::vector<Tensor>& out, const Weights& weights, const ProjectorShape& shape, const Patches& patches) {
  constexpr float kPlaces = 0.5F;
  out.push_back(weights.normal("v.position_embd.weight", GGML_TYPE_F32, {shape.width, patches.count()}, kPlaces));
}

// What all have.
void add_blocks(std::vector<Tensor>& out, const Weights& weights, const ProjectorShape& shape) {
  const std::int64_t width = shape.width, ffn = shape.ffn;
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const auto part = [layer](const char* name) { return fmt::format("v.blk.{}.{}", layer, name); };
    add_norm(out, part("ln1"), width);
    for (const char* matrix : {"attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_out.weight"})
      out.push_back(weights.projection(part(matrix), shape.matrices, {width, width}, 1.0F));
    add_norm(out, part("ln2"), width);
    out.push_back(weights.projection(part("ffn_up.weight"), shape.matrices, {width, ffn}, 1.0F));
    out.push_back(weights.projection(part("ffn_down.weight"), shape.matrices, {ffn, width}, 1.0F));
  }
  add_norm(out, "v.post_ln", width);
}

// The last part of LLaVA's and Qwen2-VL's, from `width` values on.
void add_projection(std::vector<Tensor>& out, const Weights& weights, const ProjectorShape& shape, std::int64_t width) {
  constexpr float kAfterGelu = 1.6F;
  const std::int64_t projected = shape.projected;
  out.push_back(weights.projection("mm.0.weight", shape.matrices, {width, projected}, 1.0F));
  out.push_back(Weights::fixed("mm.0.bias", {projected}, 0.0F));
  out.push_back(weights.projection("mm.2.weight", shape.matrices, {projected, projected}, kAfterGelu));
  out.push_back(Weights::fixed("mm.2.bias", {projected}, 0.0F));
}

}  // namespace

Model make_llava_projector(const std::string& name, const std::string& title, const ProjectorShape& shape,
                           std::uint64_t seed) {
  const Patches patches = patches_of(shape, {.picture = 56, .side = 14});
  const Weights weights(seed, name);
  Model model;
  describe_projector(model.metadata, title, shape, patches, "mlp");
  add_patches(model.tensors, weights, kPatchWeights, shape, patches);
  add_places(model.tensors, weights, shape, patches);
  add_blocks(model.tensors, weights, shape);
  add_projection(model.tensors, weights, shape, shape.width);
  return model;
}

Model make_gemma3_projector(const std::string& name, const std::string& title, const ProjectorShape& shape,
                            std::uint64_t seed) {
  const Patches patches = patches_of(shape, {.picture = 64, .side = 8});
  const Weights weights(seed, name);
  const std::int64_t width = shape.width, projected = shape.projected;
  Model model;
  describe_projector(model.metadata, title, shape, patches, "gemma3");
  model.metadata.set("clip.vision.projector.scale_factor", std::uint32_t{2});
  add_patches(model.tensors, weights, kPatchWeights, shape, patches);
  add_places(model.tensors, weights, shape, patches);
  add_blocks(model.tensors, weights, shape);
  model.tensors.push_back(Weights::fixed("mm.soft_emb_norm.weight", {width}, 1.0F));
  const float deviation = 1.0F / std::sqrt(static_cast<float>(width));
  model.tensors.push_back(weights.normal("mm.input_projection.weight", GGML_TYPE_F32, {projected, width}, deviation));
  return model;
}

Model make_qwen2vl_projector(const std::string& name, const std::string& title, const ProjectorShape& shape,
                             std::uint64_t seed) {
  const Patches patches = patches_of(shape, {.picture = 64, .side = 8});
  constexpr std::int64_t kMerged = 4;
  const Weights weights(seed, name);
  const std::int64_t width = shape.width;
  Model model;
  describe_projector(model.metadata, title, shape, patches, "qwen2vl_merger");
  // The second matrix is for the second frame of a video; a picture is both frames.
  for (const char* weight : {kPatchWeights, "v.patch_embd.weight.1"})
    add_patches(model.tensors, weights, weight, shape, patches);
  add_blocks(model.tensors, weights, shape);
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    for (const char* part : {"attn_q", "attn_k", "attn_v"})
      model.tensors.push_back(Weights::fixed(fmt::format("v.blk.{}.{}.bias", layer, part), {width}, 0.0F));
  }
  add_projection(model.tensors, weights, shape, width * kMerged);
  return model;
}

}  // namespace corral::test_models
