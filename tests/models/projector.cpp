#include "projector.h"

#include <fmt/format.h>

namespace corral::test_models {
namespace {

struct Patches {
  std::uint32_t picture;  // pixels of a side
  std::uint32_t side;     // of a patch
  std::uint32_t count() const { return (picture / side) * (picture / side); }
};

void describe_projector(Metadata& metadata, const std::string& title, const ProjectorShape& shape,
                        const Patches& patches, const char* kind) {
  describe_model(metadata, "clip", title, FileType::kF32);
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

// What both have: patches, their places, blocks.
void add_encoder(std::vector<Tensor>& out, const Weights& weights, const ProjectorShape& shape,
                 const Patches& patches) {
  constexpr ggml_type kType = GGML_TYPE_F32;
  constexpr float kColours = 2.0F, kPlaces = 0.5F;
  const std::int64_t width = shape.width, ffn = shape.ffn, side = patches.side;
  const float pixels = static_cast<float>(3 * side * side);
  out.push_back(weights.normal("v.patch_embd.weight", kType, {side, side, 3, width}, kColours / std::sqrt(pixels)));
  out.push_back(weights.normal("v.position_embd.weight", kType, {width, patches.count()}, kPlaces));
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const auto part = [layer](const char* name) { return fmt::format("v.blk.{}.{}", layer, name); };
    add_norm(out, part("ln1"), width);
    for (const char* matrix : {"attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_out.weight"})
      out.push_back(weights.projection(part(matrix), kType, {width, width}, 1.0F));
    add_norm(out, part("ln2"), width);
    out.push_back(weights.projection(part("ffn_up.weight"), kType, {width, ffn}, 1.0F));
    out.push_back(weights.projection(part("ffn_down.weight"), kType, {ffn, width}, 1.0F));
  }
  add_norm(out, "v.post_ln", width);
}

}  // namespace

Model make_llava_projector(const std::string& name, const std::string& title, const ProjectorShape& shape,
                           std::uint64_t seed) {
  constexpr Patches kPatches{.picture = 56, .side = 14};
  constexpr float kAfterGelu = 1.6F;
  const Weights weights(seed, name);
  const std::int64_t width = shape.width, projected = shape.projected;
  Model model;
  describe_projector(model.metadata, title, shape, kPatches, "mlp");
  add_encoder(model.tensors, weights, shape, kPatches);
  model.tensors.push_back(weights.projection("mm.0.weight", GGML_TYPE_F32, {width, projected}, 1.0F));
  model.tensors.push_back(Weights::fixed("mm.0.bias", {projected}, 0.0F));
  model.tensors.push_back(weights.projection("mm.2.weight", GGML_TYPE_F32, {projected, projected}, kAfterGelu));
  model.tensors.push_back(Weights::fixed("mm.2.bias", {projected}, 0.0F));
  return model;
}

Model make_gemma3_projector(const std::string& name, const std::string& title, const ProjectorShape& shape,
                            std::uint64_t seed) {
  constexpr Patches kPatches{.picture = 64, .side = 8};
  const Weights weights(seed, name);
  const std::int64_t width = shape.width, projected = shape.projected;
  Model model;
  describe_projector(model.metadata, title, shape, kPatches, "gemma3");
  model.metadata.set("clip.vision.projector.scale_factor", std::uint32_t{2});
  add_encoder(model.tensors, weights, shape, kPatches);
  model.tensors.push_back(Weights::fixed("mm.soft_emb_norm.weight", {width}, 1.0F));
  const float deviation = 1.0F / std::sqrt(static_cast<float>(width));
  model.tensors.push_back(weights.normal("mm.input_projection.weight", GGML_TYPE_F32, {projected, width}, deviation));
  return model;
}

}  // namespace corral::test_models
