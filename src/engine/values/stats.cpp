#include "engine/values/stats.h"

#include <algorithm>

namespace corral::engine {

std::span<const StatField<WorkerStats>> stat_fields() {
  using W = WorkerStats;
  using enum StatKind;
  static constexpr double kMillis = 0.001;
  static constexpr StatField<W> kFields[] = {
      {"steps", nullptr, "Forward passes", counter, &W::steps},
      {"batch_tokens", nullptr, "Tokens of all passes", counter, &W::batch_tokens},
      {"prompt_tokens", "prompt_tokens_total", "Prompt tokens computed", counter, &W::prompt_tokens},
      {"media_tokens", "media_tokens_total", "Of these, cells of pictures and sounds", counter, &W::media_tokens},
      {"predicted_tokens", "predicted_tokens_total", "Tokens sampled", counter, &W::predicted_tokens},
      {"cached_tokens", "cached_tokens_total", "Prompt tokens that were in the KV cache", counter, &W::cached_tokens},
      {"prefix_hits", "prefix_hits_total", "Generations that started with shared KV", counter, &W::prefix_hits},
      {"generations", "generations_total", "Generations started", counter, &W::generations},
      {"preemptions", "preemptions_total", "Sessions preempted for lack of KV cells", counter, &W::preemptions},
      {"aborted_steps", "aborted_steps_total", "Passes aborted by a cancel", counter, &W::aborted_steps},
      {"fresh_starts", "fresh_starts_total", "Worker restarts after a failure", counter, &W::fresh_starts},
      {"pooled_inputs", "pooled_inputs_total", "Texts embedded or reranked", counter, &W::pooled_inputs},
      {"parked", "parked_total", "Sequences saved to host memory", counter, &W::parked},
      {"restored", "restored_total", "Sequences restored from host memory or disk", counter, &W::restored},
      {"parked_bytes", "parked_bytes_total", "Bytes of KV saved", counter, &W::parked_bytes},
      {"restored_bytes", "restored_bytes_total", "Bytes of KV restored", counter, &W::restored_bytes},
      {"layout_changes", "kv_layout_changes_total", "Changes of the KV layout", counter, &W::layout_changes},
      {"growths", "kv_growths_total", "Growths of the KV cells", counter, &W::growths},
      {"layout_ms", "kv_layout_seconds_total", "Time in changes of the KV layout", counter, &W::layout_ms, kMillis},
      {"drafts", "drafts_total", "Drafts", counter, &W::drafts},
      {"drafted_tokens", "drafted_tokens_total", "Draft tokens", counter, &W::drafted_tokens},
      {"accepted_tokens", "accepted_tokens_total", "Accepted draft tokens", counter, &W::accepted_tokens},
      {"filler_rows", "filler_rows_total", "Padding rows", counter, &W::padding_rows},
      {"lane_prompts", "lane_prompts_total", "Long prompts computed beside running streams", counter, &W::lane_prompts},
      {"lane_tokens", "lane_tokens_total", "Tokens of these", counter, &W::lane_tokens},
      {"decode_ms", "decode_seconds_total", "Time in forward passes", counter, &W::decode_ms, kMillis},
      {"prompt_ms", "prompt_seconds_total", "Time in passes with prompt tokens, and in the lane", counter,
       &W::prompt_ms, kMillis},
      {"last_batch", nullptr, "Tokens of the latest pass", gauge, &W::last_batch},
      {"max_batch", nullptr, "Tokens of the largest pass", peak, &W::max_batch},
      {"sessions", "sessions", "Sessions alive", gauge, &W::sessions},
      {"generating", "generating_sessions", "Sessions with a generation, waiting ones too", gauge, &W::generating},
      {"waiting", "waiting_sessions", "Sessions that wait for admission", gauge, &W::waiting},
      {"kv_cells", "kv_cells", "Size of the KV cache in tokens", gauge, &W::kv_cells},
      {"kv_used", "kv_used_cells", "KV cells in use", gauge, &W::kv_used},
      {"kv_streams", "kv_streams", "Parts of a split KV layout, 0: unified", peak, &W::kv_streams},
      {"downsized", "downsized", "Workers without KV memory after a downsize", gauge, &W::downsized},
      {"cached_prefixes", "cached_prefixes", "Ended sessions kept for their prefix", gauge, &W::cached_prefixes},
  };
  return kFields;
}

std::span<const StatField<ParkedStats>> parked_fields() {
  using P = ParkedStats;
  using enum StatKind;
  static constexpr StatField<P> kFields[] = {
      {"parked_entries", "parked_entries", "Parked conversations", gauge, &P::entries},
      {"parked_on_disk_only", "parked_entries_on_disk_only", "Parked conversations in a file only", gauge,
       &P::on_disk_only},
      {"parked_memory_bytes", "parked_memory_bytes", "Host memory of parked KV", gauge, &P::memory_bytes},
      {"parked_memory_limit", "parked_memory_limit_bytes", "Most host memory for parked KV", gauge, &P::memory_limit},
      {"parked_disk_bytes", "parked_disk_bytes", "Files of parked KV", gauge, &P::disk_bytes},
      {"parked_hits", "parked_hits_total", "Times parked KV was found", counter, &P::hits},
      {"parked_loads", "parked_loads_total", "Hits that read a file", counter, &P::loads},
      {"parked_misses", "parked_misses_total", "Times parked KV was not found", counter, &P::misses},
      {"parked_evictions", "parked_evictions_total", "Parked KV evicted from host memory", counter, &P::evictions},
  };
  return kFields;
}

std::span<const StatField<MediaStats>> media_fields() {
  using M = MediaStats;
  using enum StatKind;
  static constexpr double kMillis = 0.001;
  static constexpr StatField<M> kFields[] = {
      {"media_encoded", "media_encoded_total", "Pieces of pictures and sounds encoded", counter, &M::encoded},
      {"media_hits", "media_hits_total", "Embeddings that were in the cache", counter, &M::hits},
      {"media_failures", "media_failures_total", "Pieces that could not be encoded", counter, &M::failures},
      {"media_waiting", "media_waiting", "Pieces to be encoded", gauge, &M::waiting},
      {"media_cached", "media_cached", "Embeddings in the cache", gauge, &M::cached},
      {"media_cached_bytes", "media_cached_bytes", "Host memory of cached embeddings", gauge, &M::cached_bytes},
      {"media_encode_ms", "media_encode_seconds_total", "Time of encoding", counter, &M::encode_ms, kMillis},
  };
  return kFields;
}

std::span<const HistogramField> histogram_fields() {
  using W = WorkerStats;
  static constexpr HistogramField kFields[] = {
      {"queue_seconds", "Time from a generation's request to its first forward pass", &W::queue_seconds},
      {"time_to_first_token_seconds", "Time from a generation's request to its first token", &W::first_token_seconds},
      {"inter_token_seconds", "Time between two tokens of a generation", &W::inter_token_seconds},
      {"step_tokens", "Tokens of a forward pass", &W::step_tokens},
      {"step_sessions", "Sessions, or texts to embed, that share a forward pass", &W::step_sessions},
  };
  return kFields;
}

WorkerStats Stats::total() const {
  WorkerStats sum;
  for (const WorkerStats& worker : workers) {
    for (const auto& field : stat_fields()) {
      std::visit(
          [&](auto member) {
            const bool largest = field.kind == StatKind::peak;
            sum.*member = largest ? std::max(sum.*member, worker.*member) : sum.*member + worker.*member;
          },
          field.member);
    }
    for (const HistogramField& field : histogram_fields()) (sum.*field.member).add(worker.*field.member);
  }
  return sum;
}

}  // namespace corral::engine
