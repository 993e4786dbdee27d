// Options of a model load, a session and a generation. Plain values; the defaults are those of llama-server 0.5.0 for
// options that both have, so that the same request gives the same text. Every field has a default, so that callers name
// only the fields they set: {.path = "model.gguf", .n_ctx = 4096}.
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
inline constexpr std::uint32_t kMaxDraftTokens = 64;
// Training context of a model whose file does not name one.
inline constexpr std::uint32_t kUnknownContext = kFirstContext;

enum class ModelTask { automatic, generate, embed, rerank };
enum class Toggle { automatic, off, on };

// How several GPUs share one model.
enum class SplitMode {
  none,   // one GPU has the whole model
  layer,  // each has some of the layers, with their KV cells
  row,    // each has a part of every large matrix, if the GPU's library supports that
};

// How the KV cells of a worker are laid out (docs/modules/engine/schedule.md, "Unified or split").
enum class KvLayout {
  automatic,  // the engine chooses by load and may change it; unified if nothing can be parked
  unified,    // one pool of cells for all sequences
  split,      // each sequence has its own equal part
};

// An adapter that is added to the weights when the model is loaded.
struct LoraAdapter {
  std::string path;  // a GGUF file made for this model
  float scale = 1;
};

// Speculative decoding: one pass verifies several draft tokens. The output is the same with and without.
struct SpeculativeOptions {
  std::uint32_t max_tokens = 0;  // most draft tokens per session in a pass; 0: off
  // With more running sessions than this there are no draft tokens. None: two for a draft model, unlimited for n-gram
  // lookup, which costs nothing.
  std::optional<std::uint32_t> max_active = {};
  std::string draft_path = {};     // a smaller model with the same vocabulary; empty: n-gram lookup in the history
  float draft_probability = 0.5f;  // the draft model proposes no token with a lower probability
  bool measure = true;             // propose only if measured times show a gain; false: propose whenever a token may be
                                   // right
};

// All devices of an RPC worker on another machine. `endpoint` is a local address that is forwarded to the worker.
struct RemoteWorker {
  std::string name;      // for display: the machine's name
  std::string endpoint;  // an IPv4 address and a port: "127.0.0.1:40123"
  float share = 0;       // of the layers, relative to the other shares and own_share
};

struct EngineLoadOptions {
  std::string path = {};                     // a GGUF file, or the first one of a split set
  ModelTask purpose = ModelTask::automatic;  // automatic: from the file's metadata
  std::optional<Pooling> pooling = {};       // instead of the file's; none: an embedding for each token
  // Contexts, each with a decode thread. All share the weights and all GPUs. None: one.
  std::optional<std::uint32_t> workers = {};
  // KV cells of an engine worker, shared by its sessions. 0: min(trained, first_ctx) at first; a generative model gets
  // more when a session needs them, up to ModelFacts::n_ctx, which the load computes (automatic_context()).
  std::uint32_t n_ctx = 0;
  std::uint32_t first_ctx = kFirstContext;
  std::uint32_t n_ctx_session = 0;    // most tokens of a session, if n_ctx is set; 0: all. Of generative models
  std::uint32_t n_batch = 0;          // tokens per forward pass; 0: 512, for embedding models min(n_ctx, 2048)
  std::uint32_t max_sequences = 16;   // sessions of one engine worker that can decode at the same time
  std::uint32_t max_queue = 1024;     // generations (or embeddings, scores) of one engine worker that may wait
  std::uint32_t stream_tokens = 256;  // unread tokens at which the session of a stream pauses
  // Tokens of ended sessions that stay cached for later sessions with the same prefix, at most n_ctx / 2. 0: sessions
  // share nothing, and nothing is parked.
  std::uint32_t prefix_cache_tokens = 0xFFFFFFFF;
  // Host memory for parked KV of sessions and ended conversations; the least recently used are dropped first.
  std::uint64_t park_bytes = std::uint64_t{1} << 30;
  std::string park_dir = {};                               // parked KV is saved here across restarts; empty: it is not
  std::uint64_t park_disk_bytes = std::uint64_t{8} << 30;  // limit for all files in park_dir together
  KvLayout kv_layout = KvLayout::automatic;
  // While streams run, compute a long prompt in a context of its own on half of the threads
  // (prefill_lane_controller.h). Only on CPUs, with at least two threads, and only while twice the memory it needs is
  // free (more with several workers).
  bool prefill_lane = true;
  std::string mmproj = {};     // projector, for models that take pictures or sounds: a GGUF file; empty: none
  bool mmproj_offload = true;  // to a GPU, if the load has one
  std::uint64_t media_bytes = std::uint64_t{256} << 20;  // host memory for embeddings of pictures and sounds
  std::vector<LoraAdapter> loras = {};
  SpeculativeOptions speculative = {};
  // Most time that one prompt adds to a step of running streams, after their first few tokens.
  Millis target_step{100};
  std::int32_t n_threads = 0;  // of each engine worker; 0: the cores divided by the workers; 1 for very small models
  std::int32_t n_threads_batch = 0;       // for prefill; 0: as n_threads
  std::int32_t n_gpu_layers = -1;         // -1: as many as fit, or all (`fit`)
  bool fit = true;                        // for n_gpu_layers -1: as many as fit into GPU memory (gpu_fit.h)
  std::string backend = {};               // only devices of this kind (devices.h); empty: the best available
  std::vector<std::string> devices = {};  // only these GPUs, by ggml's names ("CUDA0"); empty: all
  SplitMode split_mode = SplitMode::layer;
  std::vector<float> tensor_split = {};  // shares of the GPUs, in their order; empty: by their free memory
  // Remote machines that compute the first layers, in this order, and hold the KV cells of these layers. This machine
  // has the last layers and the output (split_devices.h): on its GPUs, or on its CPU if it has none or n_gpu_layers is
  // 0.
  std::vector<RemoteWorker> remotes = {};
  float own_share = 0;        // of the layers; above 0 if there are remotes
  std::int32_t main_gpu = 0;  // GPU that has the whole model (SplitMode::none), or what can't be split
  Toggle flash_attention = Toggle::automatic;
  // on: layers with a sliding window keep cells for the whole context, so that sessions can share any prefix. off:
  // cells for the window only. automatic: all cells if that takes little more memory (memory_kind.h).
  Toggle swa_full = Toggle::automatic;
  Toggle mmap = Toggle::automatic;
  bool mlock = false;
  bool repack = true;                // copy weights into a faster layout if the CPU has one
  std::string cache_type_k = "f16";  // "f32", "f16", "bf16", "q8_0", "q4_0", ...
  std::string cache_type_v = "f16";

