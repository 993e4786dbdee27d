// Basic types of the engine: tokens, sessions, finish reasons, model facts. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/named.h"

namespace corral::engine {

// A token id of the model's vocabulary, 0 .. ModelFacts::n_vocab - 1 (libllama's llama_token).
using Token = std::int32_t;
inline constexpr Token kNoToken = -1;

// One conversation: a token history and its place in a worker's KV cache. Counts from 1, never reused.
using SessionId = Named<std::uint64_t, struct SessionIdTag>;

enum class FinishReason {
  stop,           // the model ended its answer, or a stop string was met
  length,         // max_new_tokens
  cancelled,      // cancel_generate, or the handle was dropped
  context_full,   // the session's context, or the whole KV cache, holds no further token
  session_ended,  // end_session while it generated
  superseded,     // another generate_stream on the same session took over
  shutdown,       // the model was unloaded
  error,          // see Finish::error
};
const char* to_string(FinishReason reason);

// Token counts of one generation.
struct Usage {
  std::uint32_t prompt_tokens = 0;      // the session's whole history when the generation began
  std::uint32_t cached_tokens = 0;      // of these, the ones that were in the KV cache already
  std::uint32_t completion_tokens = 0;  // sampled, including an end-of-generation token and cut-off stop strings
  std::uint32_t drafted_tokens = 0;     // draft tokens (SpeculativeOptions)
  std::uint32_t accepted_tokens = 0;    // of these, accepted: part of completion_tokens
};

// Where the time of one generation went, in milliseconds.
struct Timings {
  double queue_ms = 0;      // from the call to the first decode of one of its tokens
  double prompt_ms = 0;     // from there to the first sampled token
  double predicted_ms = 0;  // from the first sampled token to the last
};

// How far a generation is.
struct Progress {
  Usage usage;
  Timings timings;
};

// How far a prompt is.
struct PromptProgress {
  std::uint32_t total = 0;      // its tokens
  std::uint32_t cached = 0;     // of these, the ones that were in the KV cache already
  std::uint32_t processed = 0;  // cached or computed by now; lower than before if the session lost cells meanwhile
  double ms = 0;                // since the first pass with one of its tokens began
};

// Scale of each adapter of the load, in their order; empty: the scales of the load.
using AdapterScales = std::vector<float>;

// What a model is for, by the metadata of its file.
enum class ModelKind { generative, embedding, reranker };
const char* to_string(ModelKind kind);

enum class Pooling { none, mean, cls, last, rank };
const char* to_string(Pooling pooling);

// Tokens around a gap in a text (infill), and before pieces of a project; kNoToken: the vocabulary has none.
struct GapTokens {
  Token prefix = kNoToken, suffix = kNoToken, middle = kNoToken;
  Token repository = kNoToken, file = kNoToken;
  bool complete() const { return prefix != kNoToken && suffix != kNoToken && middle != kNoToken; }
};

struct ModelFacts {
  std::string path;
  std::string architecture;  // "llama", "qwen3", "bert", ...
  std::string description;   // libllama's one-liner, e.g. "llama 1B Q8_0"
  std::string name;          // general.name, or empty
  ModelKind kind = ModelKind::generative;
  Pooling pooling = Pooling::none;
  std::uint32_t n_ctx = 0;        // tokens one session can hold; a worker may have more KV cells (n_ctx_session)
  std::uint32_t n_ctx_train = 0;  // context the model was trained with
  std::uint32_t n_batch = 0;      // most tokens of one forward pass; also the longest embedding input
  std::uint32_t n_embd = 0;       // width of an embedding this model returns
  std::uint32_t n_layer = 0;
  std::uint32_t n_vocab = 0;
  std::uint64_t n_params = 0;
  std::uint64_t model_bytes = 0;  // of all tensors
  // Which LoRA adapters are applied, by file, size, time and scale; empty: none. KV computed under one text is of no
  // use under another.
  std::string adapters;
  // All adapters that were loaded.
  struct Adapter {
    std::string path;
    float scale = 0;                       // of the load
    std::string task_name, prompt_prefix;  // of the file, or empty
  };
  std::vector<Adapter> adapter_files;
  std::string chat_template;  // the template text of the file, or empty
  Token bos = kNoToken, eos = kNoToken, eot = kNoToken, sep = kNoToken;
  GapTokens gap;
  bool add_bos = false;  // tokenize(add_special) puts BOS in front
  bool add_eos = false;
  bool recurrent = false;              // no partial removal: after a cut the sequence is computed again
  std::uint32_t window = 0;            // tokens that layers with a sliding window see; 0: there are none
  bool vision = false, sound = false;  // it takes pictures, sounds
  std::uint32_t gpus = 0;              // of this machine that it was given
  std::uint32_t remotes = 0;           // devices of other machines that have layers of it
  std::uint32_t workers = 1;
  std::uint32_t max_sequences = 0;  // sessions that can decode at the same time, per worker
};

}  // namespace corral::engine
