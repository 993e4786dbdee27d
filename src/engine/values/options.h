// What can be chosen when a model is loaded, a session is made, a generation is started. Plain values with the defaults
// of llama-server 0.5.0 where the two have the same option, so that the same request gives the same text. Every field
// has a value, so that a caller names only those it means: {.path = "model.gguf", .n_ctx = 4096}.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/context_size.h"
#include "base/sampler_kind.h"
#include "engine/values/types.h"

namespace corral::engine {

inline constexpr std::uint32_t kMaxWorkers = 64;
// Sequence ids of one libllama context (LLAMA_MAX_SEQ).
inline constexpr std::uint32_t kMaxSequences = 256;
inline constexpr std::uint32_t kMaxGuesses = 64;
// Taken for what a model was trained with that doesn't say.
inline constexpr std::uint32_t kUnknownContext = kFirstContext;

enum class ModelTask { automatic, generate, embed, rerank };
enum class Toggle { automatic, off, on };

// How several GPUs share one model.
enum class SplitMode {
  none,   // one GPU has all of it
  layer,  // each has some of the layers, with their KV cells
  row,    // each has a part of every large matrix, where the GPU's library can do that
};

// How the KV cells of a worker are laid out (docs/modules/engine/schedule.md, "Unified or split").
enum class KvLayout {
  automatic,  // the engine changes between the two as the load asks for it; unified where nothing can be parked
  unified,    // one pool of cells for all sequences
  split,      // each sequence has its own equal part
};

// An adapter that is added to the weights when the model is loaded.
struct LoraAdapter {
  std::string path;  // a GGUF file made for this model
  float scale = 1;
};

// Guesses at the next tokens that are checked several in one pass; the answer is the same with and without.
struct SpeculativeOptions {
  std::uint32_t max_tokens = 0;  // most guesses at a session in a pass; 0: off
  // More running sessions than this: no guesses. None: two for a draft model, any number for looking up, which costs
  // nothing.
  std::optional<std::uint32_t> max_active = {};
  std::string draft_path = {};     // a smaller model with the same vocabulary; empty: look the n-gram up in the history
  float draft_probability = 0.5f;  // a guess to which the draft model gives less than this isn't made
  bool measure = true;             // no guesses where passes are faster without; false: wherever one may be right
};

// All devices of a worker process on another machine, reached at an address of this one that somebody relays there.
struct RemoteWorker {
  std::string name;      // for people: the machine's
  std::string endpoint;  // an IPv4 address and a port: "127.0.0.1:40123"
  float share = 0;       // of the layers, against the others and own_share
};

struct EngineLoadOptions {
  std::string path = {};                     // a GGUF file, or the first one of a split set
  ModelTask purpose = ModelTask::automatic;  // automatic: by the file's metadata
  std::optional<Pooling> pooling = {};       // instead of the file's
  // Contexts with a decode thread each; the weights are shared, and all GPUs work for each. None: one.
  std::optional<std::uint32_t> workers = {};
  // KV cells of a worker, shared by its sessions. 0: min(trained, first_ctx) to begin with; a model that generates gets
  // more when a session needs them, up to ModelFacts::n_ctx, which is found at the load (automatic_context()).
  std::uint32_t n_ctx = 0;
  std::uint32_t first_ctx = kFirstContext;
  std::uint32_t n_batch = 0;          // tokens per forward pass; 0: 512, for embedding models min(n_ctx, 2048)
  std::uint32_t max_sequences = 16;   // sessions of one worker that can decode at the same time
  std::uint32_t max_queue = 1024;     // generations (or embeddings, scores) of one worker that may wait for their turn
  std::uint32_t stream_tokens = 256;  // unread tokens at which a stream's session pauses
  // Tokens of ended sessions that are kept for later ones with the same beginning, at most n_ctx / 2. 0: nothing is
  // shared, also not between living sessions, and nothing is parked.
  std::uint32_t prefix_cache_tokens = 0xFFFFFFFF;
  // Host memory for the KV of sessions and ended conversations that lost their cells, least recently used first out.
  std::uint64_t park_bytes = std::uint64_t{1} << 30;
  std::string park_dir = {};  // what is parked survives the service here; empty: it doesn't
  std::uint64_t park_disk_bytes = std::uint64_t{8} << 30;  // most of all files in park_dir together
  KvLayout kv_layout = KvLayout::automatic;
  // A long prompt beside running streams is computed in a memory of its own on half of the threads
  // (prefill_lane_controller.h). Only on CPUs, with two threads or more, and while twice the memory it takes is free,
  // more with several workers.
  bool prefill_lane = true;
  std::vector<LoraAdapter> loras = {};
  SpeculativeOptions speculative = {};
  // Most that one prompt adds to a step of running streams, once they have said a few tokens.
  Millis target_step{100};
  std::int32_t n_threads = 0;  // of each worker; 0: the cores shared out among the workers; 1 for very small models
  std::int32_t n_threads_batch = 0;       // for prefill; 0: like n_threads
  std::int32_t n_gpu_layers = -1;         // -1: all that fit, or all
  bool fit = true;                        // n_gpu_layers -1: as many as the GPUs have room for (gpu_fit.h)
  std::string backend = {};               // devices of this kind only (devices.h); empty: the best there are
  std::vector<std::string> devices = {};  // these GPUs only, by ggml's names ("CUDA0"); empty: all
  SplitMode split_mode = SplitMode::layer;
  std::vector<float> tensor_split = {};  // shares of the GPUs, in their order; empty: by their free memory
  // Layers and their KV cells on other machines: the first layers, in this order. This machine has the last ones with
  // the output (split_devices.h): on its GPUs, or on its CPU if it has none or n_gpu_layers is 0.
  std::vector<RemoteWorker> remotes = {};
  float own_share = 0;        // of the layers, where there are remotes; above 0 then
  std::int32_t main_gpu = 0;  // which of them has all of it (SplitMode::none), or what can't be split
  Toggle flash_attention = Toggle::automatic;
  // Layers with a sliding window keep cells of the whole context, so that any beginning can be shared; off: of what
  // they see only; automatic: of all where that takes hardly more (memory_kind.h).
  Toggle swa_full = Toggle::automatic;
  Toggle mmap = Toggle::automatic;
  bool mlock = false;
  bool repack = true;                // a second, faster weight layout where the CPU has one
  std::string cache_type_k = "f16";  // "f32", "f16", "bf16", "q8_0", "q4_0", ...
  std::string cache_type_v = "f16";

