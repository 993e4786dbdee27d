// The current model, and its replacement by another.
#include "engine/service/llama_service.h"

#include <future>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/llama/backends.h"

namespace corral::engine {
namespace {

std::unexpected<Error> no_model() { return fail(errc::model_not_loaded, "no model is loaded"); }

Result<StreamHandle> start_inference(const std::shared_ptr<InferenceEngine>& engine, std::string_view prompt,
                                     const InferenceOptions& options) {
  // An empty prompt is an error, even if each text begins with BOS.
  const auto tokens =
      prompt.empty() ? Result<std::vector<Token>>() : engine->tokenize(prompt, true, options.parse_special);
  if (!tokens) return std::unexpected(tokens.error());
  const auto session = engine->create_session(*tokens, options.session);
  if (!session) return std::unexpected(session.error());
  auto end = [weak = std::weak_ptr(engine), id = *session] {
    if (const auto alive = weak.lock()) (void)alive->end_session(id);
  };
  auto stream = engine->generate_stream(*session, options.generate);
  if (stream) {
    stream->when_over(std::move(end));
  } else {
    end();
  }
  return stream;
}

}  // namespace

struct LlamaService::Impl {
  struct Loaded {
    EngineLoadOptions options;
    std::shared_ptr<InferenceEngine> engine;
    std::future<void> freed;  // set when the last handle is gone and the memory is free
  };

  Result<Loaded> load(const EngineLoadOptions& model, const Progress& progress) const;
  // Makes `next` current; the former one drains until it is retired.
  std::optional<Loaded> replace(std::optional<Loaded> next) REQUIRES(loading);
  void retire(std::optional<Loaded> former, Millis drain, bool until_freed) REQUIRES(loading);
  std::optional<EngineLoadOptions> options_of_current() const;
  Result<std::shared_ptr<InferenceEngine>> engine_of(SessionId session) const;

  ServiceOptions options;
  const std::shared_ptr<SessionIds> ids = std::make_shared<SessionIds>(1);
  Mutex loading;  // one load, reload or unload at a time