  // Most generations of one engine worker (or requests, for an embedding model) that run and wait together.
  std::uint32_t max_under_way() const {
    return max_queue > 0xFFFFFFFF - max_sequences ? 0xFFFFFFFF : max_sequences + max_queue;
  }
};

struct SessionOptions {
  std::uint32_t n_ctx = 0;  // most tokens of this session; 0, or more than the model's context: the model's context
  // Use KV of other sessions with the same prefix, and let others use this session's. False: only this session can
  // restore its parked KV, which goes when the session ends.
  bool share_prefix = true;
  // One for each adapter of the load; none: the scales of InferenceEngine::set_adapter_scales. Only sessions with the
  // same scales share KV and passes.
  std::optional<AdapterScales> adapters = {};
};

struct LogitBias {
  Token token = kNoToken;
  float bias = 0;  // added to the logit; -infinity forbids the token
};

// A sampling chain: logit bias first, then `samplers` in their order, then the draw. The default values switch on what
// llama-server switches on.
struct SamplingOptions {
  // A step that is not in the list is off, whatever its option says. adaptive_p draws the token, so it always comes
  // last.
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
  std::int32_t penalty_last_n = 64;  // number of previous tokens; 0: off, -1: the session's context
  float repeat_penalty = 1.0f;
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  float dry_multiplier = 0.0f;
  float dry_base = 1.75f;
  std::int32_t dry_allowed_length = 2;
  std::int32_t dry_penalty_last_n = 64;  // as penalty_last_n
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  float adaptive_target = -1.0f;  // of adaptive_p: target probability of drawn tokens; negative: any
  float adaptive_decay = 0.9f;    // memory of adaptive_p: about 1 / (1 - decay) tokens
  std::int32_t mirostat = 0;      // 1 or 2: replaces all `samplers`; uses the temperature
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
  bool lazy = false;                               // applies only after a trigger
  std::vector<std::string> trigger_words = {};     // texts in the answer
  std::vector<std::string> trigger_patterns = {};  // regular expressions (RE2) over the end of the answer so far
  std::vector<Token> trigger_tokens = {};
  std::vector<Token> prefill = {};  // tokens of the prompt that belong to the grammar already
  // Built from the above by InferenceEngine::prepare_grammar; several generations can share it.
  std::shared_ptr<const SharedGrammar> shared = {};
};

// When the context is full, discard tokens behind its beginning and continue. Memory kinds that can't do that end the
// generation instead. No other session can use the KV of such a session.
struct ContextShift {
  std::int32_t keep = 0;      // tokens at the beginning that stay; -1: all that were there when the generation began
  std::uint32_t discard = 0;  // tokens to discard each time; 0: half of the others
  bool keep_bos = false;      // keep one more: for vocabularies with a BOS token
};

struct GenerateOptions {
  std::uint32_t max_new_tokens = 0xFFFFFFFF;  // 0: computes all pending tokens but the last
  SamplingOptions sampling = {};
  std::optional<GrammarOptions> grammar = {};
  std::vector<std::string> stop = {};        // the text ends before the first of these
  std::uint32_t n_probs = 0;                 // for each token, log probabilities of the n most likely
  bool post_sampling_probs = false;          // true: after sampling; false: before sampling options changed them
  bool render_special = false;               // control tokens appear in the text
  std::vector<Token> preserved_tokens = {};  // control tokens that appear in the text all the same
  bool progress = false;                     // each chunk reports the progress of the generation
  bool each_token = false;                   // do not join unread chunks: one for each token that has text of its own
  bool prompt_progress = false;              // chunks without text report the progress of the prompt
  // Time limit from the first token on. After it, the generation ends with the current line (`length`). 0: no limit.
  Millis max_predict{0};
  std::optional<ContextShift> shift = {};  // none: the generation ends when the context is full
  bool supersede = false;  // end a generation that runs on the session instead of failing with session_busy
  // The client: clients take turns for admission. Generations without a name count as one client.
  std::string client = {};
  bool background = false;  // others are admitted first
};

}  // namespace corral::engine
