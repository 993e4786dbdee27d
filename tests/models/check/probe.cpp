#include "probe.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>

#include <fmt/format.h>

namespace corral::test_models {
namespace {

// A batch of up to `size` tokens of one sequence each.
class Batch {
 public:
  explicit Batch(std::size_t size) : batch_(llama_batch_init(static_cast<std::int32_t>(size), 0, 1)) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() { llama_batch_free(batch_); }

  // Returns the token's place in the batch.
  std::int32_t add(llama_token token, llama_pos position, llama_seq_id sequence, bool output) {
    const std::int32_t at = batch_.n_tokens++;
    batch_.token[at] = token;
    batch_.pos[at] = position;
    batch_.n_seq_id[at] = 1;
    batch_.seq_id[at][0] = sequence;
    batch_.logits[at] = output ? 1 : 0;
    return at;
  }
  void clear() { batch_.n_tokens = 0; }
  const llama_batch& get() const { return batch_; }

 private:
  llama_batch batch_;
};

void start_backend() {
  static std::once_flag once;
  std::call_once(once, [] {
    llama_log_set(
        [](ggml_log_level level, const char* text, void*) {
          if (level == GGML_LOG_LEVEL_ERROR) fmt::print(stderr, "{}", text);
        },
        nullptr);
#ifdef CORRAL_LLAMA_BACKEND_DIR
    ggml_backend_load_all_from_path(CORRAL_LLAMA_BACKEND_DIR);
#else
    ggml_backend_load_all();
#endif
    llama_backend_init();
  });
}

}  // namespace

Probe::Probe(const std::filesystem::path& file, const ProbeOptions& options) : options_(options) {
  start_backend();
  llama_model_params weights = llama_model_default_params();
  weights.use_extra_bufts = false;  // AMX's layout gives wrong products where a state is computed for several sequences
  model_.reset(llama_model_load_from_file(file.c_str(), weights));
  if (!model_) throw std::runtime_error(fmt::format("cannot load {}", file.string()));
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 512 * std::max(1U, options.sequences);
  params.n_batch = params.n_ubatch = 512;
  params.n_seq_max = options.sequences;
  params.kv_unified = true;
  params.n_threads = params.n_threads_batch = options.threads;
  params.flash_attn_type = options.flash_attention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.embeddings = options.embeddings;
  context_.reset(llama_init_from_model(model_.get(), params));
  if (!context_) throw std::runtime_error(fmt::format("no context for {}", file.string()));
}

std::string Probe::turn(const std::string& user) {
  return fmt::format("<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n", user);
}

Probe::Tokens Probe::tokenize(const std::string& text, bool add_special) const {
  Tokens tokens(text.size() + 8);
  const std::int32_t count =
      llama_tokenize(vocabulary(), text.data(), static_cast<std::int32_t>(text.size()), tokens.data(),
                     static_cast<std::int32_t>(tokens.size()), add_special, /*parse_special=*/true);
  if (count < 0) throw std::runtime_error(fmt::format("'{}' needs {} tokens", text, -count));
  tokens.resize(static_cast<std::size_t>(count));
  return tokens;
}

std::string Probe::text(const Tokens& tokens) const {
  std::string text;
  for (const llama_token token : tokens) {
    std::string piece(64, '\0');
    const std::int32_t size = llama_token_to_piece(vocabulary(), token, piece.data(), 64, 0, /*special=*/true);
    text += piece.substr(0, static_cast<std::size_t>(std::max(0, size)));
  }
  return text;
}

void Probe::decode(const llama_batch& batch) {
  if (const int status = llama_decode(context_.get(), batch); status != 0) {
    throw std::runtime_error(fmt::format("llama_decode: {}", status));
  }
}

std::vector<Probe::Tokens> Probe::greedy(const std::vector<std::string>& prompts, std::size_t count) {
  llama_memory_clear(llama_get_memory(context_.get()), true);
  const auto vocabulary_size = llama_vocab_n_tokens(vocabulary());
  const auto best = [&](std::int32_t at) {
    const float* logits = llama_get_logits_ith(context_.get(), at);
    return static_cast<llama_token>(std::max_element(logits, logits + vocabulary_size) - logits);
  };

  struct Stream {
    Tokens answer;
    llama_pos next = 0;       // the position of the token to decode next
    std::int32_t output = 0;  // its place in the batch
    bool done = false;
  };
  std::vector<Stream> streams(prompts.size());
  const auto take = [&](Stream& stream, llama_token token) {
    stream.done = llama_vocab_is_eog(vocabulary(), token) || stream.answer.size() == count;
    if (!stream.done) stream.answer.push_back(token);
  };

  Batch batch(std::max<std::size_t>(options_.chunk, prompts.size()));
  for (std::size_t s = 0; s < prompts.size(); ++s) {
    const Tokens prompt = tokenize(prompts[s]);
    for (std::size_t i = 0; i < prompt.size(); ++i) {
      const bool last = i + 1 == prompt.size();
      streams[s].output = batch.add(prompt[i], streams[s].next++, static_cast<llama_seq_id>(s), last);
      if (last || batch.get().n_tokens == static_cast<std::int32_t>(options_.chunk)) {
        decode(batch.get());
        batch.clear();
      }
    }
    take(streams[s], best(streams[s].output));
  }
  while (!std::ranges::all_of(streams, &Stream::done)) {
    batch.clear();
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (streams[s].done) continue;
      streams[s].output = batch.add(streams[s].answer.back(), streams[s].next++, static_cast<llama_seq_id>(s), true);
    }
    decode(batch.get());
    for (Stream& stream : streams) {
      if (!stream.done) take(stream, best(stream.output));
    }
  }
  std::vector<Tokens> answers;
  std::ranges::transform(streams, std::back_inserter(answers), [](Stream& stream) { return std::move(stream.answer); });
  return answers;
}

std::vector<float> Probe::logits(const std::string& text) {
  llama_memory_clear(llama_get_memory(context_.get()), true);
  const Tokens tokens = tokenize(text);
  Batch batch(tokens.size());
  std::int32_t last = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    last = batch.add(tokens[i], static_cast<llama_pos>(i), 0, i + 1 == tokens.size());
  }
  decode(batch.get());
  const float* values = llama_get_logits_ith(context_.get(), last);
  return {values, values + llama_vocab_n_tokens(vocabulary())};
}

std::vector<float> Probe::pooled(const Tokens& tokens) {
  Batch batch(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) batch.add(tokens[i], static_cast<llama_pos>(i), 0, true);
  decode(batch.get());
  const float* values = llama_get_embeddings_seq(context_.get(), 0);
  const bool ranks = llama_pooling_type(context_.get()) == LLAMA_POOLING_TYPE_RANK;
  const auto size =
      ranks ? static_cast<std::int32_t>(llama_model_n_cls_out(model_.get())) : llama_model_n_embd_out(model_.get());
  return {values, values + size};
}

}  // namespace corral::test_models