  mutable Mutex mutex;  // never held during a wait
  std::optional<Loaded> now GUARDED_BY(mutex);
  std::shared_ptr<InferenceEngine> draining GUARDED_BY(mutex);
};

Result<LlamaService::Impl::Loaded> LlamaService::Impl::load(const EngineLoadOptions& model,
                                                            const Progress& progress) const {
  auto engine = InferenceEngine::load(model, progress, ids);
  if (!engine) return std::unexpected(std::move(engine.error()));
  const auto freed = std::make_shared<std::promise<void>>();
  const auto free = [freed](InferenceEngine* last) {
    std::default_delete<InferenceEngine>()(last);
    freed->set_value();
  };
  return Loaded{model, std::shared_ptr<InferenceEngine>(engine->release(), free), freed->get_future()};
}

std::optional<LlamaService::Impl::Loaded> LlamaService::Impl::replace(std::optional<Loaded> next) {
  const MutexLock lock(mutex);
  draining = now ? now->engine : nullptr;
  std::swap(now, next);
  return next;
}

void LlamaService::Impl::retire(std::optional<Loaded> former, Millis drain, bool until_freed) {
  if (!former) return;
  const MonoTime deadline = MonoClock::now() + drain;
  former->engine->drain(deadline);
  former->engine->shutdown();
  {
    const MutexLock lock(mutex);
    draining.reset();
  }
  former->engine.reset();
  if (until_freed) former->freed.wait_until(deadline);
}

std::optional<EngineLoadOptions> LlamaService::Impl::options_of_current() const {
  const MutexLock lock(mutex);
  return now ? std::optional(now->options) : std::nullopt;
}

Result<std::shared_ptr<InferenceEngine>> LlamaService::Impl::engine_of(SessionId session) const {
  const MutexLock lock(mutex);
  if (now && now->engine->has_session(session)) return now->engine;
  if (draining && draining->has_session(session)) return draining;
  return std::unexpected(session_not_found(session));
}

Result<std::unique_ptr<LlamaService>> LlamaService::init(ServiceOptions options) {
  if (auto found = load_backends(options.backend_directory); !found) return std::unexpected(found.error());
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  return std::unique_ptr<LlamaService>(new LlamaService(std::move(impl)));
}

LlamaService::LlamaService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LlamaService::~LlamaService() {
  // The engine must stop even if there are other handles.
  if (impl_->now) impl_->now->engine->shutdown();
}

Result<> LlamaService::load_model_with_workers(std::string path, EngineLoadOptions params, std::uint32_t num_workers,
                                               Progress progress) {
  params.path = std::move(path);
  params.workers = num_workers;
  return reload({.model = std::move(params)}, std::move(progress));
}

Result<> LlamaService::reload(ReloadOptions options, Progress progress) {
  const MutexLock one_at_a_time(impl_->loading);
  const auto former = impl_->options_of_current();
  if (!options.model && !former) return no_model();
  const EngineLoadOptions& model = options.model ? *options.model : *former;
  const Millis drain = options.drain.value_or(impl_->options.drain);

  const bool unload_first = former && options.order == ReloadOrder::unload_first;
  if (unload_first) {
    // Check first: a load that is known to fail must not unload the model.
    if (auto fine = InferenceEngine::check(model); !fine) return fine;
    impl_->retire(impl_->replace(std::nullopt), drain, true);
  }
  auto next = impl_->load(model, progress);
  if (next) {
    impl_->retire(impl_->replace(std::move(*next)), drain, false);
    return {};
  }
  if (unload_first) {
    if (auto again = impl_->load(*former, {})) {
      impl_->replace(std::move(*again));
    } else {
      log::error("engine", "the former model can't be loaded again: {}", again.error().message);
    }
  }
  return std::unexpected(std::move(next.error()));
}

Result<> LlamaService::unload() {
  const MutexLock one_at_a_time(impl_->loading);
  auto former = impl_->replace(std::nullopt);
  if (!former) return no_model();
  impl_->retire(std::move(former), impl_->options.drain, false);
  return {};
}

Result<std::shared_ptr<InferenceEngine>> LlamaService::current() const {
  const MutexLock lock(impl_->mutex);
  if (!impl_->now) return no_model();
  return impl_->now->engine;
}

Result<SessionId> LlamaService::create_session(SessionOptions options) {
  const auto engine = current();
  if (!engine) return std::unexpected(engine.error());
  return (*engine)->create_session(options);
}

Result<> LlamaService::append_input(SessionId session, std::string_view text, bool parse_special) {
  const auto engine = impl_->engine_of(session);
  if (!engine) return std::unexpected(engine.error());
  return (*engine)->append_input(session, text, parse_special);
}

Result<> LlamaService::append_input(SessionId session, std::span<const Token> tokens) {
  const auto engine = impl_->engine_of(session);
  if (!engine) return std::unexpected(engine.error());
  return (*engine)->append_input(session, tokens);
}

Result<StreamHandle> LlamaService::generate_stream(SessionId session, GenerateOptions options) {
  const auto engine = impl_->engine_of(session);
  if (!engine) return std::unexpected(engine.error());
  return (*engine)->generate_stream(session, std::move(options));
}

Result<> LlamaService::cancel_generate(SessionId session) {
  const auto engine = impl_->engine_of(session);
  if (!engine) return std::unexpected(engine.error());
  return (*engine)->cancel_generate(session);
}

Result<> LlamaService::end_session(SessionId session) {
  const auto engine = impl_->engine_of(session);
  if (!engine) return std::unexpected(engine.error());
  return (*engine)->end_session(session);
}

Result<StreamHandle> LlamaService::inference_stream(std::string_view prompt, InferenceOptions options) {
  while (true) {
    const auto engine = current();
    if (!engine) return std::unexpected(engine.error());
    auto stream = start_inference(*engine, prompt, options);
    if (stream || stream.error().code != errc::worker_shutdown) return stream;
    const auto now = current();
    if (now && *now == *engine) return stream;
  }
}

Result<Inference> LlamaService::inference(std::string_view prompt, InferenceOptions options) {
  auto stream = inference_stream(prompt, std::move(options));
  if (!stream) return std::unexpected(std::move(stream.error()));
  Inference whole;
  while (auto chunk = stream->next()) {
    whole.text += chunk->text;
    whole.tokens.insert(whole.tokens.end(), chunk->tokens.begin(), chunk->tokens.end());
    whole.logprobs.insert(whole.logprobs.end(), std::make_move_iterator(chunk->logprobs.begin()),
                          std::make_move_iterator(chunk->logprobs.end()));
    if (chunk->finish) whole.finish = std::move(*chunk->finish);
  }
  return whole;
}

Stats LlamaService::stats() const {
  const auto engine = current();
  return engine ? (*engine)->stats() : Stats();
}

}  // namespace corral::engine