  // Generations of one worker, or requests to one of an embedding model, that run and wait together.
  std::uint32_t max_under_way() const {
    return max_queue > 0xFFFFFFFF - max_sequences ? 0xFFFFFFFF : max_sequences + max_queue;
  }
};

struct SessionOptions {
  std::uint32_t n_ctx = 0;  // most tokens of this session; 0 or more than the service has: what it has
  // Take over KV that others computed for the same beginning, and leave it to others. False: what is parked of the
  // session is found by nobody else and gone with it.
  bool share_prefix = true;
  // One for each adapter of the load; none: as InferenceEngine::set_adapter_scales said last. KV is shared with
  // sessions of the same scales only, and passes are their own.
  std::optional<AdapterScales> adapters = {};
};

struct LogitBias {
  Token token = kNoToken;
  float bias = 0;  // added to the logit; -infinity forbids the token
};

// A sampling chain: logit bias first, then `samplers` in their order, then the draw. The default values switch on what
// llama-server switches on.
struct SamplingOptions {
  // A step that isn't named has no part in it, whatever its option says; adaptive_p draws, so it comes last wherever it
  // stands.
  std::vector<SamplerKind> samplers = {default_samplers().begin(), default_samplers().end()};
  float temperature = 0.8f;  // 0 or less: greedy
  std::int32_t top_k = 40;   // 0 or less: the whole vocabulary
  float top_p = 0.95f;
  float min_p = 0.05f;
  float typical_p = 1.0f;
  float top_n_sigma = -1.0f;
  float xtc_probability = 0.0f;
  float xtc_threshold = 0.1f;
  float dynatemp_range = 0.0f;
  float dynatemp_exponent = 1.0f;
  std::int32_t penalty_last_n = 64;  // tokens looked back at; 0: off, -1: the session's context
  float repeat_penalty = 1.0f;
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  float dry_multiplier = 0.0f;
  float dry_base = 1.75f;
  std::int32_t dry_allowed_length = 2;
  std::int32_t dry_penalty_last_n = 64;  // as penalty_last_n
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  float adaptive_target = -1.0f;  // of adaptive_p: likelihood the drawn tokens should have; negative: any
  float adaptive_decay = 0.9f;    // how long it remembers: about 1 / (1 - decay) tokens
  std::int32_t mirostat = 0;      // 1 or 2: with the temperature, instead of all `samplers`
  float mirostat_tau = 5.0f;
  float mirostat_eta = 0.1f;
  std::int32_t min_keep = 0;
  std::optional<std::uint32_t> seed = {};  // none: a random one
  std::vector<LogitBias> logit_bias = {};
  bool ignore_eos = false;  // forbid every end-of-generation token
};

class SharedGrammar;

// A GBNF grammar the answer must follow; its start symbol is "root".
struct GrammarOptions {
  std::string gbnf = {};
  bool lazy = false;                               // starts to count only when a trigger is met
  std::vector<std::string> trigger_words = {};     // texts in the answer
  std::vector<std::string> trigger_patterns = {};  // regular expressions (RE2) over the end of the answer so far
  std::vector<Token> trigger_tokens = {};
  std::vector<Token> prefill = {};  // tokens of the prompt that belong to the grammar already
  // Made of the above by InferenceEngine::prepare_grammar, for several answers that follow the same one.
  std::shared_ptr<const SharedGrammar> shared = {};
};

// A context that is full loses tokens behind its beginning, and the answer goes on; where the memory can't do that the
// answer ends as without. What such a session has in cells is of use to no other.
struct ContextShift {
  std::int32_t keep = 0;      // tokens at the beginning that stay; -1: all that were there when the generation began
  std::uint32_t discard = 0;  // so many go each time; 0: half of the others
  bool keep_bos = false;      // one more stays: InferenceEngine says where there is a BOS
};

struct GenerateOptions {
  std::uint32_t max_new_tokens = 0xFFFFFFFF;  // 0: computes what is there but for the last token
  SamplingOptions sampling = {};
  std::optional<GrammarOptions> grammar = {};
  std::vector<std::string> stop = {};        // the text ends before the first of these
  std::uint32_t n_probs = 0;                 // for each token, log probabilities of the n most likely
  bool post_sampling_probs = false;          // as they were drawn from; false: before sampling options changed them
  bool render_special = false;               // control tokens appear in the text
  std::vector<Token> preserved_tokens = {};  // control tokens that appear in the text all the same
  bool progress = false;                     // each chunk says how far the generation is
  bool each_token = false;                   // unread chunks aren't joined: one for each token, where it shows alone
  bool prompt_progress = false;              // chunks without text say how far the prompt is
  // From the first token on; the first line that ends later is the last one (`length`). 0: no limit.
  Millis max_predict{0};
  std::optional<ContextShift> shift = {};  // none: the answer ends where the context is full
  bool supersede = false;  // end a generation that runs on the session instead of failing with session_busy
  // Whose it is: clients take turns for places, those that say nothing as one.
  std::string client = {};
  bool background = false;  // others go first
};

}  // namespace corral::engine
